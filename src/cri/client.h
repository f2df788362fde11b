#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "loop/event_loop.h"
#include "loop/timer_queue.h"
#include "rpc/channel.h"

namespace tenon::cri {

/// Calls to one CRI runtime on a unix socket. The connection is made when it is first needed and
/// anew after it was lost, as a runtime may be restarted at any time and its containers live on.
/// Thread: loop only.
class Client final {
 public:
  /// The answer's bytes. Errors: kNotFound, kUnavailable when nobody answers there,
  /// kDeadlineExceeded; else kInternal; the message as grpc-go words it.
  using Done = std::function<void(Result<std::string>)>;

  Client(loop::EventLoop& loop, std::string socket) : loop_(loop), socket_(std::move(socket)) {}
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// `done` runs once, in a later turn, unless what is returned is destroyed first. Owner: ends
  /// before the client.
  [[nodiscard]] std::unique_ptr<rpc::ClientCall> Call(std::string_view method, std::string request,
                                                      base::Duration deadline, Done done);

  const std::string& socket() const { return socket_; }

 private:
  loop::EventLoop& loop_;
  const std::string socket_;
  std::shared_ptr<rpc::Channel> channel_;
  bool lost_ = false;
};

}  // namespace tenon::cri
