#include "tenon/kubelet/container_runner.h"

#include <filesystem>
#include <utility>

namespace tenon::kubelet {
namespace {

using Kind = pod::ContainerState::Kind;

/// Source: kubernetes pkg/kubelet/kuberuntime and pkg/kubelet/images, the reasons of waiting and
/// ended containers.
constexpr std::string_view kConfigError = "CreateContainerConfigError";
constexpr std::string_view kCreateError = "CreateContainerError";
constexpr std::string_view kImageError = "ErrImageNeverPull";
constexpr int kStartErrorCode = 128;
constexpr int kUnknownCode = 137;

/// Retries of what somebody has to mend: from half a second to half a minute apart.
constexpr loop::Backoff::Options kRetries = {.first = std::chrono::milliseconds(500),
                                             .most = std::chrono::seconds(30)};

/// Why a container that could not be made waits.
std::string_view WaitReason(Code code) {
  if (code == Code::kNotFound) return kImageError;
  return code == Code::kInvalidArgument ? kConfigError : kCreateError;
}

pod::ContainerState Waiting(std::string_view reason, std::string message = "") {
  return {.kind = Kind::kWaiting, .reason = std::string(reason), .message = std::move(message)};
}

}  // namespace

ContainerRunner::ContainerRunner(const PodEnvironment& environment, const pod::Pod& pod,
                                 const pod::Container& container, Observer observer)
    : environment_(environment),
      pod_(pod),
      container_(container),
      observer_(std::move(observer)),
      state_(Waiting("PodInitializing")),
      backoff_(kRetries, std::hash<std::string>()(id())) {}

void ContainerRunner::Start() {
  pod::ContainerState state = Waiting("ContainerCreating");
  if (!environment_.runtime) state.message = "--runtime none: containers are not started";
  if (state_ != state) {
    state_ = std::move(state);
    observer_.changed();
  }
  if (environment_.runtime) Prepare();
}

void ContainerRunner::Prepare() {
  step_ = Step::kPreparing;
  environment_.devices.PrepareStart(pod_.uid, container_.name,
                                    [this, alive = std::weak_ptr<const bool>(alive_)](
                                        const Result<ContainerAllocation>& allocation) {
                                      if (!alive.expired() && step_ == Step::kPreparing)
                                        OnPrepared(allocation);
                                    });
}

void ContainerRunner::OnPrepared(const Result<ContainerAllocation>& allocation) {
  if (!allocation) return RetryLater(std::string(kConfigError), allocation.error().message());
  // Runtimes write the container's output there; and whose record is lost is known by it.
  const std::string directory = environment_.store.ContainerDirectory(pod_.uid, container_.name);
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    return RetryLater(std::string(kConfigError), "mkdir " + directory + ": " + error.message());
  step_ = Step::kCreating;
  call_ = environment_.runtime->Create(
      {.id = id(),
       .pod = pod_,
       .container = container_,
       .allocation = *allocation,
       .attempt = restarts_,
       .directory = directory,
       .log_path = environment_.store.OutputPath(pod_.uid, container_.name)},
      [this](const Result<runtime::ContainerIdentity>& identity) { OnCreated(identity); });
}

void ContainerRunner::RetryLater(const std::string& reason, std::string message) {
  step_ = Step::kRetrying;
  timer_ = environment_.loop.timers().After(backoff_.Next(), [this] { Prepare(); });
  const pod::ContainerState state = Waiting(reason, std::move(message));
  if (state == state_) return;
  state_ = state;
  environment_.log.Warning("container waits", {{"pod", pod_.FullName()},
                                               {"container", container_.name},
                                               {"reason", state_.reason},
                                               {"message", state_.message}});
  observer_.changed();
}

void ContainerRunner::OnCreated(const Result<runtime::ContainerIdentity>& identity) {
  if (!identity) return OnCreateFailed(identity.error());
  identity_ = *identity;
  if (auto watched = Watch(); !watched) return FailStart(watched.error().message());
  step_ = Step::kSaving;
  observer_.save(identity_,
                 [this, alive = std::weak_ptr<const bool>(alive_)](const Result<void>& result) {
                   if (!alive.expired()) OnSaved(result);
                 });
}

void ContainerRunner::OnCreateFailed(const Error& error) {
  const bool can_be_mended = error.code() == Code::kNotFound ||
                             error.code() == Code::kInvalidArgument ||
                             error.code() == Code::kUnavailable;
  if (!can_be_mended) return FailStart(error.message());
  if (stopping()) {
    step_ = Step::kEnded;
    return observer_.changed();
  }
  std::string message = error.message();
  if (error.code() == Code::kNotFound) {
    message = "Container image \"" + container_.image +
              "\" is not present with pull policy of Never: " + message;
  }
  RetryLater(std::string(WaitReason(error.code())), std::move(message));
}

Result<void> ContainerRunner::Watch() {
  TENON_TRY(watch_, environment_.runtime->Watch(
                        identity_, [this](const runtime::ContainerExit& exit) { OnExit(exit); }));
  return {};
}

void ContainerRunner::OnSaved(const Result<void>& result) {
  // Without a record the kubelet could not find the container again after a restart.
  if (!result) return FailStart(result.error().message());
  if (stopping() || early_exit_) return FailStart("it was ended before its program was started");
  step_ = Step::kStarting;
  call_ = environment_.runtime->Start(identity_,
                                      [this](const Result<void>& started) { OnStarted(started); });
}

void ContainerRunner::OnStarted(const Result<void>& result) {
  if (!result) return FailStart(result.error().message());
  started_ = environment_.clock.Now();
  SetRunning(environment_.clock.WallNow());
  environment_.log.Info("container started",
                        {{"pod", pod_.FullName()}, {"container", container_.name}});
  if (early_exit_) return OnExit(*early_exit_);
  if (stopping()) ArmKill(*stop_);
}

void ContainerRunner::SetRunning(base::WallTime since) {
  step_ = Step::kRunning;
  state_ = {.kind = Kind::kRunning, .started_at = since};
  observer_.changed();
}

void ContainerRunner::FailStart(std::string message) {
  const base::WallTime now = environment_.clock.WallNow();
  Terminate({.kind = Kind::kTerminated,
             .reason = "StartError",
             .message = std::move(message),
             .exit_code = kStartErrorCode,
             .finished_at = now});
}

void ContainerRunner::OnExit(const runtime::ContainerExit& exit) {
  if (step_ == Step::kSaving || step_ == Step::kStarting) {
    early_exit_ = exit;
    return;
  }
  if (step_ != Step::kRunning) return;
  pod::ContainerState state{.kind = Kind::kTerminated,
                            .started_at = state_.started_at,
                            .finished_at = environment_.clock.WallNow()};
  if (exit.exit_code) {
    state.exit_code = *exit.exit_code;
    state.signal = exit.signal;
    state.reason = *exit.exit_code == 0 ? "Completed" : "Error";
    if (!exit.reason.empty()) state.reason = exit.reason;
    state.message = exit.message;
  } else {
    state.exit_code = kUnknownCode;
    state.reason = "ContainerStatusUnknown";
    state.message = "it ended, and as the kubelet had been restarted its exit code is not known";
  }
  Terminate(std::move(state));
}

void ContainerRunner::Terminate(pod::ContainerState state) {
  timer_.Cancel();
  state_ = std::move(state);
  base::LogFields fields = {{"pod", pod_.FullName()},
                            {"container", container_.name},
                            {"reason", state_.reason},
                            {"exitCode", state_.exit_code}};
  if (!state_.message.empty()) fields.emplace_back("message", state_.message);
  environment_.log.Info("container ended", fields);
  Remove(Step::kEnded);
  observer_.changed();
}

void ContainerRunner::Remove(Step then) {
  step_ = Step::kRemoving;
  call_ = environment_.runtime->Delete(id(), [this, then](const Result<void>& result) {
    if (!result) {
      // Its devices are not free as long as anything of it may be alive.
      environment_.log.Error("container cannot be removed, trying again",
                             {{"container", id()}, {"why", result.error().message()}});
      timer_ = environment_.loop.timers().After(backoff_.Next(), [this, then] { Remove(then); });
      return;
    }
    watch_.reset();
    step_ = then;
    if (then == Step::kIdle && stopping()) step_ = Step::kEnded;
    observer_.changed();
  });
}

void ContainerRunner::Restart() {
  last_state_ = state_;
  ++restarts_;
  early_exit_.reset();
  backoff_.Reset();
  const base::Duration delay = crashes_.Next(started_, environment_.clock.Now());
  state_ = Waiting("ContainerCreating");
  if (delay > base::Duration::zero()) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(delay).count();
    state_ = Waiting("CrashLoopBackOff", "back-off " + std::to_string(seconds) +
                                             "s restarting failed container=" + container_.name +
                                             " pod=" + pod_.name + "_" + pod_.namespace_name + "(" +
                                             pod_.uid + ")");
  }
  step_ = Step::kRetrying;
  timer_ = environment_.loop.timers().After(delay, [this] { Prepare(); });
  observer_.changed();
}

