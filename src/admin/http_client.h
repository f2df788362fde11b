#pragma once

#include <functional>
#include <memory>
#include <string>

#include "admin/http_message.h"
#include "base/clock.h"
#include "base/result.h"
#include "loop/event_loop.h"

namespace tenon::admin {

/// Owns one request to an HTTP server on a unix socket, over a connection of its own:
/// destroying it closes the connection, and after that its callback never runs.
/// Thread: loop only.
class HttpFetch {
 public:
  using DoneFn = std::function<void(Result<HttpResponse>)>;

  struct Options {
    /// From now to the last byte of the answer.
    base::Duration deadline = std::chrono::seconds(10);
    size_t max_body_bytes = size_t{16} << 20;
  };

  /// `done` runs once, in a later turn. Any status is an answer; errors are those of the
  /// connection: kNotFound when no socket is at the path, kUnavailable when nobody listens or
  /// the connection breaks, kDeadlineExceeded, kDataLoss when the answer is not HTTP.
  [[nodiscard]] static std::unique_ptr<HttpFetch> Start(loop::EventLoop& loop,
                                                        const std::string& socket_path,
                                                        const HttpRequest& request, Options options,
                                                        DoneFn done);
  HttpFetch() = default;
  HttpFetch(const HttpFetch&) = delete;
  HttpFetch& operator=(const HttpFetch&) = delete;
  virtual ~HttpFetch() = default;
};

}  // namespace tenon::admin
