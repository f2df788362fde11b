#include "kubeapi/api_error.h"

#include <algorithm>

#include "base/strings.h"

namespace tenon::kubeapi {
namespace {

/// More of a page that is no Status object tells nothing.
constexpr size_t kShownBytes = 200;

struct Meaning {
  int status;
  Code code;
  std::string_view phrase;
  std::string_view way_out;
};

constexpr Meaning kMeanings[] = {
    {400, Code::kInvalidArgument, "Bad Request", ""},
    {401, Code::kPermissionDenied, "Unauthorized",
     "the server does not know us by these credentials; renew them, they are those of"},
    {403, Code::kPermissionDenied, "Forbidden",
     "let an administrator grant this; a ClusterRole is in docs/resources.md; we are known by"},
    {404, Code::kNotFound, "Not Found", ""},
    {405, Code::kUnimplemented, "Method Not Allowed", ""},
    {409, Code::kFailedPrecondition, "Conflict", "somebody else changed it; try again"},
    {410, Code::kFailedPrecondition, "Gone", ""},
    {415, Code::kUnimplemented, "Unsupported Media Type", ""},
    {422, Code::kInvalidArgument, "Unprocessable Entity", ""},
    {429, Code::kResourceExhausted, "Too Many Requests", "the server is busy; try again later"},
    {500, Code::kUnavailable, "Internal Server Error", ""},
    {503, Code::kUnavailable, "Service Unavailable", "try again later"},
    {504, Code::kUnavailable, "Gateway Timeout", "try again later"},
};

Meaning MeaningOf(int status) {
  const auto* known = std::ranges::find(kMeanings, status, &Meaning::status);
  if (known != std::end(kMeanings)) return *known;
  if (status / 100 == 3)
    return {status, Code::kFailedPrecondition, "",
            "it sends us elsewhere, which an API server does not: is the address right?"};
  return {status, status >= 500 ? Code::kUnavailable : Code::kInvalidArgument, "", ""};
}

Error Compose(int status, std::string_view message, std::string_view origin) {
  const Meaning meaning = MeaningOf(status);
  std::string text = "HTTP " + std::to_string(status);
  if (!meaning.phrase.empty()) text.append(" ").append(meaning.phrase);
  if (!message.empty()) text.append(": ").append(message);
  if (!meaning.way_out.empty()) text.append("; ").append(meaning.way_out);
  if (status == 401 || status == 403) text.append(" ").append(origin);
  return {meaning.code, text};
}

}  // namespace

Error StatusObjectError(const Value& status, std::string_view origin) {
  const Value* code = status.Find("code");
  const Value* message = status.Find("message");
  const int64_t number = code == nullptr ? 500 : code->AsInt().value_or(500);
  return Compose(static_cast<int>(std::clamp<int64_t>(number, 100, 999)),
                 message == nullptr ? "" : message->text(), origin);
}

Error RefusalError(const HttpAnswer& answer, std::string_view origin) {
  const auto body = ParseJson(answer.body, "answer");
  const Value* message = body ? body->Find("message") : nullptr;
  if (message != nullptr) return Compose(answer.status, message->text(), origin);
  std::string shown = base::EscapeForLine(answer.body.substr(0, kShownBytes));
  if (shown.empty()) shown = "no reason given";
  return Compose(answer.status, shown, origin);
}

std::optional<base::Duration> RetryAfter(const HttpAnswer& answer) {
  std::optional<int64_t> seconds = base::ParseInt64(answer.retry_after);
  if (!seconds && !answer.body.empty()) {
    const auto body = ParseJson(answer.body, "answer");
    const Value* asked = body ? body->At({"details", "retryAfterSeconds"}) : nullptr;
    if (asked != nullptr) seconds = asked->AsInt();
  }
  if (!seconds || *seconds < 0) return std::nullopt;
  return std::chrono::seconds(std::min<int64_t>(*seconds, 3600));
}

}  // namespace tenon::kubeapi
