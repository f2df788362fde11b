#include "tenon/kubelet/pod_worker.h"

#include <algorithm>
#include <utility>

namespace tenon::kubelet {
namespace {

using Kind = pod::ContainerState::Kind;

bool Succeeded(const ContainerRunner& runner) {
  return runner.ended() && runner.state().kind == Kind::kTerminated &&
         runner.state().exit_code == 0;
}

bool HasStarted(const std::unique_ptr<ContainerRunner>& runner) {
  return runner->state().kind != Kind::kWaiting || runner->restarts() > 0;
}

/// Of a sidecar whose turn to end comes when the grace period of the pod is all but over.
/// Source: kubernetes pkg/kubelet/kuberuntime, minimumGracePeriodInSeconds.
constexpr base::Duration kLeastGrace = std::chrono::seconds(2);

std::vector<pod::ContainerStatus> NewStatuses(const std::vector<pod::Container>& containers) {
  std::vector<pod::ContainerStatus> out;
  for (const pod::Container& container : containers) {
    out.push_back({.name = container.name,
                   .image = container.image,
                   .state = {.kind = Kind::kWaiting, .reason = "PodInitializing"}});
  }
  return out;
}

}  // namespace

PodWorker::PodWorker(const PodEnvironment& environment, PodRecord record)
    : environment_(environment), record_(std::move(record)) {
  for (const pod::Container& container : record_.pod.init_containers) {
    init_.push_back(std::make_unique<ContainerRunner>(environment_, record_.pod, container,
                                                      Observe(container.name)));
  }
  for (const pod::Container& container : record_.pod.containers) {
    apps_.push_back(std::make_unique<ContainerRunner>(environment_, record_.pod, container,
                                                      Observe(container.name)));
  }
}

ContainerRunner::Observer PodWorker::Observe(const std::string& container) {
  return {.changed = [this] { ScheduleAdvance(); },
          .save =
              [this, container](const std::optional<runtime::ContainerIdentity>& identity,
                                PodStore::Done done) {
                record_.processes.erase(container);
                if (identity) record_.processes[container] = *identity;
                CopyStates();
                Save(std::move(done));
              }};
}

void PodWorker::ForEach(const std::function<void(ContainerRunner&, pod::ContainerStatus*)>& visit) {
  const auto visit_all = [&visit](Runners& runners, std::vector<pod::ContainerStatus>& statuses) {
    for (size_t i = 0; i < runners.size(); ++i) {
      visit(*runners[i], i < statuses.size() ? &statuses[i] : nullptr);
    }
  };
  visit_all(init_, record_.status.init_containers);
  visit_all(apps_, record_.status.containers);
}

void PodWorker::Admit(Done answered) {
  answered_ = std::move(answered);
  record_.status.start_time = environment_.clock.WallNow();
  record_.status.init_containers = NewStatuses(record_.pod.init_containers);
  record_.status.containers = NewStatuses(record_.pod.containers);
  AskDevices();
}

void PodWorker::AskDevices() {
  step_ = Step::kAdmitting;
  std::vector<std::string> running;
  ForEach([&running](ContainerRunner& runner, pod::ContainerStatus*) {
    if (runner.running()) running.push_back(runner.name());
  });
  environment_.devices.Admit(
      record_.pod, running,
      [this, alive = std::weak_ptr<const bool>(alive_)](const manager::AdmitResult& result) {
        if (!alive.expired() && step_ == Step::kAdmitting) OnAdmitted(result);
      });
}

void PodWorker::OnAdmitted(const manager::AdmitResult& result) {
  if (!result.admitted) return Refuse(result);
  for (const ContainerResources& held : environment_.devices.Held(record_.pod)) {
    ForEach([&held](ContainerRunner& runner, pod::ContainerStatus* status) {
      if (status && runner.name() == held.name) status->allocated_devices = held.devices;
    });
  }
  environment_.log.Info("pod admitted",
                        {{"pod", record_.pod.FullName()}, {"uid", record_.pod.uid}});
  Save([this, alive = std::weak_ptr<const bool>(alive_)](const Result<void>& saved) {
    if (!alive.expired() && step_ == Step::kAdmitting) OnAdmissionSaved(saved);
  });
}

void PodWorker::OnAdmissionSaved(const Result<void>& result) {
  // A pod that is not on disk would leave its containers behind at the next restart.
  if (!result) {
    return Refuse({.reason = "UnexpectedAdmissionError", .message = result.error().message()});
  }
  step_ = Step::kActive;
  ScheduleAdvance();
  Answer();
}

/// Source: kubernetes pkg/kubelet/kubelet.go, rejectPod: for good, whoever made the pod makes
/// another one.
void PodWorker::Refuse(const manager::AdmitResult& result) {
  environment_.log.Warning("pod refused", {{"pod", record_.pod.FullName()},
                                           {"uid", record_.pod.uid},
                                           {"reason", result.reason},
                                           {"message", result.message}});
  step_ = Step::kEnding;
  record_.status.phase = pod::Phase::kFailed;
  record_.status.reason = result.reason;
  record_.status.message = "Pod was rejected: " + result.message;
  if (record_.processes.empty()) {
    record_.status.init_containers.clear();
    record_.status.containers.clear();
  }
  StopAll(record_.pod.termination_grace);
  Save([this, alive = std::weak_ptr<const bool>(alive_)](const Result<void>& saved) {
    if (alive.expired()) return;
    if (!saved) {
      environment_.log.Error("pod record cannot be written", {{"why", saved.error().message()}});
    }
    Answer();
  });
}

void PodWorker::Answer() {
  if (const Done answered = std::exchange(answered_, nullptr)) answered();
}

void PodWorker::Recover() {
  if (record_.status.terminal() && record_.processes.empty()) {
    step_ = Step::kTerminal;
    return;
  }
  step_ = Step::kRecovering;
  ForEach([this](ContainerRunner& runner, pod::ContainerStatus* status) {
    const auto process = record_.processes.find(runner.name());
    runner.Recover(status ? *status : pod::ContainerStatus{}, process == record_.processes.end()
                                                                  ? std::nullopt
                                                                  : std::optional(process->second));
  });
  ScheduleAdvance();
}

void PodWorker::ScheduleAdvance() {
  if (advance_.pending()) return;
  advance_ = environment_.loop.timers().After(base::Duration::zero(), [this] { Advance(); });
}

void PodWorker::Advance() {
  CopyStates();
  switch (step_) {
    case Step::kNew:
    case Step::kAdmitting:
    case Step::kTerminal:
    case Step::kRemoving:
    case Step::kRemoved:
      return;
    case Step::kRecovering:
      FinishRecovery();
      break;
    case Step::kActive:
      StartContainers();
      if (HasRun()) record_.status.phase = pod::Phase::kRunning;
      if (!FinalPhase()) break;
      BeginEnd();
      [[fallthrough]];
    case Step::kEnding:
      StopInOrder();
      if (AllEnded()) EnterTerminal();
      break;
    case Step::kDeleting:
      StopInOrder();
      if (AllEnded()) return FinishDelete();
      break;
  }
  SaveIfChanged();
}

void PodWorker::FinishRecovery() {
  bool known = true;
  ForEach([&known](ContainerRunner& runner, pod::ContainerStatus*) {
    known = known && (runner.idle() || runner.running() || runner.ended());
  });
  if (!known) return;
  const bool refused = record_.status.terminal();
  if (!refused && HasRun()) record_.status.phase = pod::Phase::kRunning;
  if (!refused && !FinalPhase()) return AskDevices();
  // It was refused, or ended while nobody looked: whatever still runs of it has to go.
  BeginEnd();
}

/// The init containers one after the other, then all containers. A sidecar lets the next one start
/// when it runs, and does not hold it up when it has to be started again.
void PodWorker::StartContainers() {
  const auto start = [this](ContainerRunner& runner) {
    if (runner.idle()) runner.Start();
    if (IsToRestart(runner)) runner.Restart();
  };
  for (size_t i = 0; i < init_.size(); ++i) {
    ContainerRunner& runner = *init_[i];
    if (!runner.sidecar() && Succeeded(runner)) continue;
    start(runner);
    if (!runner.sidecar() || !(runner.running() || IsPassed(i))) return;
  }
  for (const auto& runner : apps_)
    start(*runner);
}

bool PodWorker::IsPassed(size_t init) const {
  return HasRun() ||
         std::any_of(init_.begin() + static_cast<ptrdiff_t>(init) + 1, init_.end(), HasStarted);
}

bool PodWorker::HasRun() const {
  return std::any_of(apps_.begin(), apps_.end(), HasStarted);
}

/// Source: kubernetes pkg/kubelet/container/helpers.go, ShouldContainerBeRestarted.
bool PodWorker::IsToRestart(const ContainerRunner& runner) const {
  if (!runner.ended() || runner.state().kind != Kind::kTerminated) return false;
  if (runner.sidecar()) return true;
  const bool is_init = std::any_of(init_.begin(), init_.end(),
                                   [&runner](const auto& init) { return init.get() == &runner; });
  switch (record_.pod.restart_policy) {
    case pod::RestartPolicy::kNever:
      return false;
    case pod::RestartPolicy::kOnFailure:
      return !Succeeded(runner);
    case pod::RestartPolicy::kAlways:
      return !is_init || !Succeeded(runner);
  }
  return false;
}

/// Source: kubernetes pkg/kubelet/kubelet_pods.go, getPhase.
std::optional<pod::Phase> PodWorker::FinalPhase() const {
  const auto ended = [this](const auto& runner) {
    return runner->ended() && !IsToRestart(*runner);
  };
  const auto failed = [&ended](const auto& runner) { return ended(runner) && !Succeeded(*runner); };
  const auto init_failed = [&failed](const auto& runner) {
    return !runner->sidecar() && failed(runner);
  };
  if (std::any_of(init_.begin(), init_.end(), init_failed)) return pod::Phase::kFailed;
  if (!std::all_of(apps_.begin(), apps_.end(), ended)) return std::nullopt;
  return std::any_of(apps_.begin(), apps_.end(), failed) ? pod::Phase::kFailed
                                                         : pod::Phase::kSucceeded;
}

void PodWorker::BeginEnd() {
  step_ = Step::kEnding;
  StopAll(record_.pod.termination_grace);
}

void PodWorker::EnterTerminal() {
  step_ = Step::kTerminal;
  // A pod that was refused has its phase already.
  if (!record_.status.terminal()) record_.status.phase = *FinalPhase();
  environment_.devices.Remove(record_.pod.uid);
  RemoveShared([] {});
  ForEach([](ContainerRunner&, pod::ContainerStatus* status) {
    if (status) status->allocated_devices.clear();
  });
  environment_.log.Info("pod ended", {{"pod", record_.pod.FullName()},
                                      {"phase", pod::PhaseName(record_.status.phase)}});
}

void PodWorker::Delete(base::Duration grace, Done gone) {
  gone_.push_back(std::move(gone));
  if (step_ == Step::kRemoving) return;
  // An admission under way ends here: its answer finds another step.
  if (step_ == Step::kAdmitting) environment_.devices.Remove(record_.pod.uid);
  step_ = Step::kDeleting;
  record_.deleting = true;
  StopAll(grace);
  SaveIfChanged();
}

void PodWorker::FinishDelete() {
  step_ = Step::kRemoving;
  RemoveShared([this] { RemoveRecord(); });
}

void PodWorker::RemoveShared(Done done) {
  if (!environment_.runtime) return done();
  removal_ = environment_.runtime->RemovePod(record_.pod.uid, [this, done = std::move(done)](
                                                                  const Result<void>& removed) {
    if (!removed) {
      environment_.log.Error("what the pod's containers shared cannot be removed",
                             {{"pod", record_.pod.FullName()}, {"why", removed.error().message()}});
    }
    done();
  });
}

void PodWorker::RemoveRecord() {
  environment_.devices.Remove(record_.pod.uid);
  environment_.store.Remove(record_.pod.uid, [this, alive = std::weak_ptr<const bool>(alive_)](
                                                 const Result<void>& removed) {
    if (alive.expired()) return;
    if (!removed) {
      environment_.log.Error("pod directory stays behind", {{"why", removed.error().message()}});
    }
    environment_.log.Info("pod deleted", {{"pod", record_.pod.FullName()}});
    step_ = Step::kRemoved;
    Answer();
    const std::vector<Done> gone = std::move(gone_);
    for (const Done& done : gone)
      done();  // The first one may destroy this.
  });
}

void PodWorker::CopyStates() {
  ForEach([this](ContainerRunner& runner, pod::ContainerStatus* status) {
    if (!status) return;
    status->state = runner.state();
    status->last_state = runner.last_state();
    status->restart_count = runner.restarts();
    // What it was is no more: after a restart nobody shall look for it.
    if (runner.between_runs()) record_.processes.erase(runner.name());
    const auto made = record_.processes.find(runner.name());
    if (made != record_.processes.end()) status->container_id = made->second.name;
  });
}

void PodWorker::StopAll(base::Duration grace) {
  const base::MonotonicTime until = environment_.clock.Now() + grace;
  if (!stop_grace_ || until < stop_until_) {
    stop_grace_ = grace;
    stop_until_ = until;
    ForEach([grace](ContainerRunner& runner, pod::ContainerStatus*) {
      if (runner.stopping()) runner.Stop(grace);
    });
  }
  StopInOrder();
  ScheduleAdvance();
}

/// Sidecars serve the others to the end, and those before them: each is stopped when all that
/// started after it have ended, with what is left of the grace period.
/// Source: kubernetes pkg/kubelet/kuberuntime/kuberuntime_termination_order.go.
void PodWorker::StopInOrder() {
  const base::Duration left =
      std::max(stop_until_ - environment_.clock.Now(), base::Duration::zero());
  bool ended = true;
  const auto stop = [&ended](ContainerRunner& runner, base::Duration grace) {
    if (!runner.stopping()) runner.Stop(grace);
    ended = ended && runner.ended();
  };
  ForEach([&stop, left](ContainerRunner& runner, pod::ContainerStatus*) {
    if (!runner.sidecar()) stop(runner, left);
  });
  const base::Duration grace = std::max(left, std::min(kLeastGrace, *stop_grace_));
  for (auto init = init_.rbegin(); init != init_.rend() && ended; ++init)
    if ((*init)->sidecar()) stop(**init, grace);
}

bool PodWorker::AllEnded() const {
  const auto ended = [](const auto& runner) { return runner->ended(); };
  return std::all_of(init_.begin(), init_.end(), ended) &&
         std::all_of(apps_.begin(), apps_.end(), ended);
}

void PodWorker::Save(PodStore::Done done) {
  saved_ = record_;
  environment_.store.Save(record_, std::move(done));
}

void PodWorker::SaveIfChanged() {
  if (record_ == saved_) return;
  Save([&log = environment_.log](const Result<void>& saved) {
    if (!saved) log.Error("pod record cannot be written", {{"why", saved.error().message()}});
  });
}

}  // namespace tenon::kubelet
