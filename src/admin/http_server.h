#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "admin/http_message.h"
#include "base/clock.h"
#include "base/result.h"
#include "loop/event_loop.h"

namespace tenon::admin {

class HttpConnection;
class HttpServerState;

/// The right to answer one request, now or later. Destroying it unanswered answers 500, so that
/// no client waits for ever. Answering a client that has gone does nothing.
/// Thread: loop only. May outlive the server.
class Responder final {
 public:
  Responder() = default;
  Responder(Responder&& other) noexcept = default;
  Responder& operator=(Responder&& other) noexcept;
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;
  ~Responder();

  /// Requires: first call.
  void Send(const HttpResponse& response);
  /// Whether somebody still waits for the answer.
  bool wanted() const;

 private:
  friend class HttpConnection;
  /// Shared with the connection, which takes itself out when it ends.
  struct Link {
    HttpConnection* connection;
  };
  explicit Responder(std::shared_ptr<Link> link) : link_(std::move(link)) {}

  std::shared_ptr<Link> link_;
};

/// A small HTTP/1.1 server on the loop: the control socket of a daemon and its metrics port.
///
/// On a unix socket, which only its owner can open, all methods are served. On TCP it is GET and
/// HEAD only, with a Host header that no foreign web page can send. Requests of one connection
/// are answered in their order. Every refusal is {"error":"…"}.
/// Thread: loop only. A route may destroy the server.
class HttpServer final {
 public:
  using RouteFn = std::function<void(const HttpRequest& request, Responder responder)>;

  struct Options {
    int max_connections = 32;  ///< For each listening socket; an idle one makes room, else 503.
    size_t max_head_bytes = size_t{16} << 10;
    size_t max_body_bytes = size_t{1} << 20;
    /// From the first byte of a request to its last.
    base::Duration request_timeout = std::chrono::seconds(10);
    /// Between requests, and for a client to take an answer.
    base::Duration idle_timeout = std::chrono::seconds(60);
  };

  explicit HttpServer(loop::EventLoop& loop) : HttpServer(loop, Options()) {}
  HttpServer(loop::EventLoop& loop, Options options);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  /// Closes all connections and removes the socket files that are still ours.
  ~HttpServer();

  /// `pattern` as in "/api/v1/pods/{namespace}/{name}": a segment in braces matches any one
  /// segment that is not empty. Of several matches the one that was added first is taken. GET
  /// routes answer HEAD as well. Add routes before the loop turns.
  void Route(std::string method, std::string_view pattern, RouteFn route);

  /// Listens on a unix socket of mode 0600; its directory is made with 0700 if it is missing.
  /// Errors: as loop::UnixListener::Listen.
  Result<void> ListenUnix(const std::string& path);

  /// Listens on TCP, the address as in ParseTcpAddress. Returns: the address with the port.
  Result<std::string> ListenTcp(std::string_view address);

 private:
  const std::unique_ptr<HttpServerState> state_;
};

}  // namespace tenon::admin
