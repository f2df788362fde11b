#pragma once

#include <memory>
#include <string>
#include <vector>

#include "admin/http_server.h"
#include "loop/event_loop.h"

namespace tenon::cli_test {

/// Answers as `tenon kubelet` does, with what the test puts into it, and keeps what it was asked.
struct FakeKubelet {
  FakeKubelet(loop::EventLoop& loop, const std::string& directory);

  /// "DELETE /api/v1/pods/default/first?grace=1", in order; requests for logs and single pods,
  /// which come as often as it takes, are left out.
  std::vector<std::string> requests;
  std::vector<std::string> manifests;  ///< Bodies of POST.

  admin::HttpResponse create_answer{.status = 201, .body = R"({"items":[]})"};
  std::string pods = R"({"items":[]})";
  std::string node = "{}";
  std::string trial = "{}";
  /// Of every single pod while its log has not been read to the end, and after.
  std::string running_pod, ended_pod;
  std::string log;
  size_t log_piece = 1000;  ///< As much is answered at once.
  admin::HttpResponse delete_answer{.body = "{}"};
  std::string log_container;  ///< As asked for last.

 private:
  void AddRoutes();
  void AnswerLog(const admin::HttpRequest& request, admin::Responder responder);

  bool log_read_ = false;
  admin::HttpServer server_;
};

}  // namespace tenon::cli_test
