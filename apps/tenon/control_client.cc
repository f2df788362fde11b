#include "tenon/control_client.h"

#include <optional>
#include <utility>
#include <vector>

#include "admin/http_client.h"
#include "base/strings.h"
#include "tenon/json_view.h"

namespace tenon::cli {
namespace {

/// What the client adds to a deadline, so that the fetch itself tells that it has passed.
constexpr base::Duration kSlack = std::chrono::seconds(5);

/// {"error":…} or {"errors":[…]} as an error.
Error ToError(const admin::HttpResponse& response) {
  Code code = response.status == 404 ? Code::kNotFound : Code::kFailedPrecondition;
  std::vector<std::string> lines;
  if (auto body = ParseJson(response.body, "answer")) {
    for (const Value& error : ItemsAt(*body, {"errors"}))
      lines.push_back(error.text());
    if (std::string text = TextAt(*body, {"error"}); !text.empty()) lines.push_back(text);
  }
  if (lines.empty()) lines.push_back("HTTP status " + std::to_string(response.status));
  return {code, base::Join(lines, "\n")};
}

}  // namespace

ControlSocket KubeletSocket(const std::string& directory) {
  return {.path = base::JoinPath(directory, "tenon-kubelet.sock"),
          .daemon = "tenon kubelet",
          .option = "--kubelet-dir"};
}

Result<std::unique_ptr<ControlClient>> ControlClient::Create(ControlSocket socket) {
  std::unique_ptr<ControlClient> client(new ControlClient(std::move(socket)));
  TENON_TRY(client->loop_, loop::EventLoop::Create(client->clock_));
  return client;
}

Result<admin::HttpResponse> ControlClient::Call(const admin::HttpRequest& request,
                                                base::Duration deadline) {
  // Much time may have passed outside the loop, in a write to a pager say: deadlines count from
  // now.
  loop_->RunUntil([] { return false; }, base::Duration::zero());
  std::optional<Result<admin::HttpResponse>> answer;
  auto fetch = admin::HttpFetch::Start(
      *loop_, socket_.path, request, {.deadline = deadline},
      [&answer](Result<admin::HttpResponse> result) { answer = std::move(result); });
  loop_->RunUntil([&answer, this] { return answer.has_value() || interrupted_(); },
                  deadline + kSlack);
  if (!answer) return Error(Code::kUnavailable, "interrupted");
  if (!*answer) return Explain(std::move(*answer).error());
  if ((*answer)->status >= 300) return ToError(**answer);
  return **std::move(answer);
}

Result<Value> ControlClient::CallJson(const admin::HttpRequest& request, base::Duration deadline) {
  TENON_TRY(admin::HttpResponse response, Call(request, deadline));
  return ParseJson(response.body, "answer of " + socket_.daemon);
}

bool ControlClient::Sleep(base::Duration duration) {
  return !loop_->RunUntil([this] { return interrupted_(); }, duration);
}

Error ControlClient::Explain(Error error) const {
  if (error.code() != Code::kNotFound && error.code() != Code::kUnavailable) return error;
  return {error.code(),
          error.message() + "; no " + socket_.daemon + " is running there: start it, or name the " +
              "one that is with " + socket_.option,
          error.os_errno()};
}

}  // namespace tenon::cli