void ContainerRunner::Recover(const pod::ContainerStatus& status,
                              const std::optional<runtime::ContainerIdentity>& identity) {
  state_ = status.state;
  last_state_ = status.last_state;
  restarts_ = status.restart_count;
  const bool terminated = state_.kind == Kind::kTerminated;
  if (!environment_.runtime) {
    step_ = terminated ? Step::kEnded : Step::kIdle;
    return;
  }
  if (terminated) return Remove(Step::kEnded);
  if (!identity) return Remove(Step::kIdle);
  identity_ = *identity;
  AskRuntime();
}

void ContainerRunner::AskRuntime() {
  step_ = Step::kRecovering;
  call_ = environment_.runtime->Query(
      identity_,
      [this](const Result<runtime::ContainerPresence>& presence) { OnQueried(presence); });
}

void ContainerRunner::OnQueried(const Result<runtime::ContainerPresence>& presence) {
  if (!presence) {
    environment_.log.Error("container cannot be looked at, trying again",
                           {{"container", id()}, {"why", presence.error().message()}});
    timer_ = environment_.loop.timers().After(backoff_.Next(), [this] { AskRuntime(); });
    return;
  }
  if (*presence == runtime::ContainerPresence::kCreated) return ForgetUnstarted();
  // Some runtimes can still tell how one that has ended did so.
  if (*presence != runtime::ContainerPresence::kAbsent && Watch()) {
    // It was started, though the record may not say so yet.
    const bool told = state_.started_at != base::WallTime{};
    SetRunning(told ? state_.started_at : environment_.clock.WallNow());
    environment_.log.Info("container runs on",
                          {{"pod", pod_.FullName()}, {"container", container_.name}});
    if (stopping()) ArmKill(*stop_);
    return;
  }
  step_ = Step::kRunning;
  OnExit({});
}

