#pragma once

#include <functional>
#include <initializer_list>
#include <memory>

#include "loop/event_loop.h"

namespace tenon::loop {

/// Turns signals into calls on the loop. Blocks them for the process, so create it before any
/// thread; a child must reset its mask before exec (process::Child does).
class SignalWatch final {
 public:
  using Callback = std::function<void(int signal)>;

  static Result<std::unique_ptr<SignalWatch>> Create(EventLoop& loop,
                                                     std::initializer_list<int> signals,
                                                     Callback callback);
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  SignalWatch(base::UniqueFd fd, Callback callback)
      : fd_(std::move(fd)), callback_(std::move(callback)) {}
  void OnReadable();

  const base::UniqueFd fd_;
  const Callback callback_;
  FdWatch watch_;  // After fd_: ends before the descriptor is closed.
};

}  // namespace tenon::loop
