#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "loop/event_loop.h"
#include "rpc/status.h"

namespace tenon::rpc {

/// Owns one outgoing call: destroying it cancels the call (RST_STREAM CANCEL), and after that
/// none of its callbacks runs.
class ClientCall {
 public:
  ClientCall() = default;
  ClientCall(const ClientCall&) = delete;
  ClientCall& operator=(const ClientCall&) = delete;
  virtual ~ClientCall() = default;
};

/// The client's end of one connection to a gRPC server on a unix socket.
///
/// It connects when it is made and never again: a plugin or kubelet that comes back is a new
/// connection, by design, since its identity matters to both ends. Calls made before the
/// connection is up wait for it.
/// Thread: loop only.
class Channel {
 public:
  struct Options {
    size_t max_response_bytes = size_t{16}
                                << 20;  ///< Larger: kResourceExhausted, as grpc-go says it.
    /// How long connecting and the peer's SETTINGS may take; after that calls fail with
    /// kUnavailable and the reason.
    base::Duration connect_timeout = std::chrono::seconds(10);
    /// Whether to try again until then while nobody listens (ENOENT, ECONNREFUSED), as the
    /// kubelet's blocking dial does; else that fails at once.
    bool retry_connect = false;
  };
  using UnaryDone = std::function<void(Status status, std::string response)>;
  using MessageFn = std::function<void(std::string_view message)>;
  using EndFn = std::function<void(Status status)>;

  /// Never fails itself; a path that cannot be connected to fails the calls and `on_closed`.
  static std::unique_ptr<Channel> Connect(loop::EventLoop& loop, std::string path,
                                          const Options& options);
  /// The same over a socket that is connected already.
  static std::unique_ptr<Channel> FromSocket(loop::EventLoop& loop, base::UniqueFd socket,
                                             const Options& options);
  Channel() = default;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  /// Cancels the calls in flight without their callbacks and closes the connection.
  virtual ~Channel() = default;

  /// Calls a unary method; `done` runs exactly once, in a later turn, unless the call is
  /// destroyed first. `deadline` is from now; it is sent as grpc-timeout and kept here, too.
  [[nodiscard]] virtual std::unique_ptr<ClientCall> Unary(std::string_view method,
                                                          std::string request,
                                                          base::Duration deadline,
                                                          UnaryDone done) = 0;

  /// Calls a server-streaming method without a deadline; `on_message` runs for each message,
  /// `on_end` exactly once, last.
  [[nodiscard]] virtual std::unique_ptr<ClientCall> Stream(std::string_view method,
                                                           std::string request,
                                                           MessageFn on_message, EndFn on_end) = 0;

  /// `callback` runs once when the connection is up and the peer has spoken HTTP/2 (kOk), or
  /// could not be made in time (why).
  virtual void OnConnected(std::function<void(Status)> callback) = 0;
  /// `callback` runs once when an established connection ends, with the reason.
  virtual void OnClosed(std::function<void(Status)> callback) = 0;
};

}  // namespace tenon::rpc
