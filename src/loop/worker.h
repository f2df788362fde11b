#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "loop/event_loop.h"

namespace tenon::loop {

/// The one thread beside the loop. It only writes files: jobs run in the order of submission,
/// and each job's completion runs on the loop. The thread starts with the first job.
/// Thread: Submit() and the destructor on the loop.
class Worker final {
 public:
  explicit Worker(LoopHandle loop) : loop_(std::move(loop)) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  /// Finishes the jobs that were submitted; completions that then find no loop are dropped.
  ~Worker();

  /// `job` runs on the worker and may touch only what it captured by value or owns alone;
  /// the closure that it returns runs on the loop.
  void Submit(std::function<std::function<void()>()> job);

 private:
  void Run();

  const LoopHandle loop_;
  // std::mutex: a condition variable waits on nothing else. State below is protected by it.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<std::function<void()>()>> jobs_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace tenon::loop
