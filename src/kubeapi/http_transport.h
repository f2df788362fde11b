#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "loop/event_loop.h"

namespace tenon::kubeapi {

/// PEM texts; what is empty is not used.
struct TlsOptions {
  std::string authority;    ///< Instead of the system's.
  std::string certificate;  ///< The client's.
  std::string key;
};

struct HttpRequest {
  std::string method = "GET";
  std::string url;
  std::vector<std::string> headers;  ///< "Accept: application/json".
  std::string body;                  ///< Sent if it is not empty.
  TlsOptions tls;
  /// "HOST:PORT" to connect to instead of what the URL says.
  std::string connect_to;
  std::string proxy_url;  ///< Empty: as the environment says.
  bool no_proxy = false;  ///< Not even what the environment says.
  base::Duration connect_limit = std::chrono::seconds(10);
  base::Duration limit = std::chrono::seconds(30);  ///< For the whole exchange.
  size_t max_body_bytes = size_t{16} << 20;
  /// Gets the body of an answer with status 2xx as it comes, instead of its being kept; an error
  /// ends the call. May destroy the call. Optional.
  std::function<Result<void>(std::string_view bytes)> on_bytes;
};

struct HttpAnswer {
  int status = 0;
  std::string retry_after;  ///< The header, as it came.
  std::string body;
};

/// One exchange under way. Destroying it ends it; `done` does not run then.
class HttpCall {
 public:
  HttpCall() = default;
  HttpCall(const HttpCall&) = delete;
  HttpCall& operator=(const HttpCall&) = delete;
  virtual ~HttpCall() = default;
};

/// HTTP/1.1 to an API server, by libcurl on the loop. Certificates are always verified, redirects
/// never followed. Connections are kept and used again by requests with the same TLS options.
/// Requires: SIGPIPE is ignored, as OpenSSL may write to a connection that the server has closed.
/// Owner: outlives its calls; must not be destroyed by a callback. Thread: loop only.
class HttpTransport {
 public:
  using DoneFn = std::function<void(Result<HttpAnswer>)>;

  static Result<std::unique_ptr<HttpTransport>> Create(loop::EventLoop& loop);
  HttpTransport() = default;
  HttpTransport(const HttpTransport&) = delete;
  HttpTransport& operator=(const HttpTransport&) = delete;
  virtual ~HttpTransport() = default;

  /// `done` runs once, never within Start(), and may destroy the call. Errors, of `done`:
  /// kUnavailable (nobody there, connection lost), kDeadlineExceeded, kFailedPrecondition (TLS:
  /// one of the two does not trust the other), kResourceExhausted (too long an answer).
  virtual std::unique_ptr<HttpCall> Start(HttpRequest request, DoneFn done) = 0;
};

}  // namespace tenon::kubeapi
