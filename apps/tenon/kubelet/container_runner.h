#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "loop/backoff.h"
#include "loop/timer_queue.h"
#include "pod/pod.h"
#include "pod/status.h"
#include "runtime/container_runtime.h"
#include "tenon/kubelet/crash_backoff.h"
#include "tenon/kubelet/pod_environment.h"

namespace tenon::kubelet {

/// The life of one container of one pod: prepared, made, started, watched, removed, and started
/// again if its pod says so.
///
/// What can be mended (a device node that is not there yet, an image that is missing) is shown as
/// the reason for waiting and tried again; a program that cannot be started has failed.
/// Thread: loop only.
class ContainerRunner final {
 public:
  /// What its pod does for it. `changed` runs after each change of state() and may not destroy the
  /// runner; `save` makes durable what the container is: before its program is started, and, with
  /// nullopt, before one is removed whose program never ran.
  struct Observer {
    std::function<void()> changed;
    std::function<void(const std::optional<runtime::ContainerIdentity>&, PodStore::Done)> save;
  };

  ContainerRunner(const PodEnvironment& environment, const pod::Pod& pod,
                  const pod::Container& container, Observer observer);
  ContainerRunner(const ContainerRunner&) = delete;
  ContainerRunner& operator=(const ContainerRunner&) = delete;

  /// Starts the container, now or as soon as it can be; without a runtime it stays idle.
  /// Requires: idle().
  void Start();

  /// Starts a container that has ended once more, after the pause that its ends so far have
  /// earned it; the devices are the same. Requires: ended(), and it was not told to stop.
  void Restart();

  /// Finds out, after a restart, what became of a container that the record knows as `status`: it
  /// is then running, ended, or idle() because nothing of it runs. Requires: called first.
  void Recover(const pod::ContainerStatus& status,
               const std::optional<runtime::ContainerIdentity>& identity);

  /// Ends it: SIGTERM, after `grace` SIGKILL; a container that has not started never will.
  /// Again with a shorter grace: the shorter one holds.
  void Stop(base::Duration grace);

  const std::string& name() const { return container_.name; }
  /// What we call it to the runtime, which has a name of its own for each time that it is made.
  std::string id() const { return pod_.uid + "." + container_.name; }
  const pod::ContainerState& state() const { return state_; }
  /// How it ended the time before; nullopt until it is started again.
  const std::optional<pod::ContainerState>& last_state() const { return last_state_; }
  int restarts() const { return restarts_; }
  bool sidecar() const { return container_.sidecar; }
  /// Nothing of it was made yet, and it was not told to stop.
  bool idle() const { return step_ == Step::kIdle; }
  /// Nothing of it is left but its output.
  bool ended() const { return step_ == Step::kEnded; }
  bool running() const { return step_ == Step::kRunning; }
  bool stopping() const { return stop_.has_value(); }
  /// Nothing of it is left in the runtime, and it is to be started again.
  bool between_runs() const {
    return restarts_ > 0 &&
           (step_ == Step::kRetrying || step_ == Step::kPreparing || step_ == Step::kCreating);
  }

 private:
  enum class Step {
    kIdle,
    kRecovering,  ///< The runtime is asked what it knows.
    kPreparing,   ///< The device manager is asked what it gets.
    kRetrying,    ///< Waits to be prepared again.
    kCreating,    ///< The runtime sets it up.
    kSaving,      ///< Its process is being written down.
    kStarting,    ///< The runtime starts its program.
    kRunning,
    kRemoving,  ///< The runtime removes what is left.
    kEnded,
  };

  void Prepare();
  void OnPrepared(const Result<ContainerAllocation>& allocation);
  void OnCreated(const Result<runtime::ContainerIdentity>& identity);
  void OnCreateFailed(const Error& error);
  void OnSaved(const Result<void>& result);
  void OnStarted(const Result<void>& result);
  void OnExit(const runtime::ContainerExit& exit);
  void AskRuntime();
  void OnQueried(const Result<runtime::ContainerPresence>& presence);
  void ForgetUnstarted();

  Result<void> Watch();
  void RetryLater(const std::string& reason, std::string message);
  void SetRunning(base::WallTime since);
  void FailStart(std::string message);
  void Terminate(pod::ContainerState state);
  /// Removes what the runtime has; then it has ended, or is idle if it never ran.
  void Remove(Step then);
  void ArmKill(base::Duration grace);

  const PodEnvironment& environment_;
  const pod::Pod& pod_;
  const pod::Container& container_;
  const Observer observer_;

  Step step_ = Step::kIdle;
  pod::ContainerState state_;
  std::optional<pod::ContainerState> last_state_;
  int restarts_ = 0;
  runtime::ContainerIdentity identity_;               ///< Of the container that was made last.
  base::MonotonicTime started_{};                     ///< Its program, the last time.
  std::optional<base::Duration> stop_;                ///< The grace of Stop().
  std::optional<runtime::ContainerExit> early_exit_;  ///< Seen before the runtime's answer.
  loop::Backoff backoff_;
  CrashBackoff crashes_;
  loop::TimerHandle timer_;  ///< The next try, or the end of the grace.
  runtime::ContainerRuntime::Call call_;
  std::unique_ptr<runtime::ContainerWatch> watch_;
  /// Expires with this object: the device manager's answers may come later.
  const std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace tenon::kubelet
