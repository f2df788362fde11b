#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fake_api/fake_api_server.h"

namespace tenon::fake_api {

/// The Node objects of an API server, as far as extended resources go: GET, list and watch of one
/// node, and JSON patches of its status.
class FakeNodes final {
 public:
  struct Entry {
    std::map<std::string, std::string> capacity;
    std::map<std::string, std::string> allocatable;
    std::map<std::string, std::string> owners;  ///< Resource to the manager of its capacity.
    bool has_capacity = true;                   ///< Else the status has no such key.
  };

  /// For FakeApiServer.
  std::optional<FakeApiServer::Answer> operator()(const FakeApiServer::Request& request);

  /// {"kind":"Node",…}.
  std::string Json(const std::string& name) const;
  std::string Event(const std::string& type, const std::string& name) const;
  void Touch() { ++version; }

  std::map<std::string, Entry> nodes;
  int version = 100;
  /// Runs before each patch is applied, and may change the node.
  std::function<void()> before_patch;
  std::vector<std::string> patches;  ///< Bodies.

 private:
  FakeApiServer::Answer List(const std::string& name) const;
  FakeApiServer::Answer Patch(const std::string& name, const std::string& body);
};

}  // namespace tenon::fake_api
