#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "bench_kubelet.h"
#include "loop/event_loop.h"
#include "process/child.h"

namespace tenon::bench {

/// How a plugin is started, and where.
struct SubjectPlan {
  std::string name;
  std::vector<std::string> argv;
  std::string binary;      ///< Whose size is shown.
  std::string plugin_dir;  ///< Where its kubelet makes kubelet.sock.
  std::string device_dir;  ///< A device appears here; empty: it cannot be measured.
  std::string control;     ///< tenond's control socket; empty: it has none.
  size_t resources = 1;    ///< How many it registers.
};

/// A plugin under measurement: its process, and a kubelet of its own.
class Subject final {
 public:
  Subject(loop::EventLoop& loop, const base::Clock& clock, SubjectPlan plan)
      : loop_(loop), clock_(clock), plan_(std::move(plan)), kubelet_(loop, plan_.plugin_dir) {}
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  const SubjectPlan& plan() const { return plan_; }
  BenchKubelet& kubelet() { return kubelet_; }
  pid_t pid() const { return child_->pid(); }

  /// Starts the process, again if it runs. Returns: how long until it has registered something.
  base::Duration Restart();
  /// Restarts the kubelet under it. Returns: how long from its socket until all lists are here.
  base::Duration RestartKubelet();
  /// Makes a device node. Returns: how long until a list is here.
  base::Duration AddDevice();
  /// Allocates `count` times with `width` calls in flight. Returns: how long it took; one at a
  /// time, each duration is appended to `samples`.
  base::Duration Allocate(int count, int width, std::vector<base::Duration>* samples);
  void AwaitLists();
  /// The longest turn of its loop since it was last asked; zero if it does not tell.
  base::Duration TakeLoopLag() const;

 private:
  /// Kills the process and waits for its end.
  void Stop();
  void OnEnded(const process::ChildExit& exit);
  /// Ends the program with a message if that takes a minute.
  base::Duration TimeUntil(base::MonotonicTime start, const std::function<bool()>& done);

  loop::EventLoop& loop_;
  const base::Clock& clock_;
  const SubjectPlan plan_;
  BenchKubelet kubelet_;
  bool stopping_ = false;
  std::unique_ptr<process::Child> child_;
  int devices_added_ = 0;
};

}  // namespace tenon::bench
