#pragma once

#include <functional>
#include <memory>
#include <string>

#include "admin/http_message.h"
#include "base/clock.h"
#include "base/result.h"
#include "loop/event_loop.h"
#include "value/value.h"

namespace tenon::cli {

/// Where a daemon of this machine answers, and how to say so.
struct ControlSocket {
  std::string path;
  std::string daemon;  ///< "tenond".
  std::string option;  ///< What names another socket: "--control".
};

/// The socket of the `tenon kubelet` in this directory.
ControlSocket KubeletSocket(const std::string& directory);

/// Asks a daemon and waits for the answer. docs/control-api.md says what can be asked.
class ControlClient final {
 public:
  static Result<std::unique_ptr<ControlClient>> Create(ControlSocket socket);
  ControlClient(const ControlClient&) = delete;
  ControlClient& operator=(const ControlClient&) = delete;

  /// Returns: the answer if it is a success. Errors: nobody answers, with what to do about it;
  /// the daemon's refusal, kNotFound for a 404 and kFailedPrecondition else, a line for each
  /// reason; kUnavailable when the wait was interrupted.
  Result<admin::HttpResponse> Call(const admin::HttpRequest& request,
                                   base::Duration deadline = std::chrono::seconds(30));
  /// The same for an answer that is JSON.
  Result<Value> CallJson(const admin::HttpRequest& request,
                         base::Duration deadline = std::chrono::seconds(30));

  /// Waits. Returns: false if it was interrupted.
  bool Sleep(base::Duration duration);

  /// Waits end early as soon as this holds.
  void InterruptWhen(std::function<bool()> interrupted) { interrupted_ = std::move(interrupted); }

  loop::EventLoop& loop() { return *loop_; }

 private:
  explicit ControlClient(ControlSocket socket) : socket_(std::move(socket)) {}
  Error Explain(Error error) const;

  const ControlSocket socket_;
  const base::SystemClock clock_;
  std::unique_ptr<loop::EventLoop> loop_;
  std::function<bool()> interrupted_ = [] { return false; };
};

}  // namespace tenon::cli
