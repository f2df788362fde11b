#pragma once

#include <functional>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "loop/timer_queue.h"

namespace tenon::loop {

class EventLoop;

/// What a descriptor is ready for, or is watched for; values may be or-ed.
enum FdEvents : unsigned {
  kNone = 0,
  kReadable = 1,
  kWritable = 2,
  kHangup = 4,  ///< The peer is gone or the descriptor failed; always reported, never asked for.
};

/// Owns the watch on one descriptor; destroying it ends the watch, and after that its callback
/// never runs, not even for events that were already collected in this turn.
/// Owner: must be destroyed before the descriptor is closed and before the loop.
class FdWatch final {
 public:
  FdWatch() = default;
  FdWatch(FdWatch&& other) noexcept : loop_(std::exchange(other.loop_, nullptr)), id_(other.id_) {}
  FdWatch& operator=(FdWatch&& other) noexcept;
  FdWatch(const FdWatch&) = delete;
  FdWatch& operator=(const FdWatch&) = delete;
  ~FdWatch() { Cancel(); }

  void Cancel();
  /// Changes what is watched for. Requires: active().
  void SetEvents(unsigned events);
  bool active() const { return loop_ != nullptr; }

 private:
  friend class EventLoop;
  FdWatch(EventLoop* loop, uint64_t id) : loop_(loop), id_(id) {}

  EventLoop* loop_ = nullptr;
  uint64_t id_ = 0;
};

/// The one door into a loop from other threads. Copyable; may outlive the loop.
class LoopHandle final {
 public:
  /// Runs `closure` on the loop in a later turn. Once the loop is gone the closure is destroyed
  /// unrun. Thread: any.
  void Post(std::function<void()> closure) const;

 private:
  friend class EventLoop;
  struct Inbox {
    base::Mutex mutex;
    std::vector<std::function<void()>> closures TENON_GUARDED_BY(mutex);
    bool closed TENON_GUARDED_BY(mutex) = false;
    base::UniqueFd wake_fd;
  };
  explicit LoopHandle(std::shared_ptr<Inbox> inbox) : inbox_(std::move(inbox)) {}

  std::shared_ptr<Inbox> inbox_;
};

/// One epoll loop: descriptors, timers and closures from other threads, all run by the thread
/// that calls Run(). It owns all state of a process, so nothing that runs on it may block.
/// Thread: loop only, except handle() once constructed.
class EventLoop final {
 public:
  using FdCallback = std::function<void(unsigned events)>;

  static Result<std::unique_ptr<EventLoop>> Create(const base::Clock& clock);
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;
  ~EventLoop();

  TimerQueue& timers() { return timers_; }
  LoopHandle handle() const { return LoopHandle(inbox_); }

  /// Calls `callback` in every turn in which `fd` is ready (level triggered). The descriptor
  /// stays the caller's. Errors: the descriptor cannot be polled (a regular file), or is watched.
  Result<FdWatch> WatchFd(int fd, unsigned events, FdCallback callback);

  /// Takes `fd` over, calls `callback` with it once it is readable, and closes it: for what
  /// nobody waits for any more but which has to be taken, such as the end of a killed child. When
  /// the loop goes first, `callback` never runs.
  void WhenReadable(base::UniqueFd fd, std::function<void(int fd)> callback);

  /// Runs turns until Stop() is called. Requires: not running.
  void Run();
  void Stop() { stopped_ = true; }

  /// Runs turns until `done` holds or `limit` has passed by the clock; returns what `done` says.
  /// With a limit of zero it is one turn without waiting, after which timers know the time.
  /// For programs with one thing to wait for, and for tests.
  bool RunUntil(const std::function<bool()>& done, base::Duration limit);

  /// The longest time that callbacks took in one turn since the last call: how late a new event
  /// may be seen.
  base::Duration TakeLongestTurn() { return std::exchange(longest_turn_, base::Duration::zero()); }

 private:
  friend class FdWatch;
  struct Watched {
    int fd;
    std::shared_ptr<FdCallback> callback;
  };

  struct Adopted {
    base::UniqueFd fd;
    FdWatch watch;  // After fd: ends before the descriptor is closed.
  };

  EventLoop(const base::Clock& clock, base::UniqueFd epoll_fd, std::shared_ptr<LoopHandle::Inbox>);
  void Turn(base::MonotonicTime latest);
  int TimeoutMs(base::MonotonicTime latest) const;
  void RunPosted();

  const base::Clock& clock_;
  const base::UniqueFd epoll_fd_;
  const std::shared_ptr<LoopHandle::Inbox> inbox_;
  TimerQueue timers_;
  std::unordered_map<uint64_t, Watched> watched_;
  std::list<Adopted> adopted_;  // After watched_, where its watches are.
  uint64_t next_id_ = 1;
  base::Duration longest_turn_{};
  bool stopped_ = false;
};

}  // namespace tenon::loop
