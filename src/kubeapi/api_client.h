#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "host/host.h"
#include "kubeapi/access.h"
#include "kubeapi/credentials.h"
#include "kubeapi/http_transport.h"
#include "loop/event_loop.h"
#include "value/value.h"

namespace tenon::kubeapi {

/// One request to the API.
struct ApiRequest {
  std::string what;  ///< For messages: "patch node lab".
  std::string method = "GET";
  std::string path;   ///< "/api/v1/nodes/lab", encoded.
  std::string query;  ///< "limit=500&watch=1", encoded.
  std::string content_type;
  std::string body;
  base::Duration limit = std::chrono::seconds(30);
  /// Gets each line of a successful answer as it comes, for a watch; the answer is then null. Must
  /// not destroy the call. Optional.
  std::function<void(std::string_view line)> on_line;
};

struct ApiAnswer {
  int status = 0;  ///< HTTP; 0 when the server did not answer.
  /// The object. Errors: "patch node lab: https://10.0.0.1:6443: HTTP 403 Forbidden: …".
  Result<Value> object;
};

/// One request under way. Destroying it ends it; its callbacks do not run then.
class ApiCall {
 public:
  ApiCall() = default;
  ApiCall(const ApiCall&) = delete;
  ApiCall& operator=(const ApiCall&) = delete;
  virtual ~ApiCall() = default;
};

/// Speaks to one API server. What can be mended by asking again is: a token that was renewed since
/// (401, once), and a server that says when it will have time (Retry-After, a few times, up to a
/// minute each). Everything else is the caller's to decide.
/// Owner: outlives its calls. Thread: loop only.
class ApiClient final {
 public:
  using DoneFn = std::function<void(ApiAnswer)>;

  /// All but `access` are borrowed. `user_agent` is "tenon/1.0".
  /// Requires: ParseServerUrl() takes access.server.
  ApiClient(loop::EventLoop& loop, HttpTransport& transport, host::Host& host, Access access,
            std::string user_agent);
  ApiClient(const ApiClient&) = delete;
  ApiClient& operator=(const ApiClient&) = delete;

  /// `done` runs once, never within Send(), and may destroy the call.
  std::unique_ptr<ApiCall> Send(ApiRequest request, DoneFn done);

  const Access& access() const { return access_; }

 private:
  class Attempts;

  /// With one a path would begin with two.
  static Access WithoutFinalSlash(Access access);
  /// Errors: credentials that cannot be read.
  Result<HttpRequest> ToHttp(const ApiRequest& request);

  loop::EventLoop& loop_;
  HttpTransport& transport_;
  const Access access_;
  const ServerUrl url_;
  const std::string user_agent_;
  Credentials credentials_;
};

}  // namespace tenon::kubeapi
