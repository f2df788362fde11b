#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "admin/http_server.h"

namespace tenon::admin {

/// Which code answers which requests.
class HttpRouter final {
 public:
  struct Match {
    const HttpServer::RouteFn* route = nullptr;  ///< Null when nothing matches; a borrowed one.
    std::map<std::string, std::string> params;
    /// Without a match: the methods that the path has, "GET, HEAD"; empty when it has none.
    std::string allowed;
  };

  void Add(std::string method, std::string_view pattern, HttpServer::RouteFn route);
  Match Find(const HttpRequest& request) const;

 private:
  struct Entry {
    std::string method;
    std::vector<std::string> segments;
    HttpServer::RouteFn route;
  };
  std::vector<Entry> entries_;
};

}  // namespace tenon::admin
