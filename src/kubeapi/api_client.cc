#include "kubeapi/api_client.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "kubeapi/api_error.h"

namespace tenon::kubeapi {
namespace {

/// Of one event of a watch; the API server keeps objects below 2 MiB.
constexpr size_t kMostLineBytes = size_t{16} << 20;
constexpr int kMostWaits = 5;
constexpr base::Duration kLongestWait = std::chrono::minutes(1);
/// When the server is busy and does not say for how long.
constexpr base::Duration kUsualWait = std::chrono::seconds(1);

/// An object from an answer; not every success has one.
Result<Value> ReadObject(const HttpAnswer& answer) {
  if (answer.body.empty()) return Value();
  auto object = ParseJson(answer.body, "answer");
  if (object) return object;
  return std::move(object).error().Wrap("this is not how an API server answers");
}

std::string HostAndPort(const ServerUrl& url) {
  return (url.is_ipv6() ? "[" + url.host + "]" : url.host) + ":" + std::to_string(url.port);
}

}  // namespace

/// One request until it is answered for good.
class ApiClient::Attempts final : public ApiCall {
 public:
  Attempts(ApiClient& client, ApiRequest request, DoneFn done)
      : client_(client), request_(std::move(request)), done_(std::move(done)) {}

  void Begin() {
    auto http = client_.ToHttp(request_);
    if (!http) {
      timer_ = client_.loop_.timers().After(
          base::Duration::zero(),
          [this, error = std::move(http).error()] { End({.status = 0, .object = error}); });
      return;
    }
    if (request_.on_line) {
      http->on_bytes = [this](std::string_view bytes) { return TakeBytes(bytes); };
    }
    call_ = client_.transport_.Start(
        *std::move(http), [this](Result<HttpAnswer> answer) { OnAnswer(std::move(answer)); });
  }

 private:
  Result<void> TakeBytes(std::string_view bytes) {
    for (size_t end = 0; (end = bytes.find('\n')) != std::string_view::npos;) {
      line_ += bytes.substr(0, end);
      bytes.remove_prefix(end + 1);
      if (!line_.empty()) request_.on_line(std::exchange(line_, {}));
    }
    line_ += bytes;
    if (line_.size() <= kMostLineBytes) return {};
    return Error(Code::kResourceExhausted, "one line of the answer does not end");
  }

  void OnAnswer(Result<HttpAnswer> answer) {
    if (!answer) return End({.status = 0, .object = WithOrigin(answer.error())});
    if (answer->status / 100 == 2) {
      return End({.status = answer->status,
                  .object = request_.on_line ? Result<Value>(Value()) : ReadObject(*answer)});
    }
    if (answer->status == 401 && client_.credentials_.renewable() && !std::exchange(renewed_, true))
      return Again(base::Duration::zero());
    if (const auto wait = WaitOf(*answer); wait && waits_ < kMostWaits) {
      ++waits_;
      return Again(*wait);
    }
    End({.status = answer->status, .object = RefusalError(*answer, client_.access_.origin)});
  }

  /// Why nobody answered, or one of the two does not trust the other, is found there.
  Error WithOrigin(const Error& error) const {
    return {error.code(),
            error.message() + "; address and certificates are those of " + client_.access_.origin};
  }

  static std::optional<base::Duration> WaitOf(const HttpAnswer& answer) {
    if (answer.status != 429 && answer.status < 500) return std::nullopt;
    std::optional<base::Duration> asked = RetryAfter(answer);
    if (!asked && answer.status == 429) asked = kUsualWait;
    if (!asked || *asked > kLongestWait) return std::nullopt;
    return asked;
  }

  void Again(base::Duration delay) {
    timer_ = client_.loop_.timers().After(delay, [this] { Begin(); });
  }

  void End(ApiAnswer answer) {
    if (!answer.object) {
      answer.object =
          std::move(answer.object).error().Wrap(client_.access_.server).Wrap(request_.what);
    }
    const DoneFn done = std::move(done_);  // It may destroy this.
    done(std::move(answer));
  }

  ApiClient& client_;
  const ApiRequest request_;
  DoneFn done_;
  std::string line_;
  bool renewed_ = false;
  int waits_ = 0;
  loop::TimerHandle timer_;
  std::unique_ptr<HttpCall> call_;
};

ApiClient::ApiClient(loop::EventLoop& loop, HttpTransport& transport, host::Host& host,
                     Access access, std::string user_agent)
    : loop_(loop),
      transport_(transport),
      access_(WithoutFinalSlash(std::move(access))),
      url_(*ParseServerUrl(access_.server)),
      user_agent_(std::move(user_agent)),
      credentials_(host, access_) {}

Access ApiClient::WithoutFinalSlash(Access access) {
  while (access.server.ends_with('/'))
    access.server.pop_back();
  return access;
}

Result<HttpRequest> ApiClient::ToHttp(const ApiRequest& request) {
  HttpRequest http{.method = request.method,
                   .url = access_.server + request.path,
                   .headers = {"Accept: application/json", "User-Agent: " + user_agent_},
                   .body = request.body,
                   .limit = request.limit};
  if (!request.query.empty()) http.url.append("?").append(request.query);
  if (!request.content_type.empty())
    http.headers.push_back("Content-Type: " + request.content_type);
  http.no_proxy = !url_.tls;
  // In the clear nobody gets a credential.
  if (!url_.tls) return http;
  http.proxy_url = access_.proxy_url;
  if (!access_.tls_server_name.empty()) {
    http.url.replace(
        0, access_.server.size(),
        "https://" + access_.tls_server_name + ":" + std::to_string(url_.port) + url_.path);
    http.connect_to = HostAndPort(url_);
  }
  TENON_TRY(Credential credential, credentials_.Read());
  if (!credential.token.empty())
    http.headers.push_back("Authorization: Bearer " + credential.token);
  http.tls = {.authority = std::move(credential.authority),
              .certificate = std::move(credential.certificate),
              .key = std::move(credential.key)};
  return http;
}

std::unique_ptr<ApiCall> ApiClient::Send(ApiRequest request, DoneFn done) {
  auto call = std::make_unique<Attempts>(*this, std::move(request), std::move(done));
  call->Begin();
  return call;
}

}  // namespace tenon::kubeapi