/// A kubelet that finds it on record and gone takes it for one that has run and ended, so it has to
/// be off the record before it goes.
void ContainerRunner::ForgetUnstarted() {
  observer_.save(std::nullopt, [this, alive = std::weak_ptr<const bool>(alive_)](
                                   const Result<void>& result) {
    if (alive.expired()) return;
    if (!result)
      environment_.log.Error("pod record cannot be written", {{"why", result.error().message()}});
    Remove(Step::kIdle);
  });
}

void ContainerRunner::Stop(base::Duration grace) {
  const bool again = stopping();
  if (again && grace >= *stop_) return;
  stop_ = grace;
  switch (step_) {
    case Step::kIdle:
    case Step::kPreparing:
    case Step::kRetrying:
      timer_.Cancel();
      step_ = Step::kEnded;
      observer_.changed();
      return;
    case Step::kRunning:
      ArmKill(grace);
      return;
    case Step::kRecovering:
    case Step::kCreating:
    case Step::kSaving:
    case Step::kStarting:
    case Step::kRemoving:
    case Step::kEnded:
      return;  // Seen when the step is done.
  }
}

void ContainerRunner::ArmKill(base::Duration grace) {
  if (grace > base::Duration::zero()) watch_->Terminate();
  timer_ = environment_.loop.timers().After(grace, [this] { watch_->Kill(); });
}

}  // namespace tenon::kubelet
