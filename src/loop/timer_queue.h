#pragma once

#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "base/clock.h"

namespace tenon::loop {

class TimerQueue;

/// Owns one pending timer: destroying or resetting it cancels the timer, and after that its
/// callback never runs. Owner: must not outlive its queue.
class TimerHandle final {
 public:
  TimerHandle() = default;
  TimerHandle(TimerHandle&& other) noexcept;
  TimerHandle& operator=(TimerHandle&& other) noexcept;
  TimerHandle(const TimerHandle&) = delete;
  TimerHandle& operator=(const TimerHandle&) = delete;
  ~TimerHandle() { Cancel(); }

  void Cancel();
  bool pending() const;

 private:
  friend class TimerQueue;
  using Key = std::pair<base::MonotonicTime, uint64_t>;
  TimerHandle(TimerQueue* queue, Key key) : queue_(queue), key_(key) {}

  TimerQueue* queue_ = nullptr;
  Key key_{};
};

/// Timers in order of their deadline. It reads no clock: whoever owns it says what time it is,
/// so a test advances it by hand and the loop once a turn. Thread: loop only.
class TimerQueue final {
 public:
  using Callback = std::function<void()>;

  explicit TimerQueue(base::MonotonicTime now) : now_(now) {}
  TimerQueue(const TimerQueue&) = delete;
  TimerQueue& operator=(const TimerQueue&) = delete;

  /// The time of the last AdvanceTo(); constant within a turn of the loop.
  base::MonotonicTime now() const { return now_; }

  /// Runs `callback` once `delay` has passed. With a delay of zero it runs in the next turn,
  /// which is the way to leave a call chain before acting.
  [[nodiscard]] TimerHandle After(base::Duration delay, Callback callback);

  /// Moves time forward and runs what is due, in order of deadline. Timers that callbacks add
  /// run in the same call if they are due by then, except those with a zero delay.
  void AdvanceTo(base::MonotonicTime now);
  void Advance(base::Duration d) { AdvanceTo(now_ + d); }

  /// When the next timer is due; nullopt when none is pending.
  std::optional<base::MonotonicTime> next_deadline() const;

 private:
  friend class TimerHandle;
  using Key = TimerHandle::Key;
  struct Pending {
    Callback callback;
    bool immediate;  ///< Asked for with a zero delay.
  };

  base::MonotonicTime now_;
  uint64_t next_id_ = 0;
  std::map<Key, Pending> pending_;
};

}  // namespace tenon::loop
