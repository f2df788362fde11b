#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "loop/event_loop.h"
#include "rpc/status.h"

namespace tenon::rpc {

/// One encoded message, shared by all streams that send it.
using Payload = std::shared_ptr<const std::string>;

/// The server's end of one unary call. Owner: the method's code; destroying it unanswered ends
/// the call with kUnavailable. Answering a call that the client has given up does nothing.
class UnaryCall {
 public:
  UnaryCall() = default;
  UnaryCall(const UnaryCall&) = delete;
  UnaryCall& operator=(const UnaryCall&) = delete;
  virtual ~UnaryCall() = default;

  /// Ends the call with a message and kOk. At most one of Reply and Fail, once.
  virtual void Reply(std::string message) = 0;
  /// Ends the call with an error. Requires: !status.ok().
  virtual void Fail(Status status) = 0;
  /// `callback` runs once if the client cancels, disconnects or its deadline passes first.
  virtual void OnCancelled(std::function<void()> callback) = 0;
  /// How long the client still waits; nullopt when it set no deadline.
  virtual std::optional<base::Duration> time_left() const = 0;
};

/// The server's end of one server-streaming call. Owner: the method's code; destroying it ends
/// the stream with kUnavailable.
class ServerStream {
 public:
  ServerStream() = default;
  ServerStream(const ServerStream&) = delete;
  ServerStream& operator=(const ServerStream&) = delete;
  virtual ~ServerStream() = default;

  /// Starts sending one message; `on_written` runs, in a later turn, when all of it has been
  /// handed to the socket, and never after the stream is closed. One write at a time: the
  /// slow reader is the reason to wait, and the newest list is what it then gets.
  virtual void Write(Payload message, std::function<void()> on_written) = 0;
  /// Ends the stream; kOk or an error.
  virtual void Finish(Status status) = 0;
  /// `callback` runs once, in a later turn, when the client cancels or its connection ends, and
  /// not after Finish().
  virtual void OnClosed(std::function<void()> callback) = 0;
  virtual bool closed() const = 0;
};

/// Serves gRPC on one unix socket: HTTP/2 over nghttp2, on the loop.
///
/// The socket is bound under a hidden name, listens, and is then renamed into place, so whoever
/// sees it can connect. It accepts any :authority (old kubelets send the raw socket path).
/// The file is removed at the end only if it still is this server's.
/// Thread: loop only.
class Server {
 public:
  using UnaryMethod = std::function<void(std::string_view request, std::unique_ptr<UnaryCall>)>;
  using StreamMethod = std::function<void(std::string_view request, std::unique_ptr<ServerStream>)>;

  struct Options {
    size_t max_request_bytes = size_t{4} << 20;  ///< Larger ones: kResourceExhausted.
    /// Of more, the one longest without a call makes way; if all have calls, the newest is closed.
    int max_connections = 64;
    int max_streams = 128;  ///< Per connection.
    /// A connection without any call for this long is closed; a dead peer's is, too.
    base::Duration idle_timeout = std::chrono::minutes(30);
    mode_t socket_mode = 0600;
  };

  /// Listens at `path`. A socket there that nobody listens on is replaced; one that answers is
  /// kFailedPrecondition. Errors name the path; a path over 107 bytes says so.
  static Result<std::unique_ptr<Server>> Listen(loop::EventLoop& loop, base::Log& log,
                                                std::string path, const Options& options);
  Server() = default;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  /// Closes all connections and removes the socket file if it is still ours.
  virtual ~Server() = default;

  /// Serves a socket that is connected already, beside those that the listener accepts.
  /// Errors: the socket cannot be watched.
  virtual Result<void> Adopt(base::UniqueFd socket) = 0;

  /// `name` as in "/v1beta1.DevicePlugin/Allocate". Add methods before the loop turns.
  virtual void AddUnary(std::string name, UnaryMethod method) = 0;
  virtual void AddStream(std::string name, StreamMethod method) = 0;

  /// Whether the socket file at the path is still the one that this server made.
  virtual bool socket_is_ours() const = 0;
  virtual const std::string& path() const = 0;

  /// Graceful stop: sends GOAWAY, takes no more calls, and runs `done` when the calls in flight
  /// have ended or `limit` has passed. Streams are ended with kUnavailable.
  virtual void Drain(base::Duration limit, std::function<void()> done) = 0;
};

}  // namespace tenon::rpc
