#include "fake_kubelet.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace tenon::cli_test {

using admin::HttpRequest;
using admin::Responder;

FakeKubelet::FakeKubelet(loop::EventLoop& loop, const std::string& directory) : server_(loop) {
  AddRoutes();
  EXPECT_TRUE(server_.ListenUnix(directory + "/tenon-kubelet.sock"));
}

void FakeKubelet::AddRoutes() {
  auto record = [this](const HttpRequest& request) {
    requests.push_back(request.method + " " + FormatTarget(request));
  };
  server_.Route("POST", "/api/v1/pods", [this, record](const HttpRequest& request, Responder to) {
    record(request);
    manifests.push_back(request.body);
    to.Send(create_answer);
  });
  server_.Route("GET", "/api/v1/pods", [this, record](const HttpRequest& request, Responder to) {
    record(request);
    to.Send({.body = pods});
  });
  server_.Route("POST", "/api/v1/trials", [this, record](const HttpRequest& request, Responder to) {
    record(request);
    manifests.push_back(request.body);
    to.Send({.body = trial});
  });
  server_.Route("GET", "/api/v1/node", [this, record](const HttpRequest& request, Responder to) {
    record(request);
    to.Send({.body = node});
  });
  server_.Route("GET", "/api/v1/pods/{namespace}/{name}",
                [this](const HttpRequest& request, Responder to) {
                  const std::string& pod = log_read_ ? ended_pod : running_pod;
                  to.Send(pod.empty() ? admin::ErrorResponse(404, "no pod " + request.path)
                                      : admin::HttpResponse{.body = pod});
                });
  server_.Route("DELETE", "/api/v1/pods/{namespace}/{name}",
                [this, record](const HttpRequest& request, Responder to) {
                  record(request);
                  to.Send(delete_answer);
                });
  server_.Route(
      "GET", "/api/v1/pods/{namespace}/{name}/log",
      [this](const HttpRequest& request, Responder to) { AnswerLog(request, std::move(to)); });
}

void FakeKubelet::AnswerLog(const HttpRequest& request, Responder responder) {
  auto container = request.query.find("container");
  log_container = container == request.query.end() ? "" : container->second;
  size_t offset = std::min(std::stoul(request.query.at("offset")), log.size());
  log_read_ = offset == log.size();
  responder.Send({.content_type = "text/plain", .body = log.substr(offset, log_piece)});
}

}  // namespace tenon::cli_test
