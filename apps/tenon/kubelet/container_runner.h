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
#include "runtime/process_watch.h"
#include "tenon/kubelet/pod_environment.h"

namespace tenon::kubelet {

/// The life of one container of one pod: prepared, made, started once, watched, removed.
///
/// What can be mended (a device node that is not there yet, an image that is missing) is shown as
/// the reason for waiting and tried again; a program that cannot be started has failed.
/// Thread: loop only.
class ContainerRunner final {
 public:
  /// What its pod does for it. `changed` runs after each change of state() and may not destroy the
  /// runner; `save` makes the process durable before the program is started.
  struct Observer {
    std::function<void()> changed;
    std::function<void(const runtime::ProcessIdentity&, PodStore::Done)> save;
  };

  ContainerRunner(const PodEnvironment& environment, const pod::Pod& pod,
                  const pod::Container& container, Observer observer);
  ContainerRunner(const ContainerRunner&) = delete;
  ContainerRunner& operator=(const ContainerRunner&) = delete;

  /// Starts the container, now or as soon as it can be. Requires: idle().
  void Start();

  /// Finds out, after a restart, what became of a container that the record knows in `state`: it
  /// is then running, ended, or idle() because it never ran. Requires: called first.
  void Recover(const pod::ContainerState& state,
               const std::optional<runtime::ProcessIdentity>& process);

  /// Ends it: SIGTERM, after `grace` SIGKILL; a container that has not started never will.
  /// Again with a shorter grace: the shorter one holds.
  void Stop(base::Duration grace);

  const std::string& name() const { return container_.name; }
  /// What the runtime calls it.
  std::string id() const { return pod_.uid + "." + container_.name; }
  const pod::ContainerState& state() const { return state_; }
  /// Nothing of it was made yet, and it was not told to stop.
  bool idle() const { return step_ == Step::kIdle; }
  /// Nothing of it is left but its output.
  bool ended() const { return step_ == Step::kEnded; }
  bool running() const { return step_ == Step::kRunning; }

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
  Result<void> WriteBundle(const ContainerAllocation& allocation, const std::string& rootfs);
  void Create();
  void OnCreated(const Result<runtime::ProcessIdentity>& process);
  void OnSaved(const Result<void>& result);
  void OnStarted(const Result<void>& result);
  void OnExit(const runtime::ProcessExit& exit);
  void AskRuntime(std::optional<runtime::ProcessIdentity> process);
  void OnQueried(Result<runtime::ContainerPresence> presence,
                 const std::optional<runtime::ProcessIdentity>& process);

  Result<void> Watch(const runtime::ProcessIdentity& process);
  void RetryLater(const std::string& reason, std::string message);
  void SetRunning(base::WallTime since);
  void FailStart(std::string message);
  void Terminate(pod::ContainerState state);
  /// Removes what the runtime has; then it has ended, or is idle if it never ran.
  void Remove(Step then);
  void ArmKill(base::Duration grace);
  bool stopping() const { return stop_.has_value(); }

  const PodEnvironment& environment_;
  const pod::Pod& pod_;
  const pod::Container& container_;
  const Observer observer_;

  Step step_ = Step::kIdle;
  pod::ContainerState state_;
  std::optional<base::Duration> stop_;              ///< The grace of Stop().
  std::optional<runtime::ProcessExit> early_exit_;  ///< Seen before the runtime's answer.
  loop::Backoff backoff_;
  loop::TimerHandle timer_;  ///< The next try, or the end of the grace.
  runtime::ContainerRuntime::Call call_;
  std::unique_ptr<runtime::ProcessWatch> watch_;
  /// Expires with this object: the device manager's answers may come later.
  const std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace tenon::kubelet
