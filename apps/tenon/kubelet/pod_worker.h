#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "loop/timer_queue.h"
#include "tenon/kubelet/container_runner.h"
#include "tenon/kubelet/pod_environment.h"
#include "tenon/kubelet/pod_store.h"

namespace tenon::kubelet {

/// The life of one pod: admitted or refused, its init containers one after the other, its
/// containers together, its end. Its record on disk follows each change.
///
/// Containers that have ended are started again by the pod's restartPolicy, sidecars always, with
/// the devices that they had. When all containers but sidecars have ended for good the sidecars are
/// ended, too. A pod that has ended gives its devices back and is kept to be looked at until
/// somebody deletes it. Thread: loop only.
class PodWorker final {
 public:
  using Done = std::function<void()>;

  PodWorker(const PodEnvironment& environment, PodRecord record);
  PodWorker(const PodWorker&) = delete;
  PodWorker& operator=(const PodWorker&) = delete;

  /// Asks for its devices; `answered` runs in a later turn, when the pod is admitted or refused
  /// and its record is written, or when it is gone. Requires: a new pod, called first.
  void Admit(Done answered);
  /// Goes on with a pod of an earlier kubelet. Requires: called first.
  void Recover();
  /// Ends its containers and forgets it; `gone` runs in a later turn, when nothing of it is left,
  /// and may destroy this. Several may wait; the shortest grace holds.
  void Delete(base::Duration grace, Done gone);

  const pod::Pod& pod() const { return record_.pod; }
  const PodRecord& record() const { return record_; }
  /// Whether nothing of it is left, on disk neither.
  bool removed() const { return step_ == Step::kRemoved; }

 private:
  using Runners = std::vector<std::unique_ptr<ContainerRunner>>;
  enum class Step {
    kNew,
    kRecovering,  ///< Its containers are being looked at.
    kAdmitting,   ///< The device manager or the disk has to answer.
    kActive,      ///< Admitted: its containers wait, run or have ended.
    kEnding,    ///< Ended but for its sidecars, failed or refused: what still runs is being ended.
    kTerminal,  ///< Has ended; kept to be looked at.
    kDeleting,  ///< Its containers are being ended.
    kRemoving,  ///< Its directory is being removed.
    kRemoved,   ///< Waits to be destroyed.
  };

  void AskDevices();
  void OnAdmitted(const manager::AdmitResult& result);
  void OnAdmissionSaved(const Result<void>& result);
  void Refuse(const manager::AdmitResult& result);
  void Answer();

  /// Runs in a turn of its own after anything has changed: does the next step.
  void Advance();
  void ScheduleAdvance();
  void FinishRecovery();
  void StartContainers();
  void BeginEnd();
  void EnterTerminal();
  void FinishDelete();
  void RemoveRecord();

  void Save(PodStore::Done done);
  void SaveIfChanged();
  void CopyStates();
  void StopAll(base::Duration grace);
  /// Stops those whose turn it is.
  void StopInOrder();
  bool AllEnded() const;
  bool HasRun() const;
  /// What the pod ends as; nullopt as long as a container but a sidecar runs or will run.
  std::optional<pod::Phase> FinalPhase() const;
  /// Whether a container after this one of init_ has started.
  bool IsPassed(size_t init) const;
  /// Whether it has ended and, by the pod's policy, does not stay so.
  bool IsToRestart(const ContainerRunner& runner) const;
  /// Removes what the containers shared; `done` runs in a later turn.
  void RemoveShared(Done done);
  ContainerRunner::Observer Observe(const std::string& container);
  void ForEach(const std::function<void(ContainerRunner&, pod::ContainerStatus*)>& visit);

  const PodEnvironment& environment_;
  PodRecord record_;
  PodRecord saved_;  ///< As it was given to the store last.
  Step step_ = Step::kNew;
  Runners init_;
  Runners apps_;
  Done answered_;
  std::vector<Done> gone_;
  std::optional<base::Duration> stop_grace_;  ///< The shortest that StopAll() was told.
  base::MonotonicTime stop_until_{};          ///< When that one ends.
  loop::TimerHandle advance_;
  runtime::ContainerRuntime::Call removal_;
  /// Expires with this object: answers of the device manager and the store may come later.
  const std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace tenon::kubelet
