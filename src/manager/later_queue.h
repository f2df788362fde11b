#pragma once

#include <deque>
#include <functional>
#include <utility>

#include "loop/timer_queue.h"

namespace tenon::manager {

/// Runs closures in later turns, one a turn, in the order in which they came: callbacks of a
/// caller never run on the stack of a call that caused them, and may then do anything, also
/// destroy the queue, with which the rest is dropped. Thread: loop only.
class LaterQueue final {
 public:
  explicit LaterQueue(loop::TimerQueue& timers) : timers_(timers) {}
  LaterQueue(const LaterQueue&) = delete;
  LaterQueue& operator=(const LaterQueue&) = delete;

  void Add(std::function<void()> closure) {
    closures_.push_back(std::move(closure));
    if (!timer_.pending()) Arm();
  }

 private:
  void Arm() {
    timer_ = timers_.After(base::Duration::zero(), [this] { RunOne(); });
  }
  void RunOne() {
    std::function<void()> closure = std::move(closures_.front());
    closures_.pop_front();
    if (!closures_.empty()) Arm();
    closure();
  }

  loop::TimerQueue& timers_;
  std::deque<std::function<void()>> closures_;
  loop::TimerHandle timer_;
};

}  // namespace tenon::manager
