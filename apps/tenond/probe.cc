#include "tenond/probe.h"

#include <cstdio>
#include <optional>

#include "admin/http_client.h"
#include "base/strings.h"
#include "loop/event_loop.h"

namespace tenon::tenond {
namespace {

/// Less than the second that Kubernetes gives a probe by default.
constexpr base::Duration kDeadline = std::chrono::milliseconds(900);

Result<admin::HttpResponse> Ask(const base::Clock& clock, const std::string& control,
                                const std::string& path) {
  TENON_TRY(auto loop, loop::EventLoop::Create(clock));
  std::optional<Result<admin::HttpResponse>> answer;
  admin::HttpRequest request{.path = path};
  auto fetch = admin::HttpFetch::Start(
      *loop, control, request, {.deadline = kDeadline},
      [&answer](Result<admin::HttpResponse> response) { answer = std::move(response); });
  loop->RunUntil([&answer] { return answer.has_value(); }, 2 * kDeadline);
  if (!answer) return Error(Code::kDeadlineExceeded, control + ": no answer");
  return *std::move(answer);
}

}  // namespace

int Probe(const base::Clock& clock, const std::string& control, const std::string& path) {
  auto answer = Ask(clock, control, path);
  if (!answer) {
    std::fprintf(stderr, "tenond: %s\n", answer.error().message().c_str());
    return 1;
  }
  std::string text = answer->body;
  while (text.ends_with('\n'))
    text.pop_back();
  std::printf("%s\n", base::EscapeForLine(text).c_str());
  return answer->status == 200 ? 0 : 1;
}

}  // namespace tenon::tenond
