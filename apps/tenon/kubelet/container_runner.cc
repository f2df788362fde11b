#include "tenon/kubelet/container_runner.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/strings.h"
#include "runtime/image_dir.h"
#include "runtime/oci_config.h"
#include "value/value.h"

namespace tenon::kubelet {
namespace {

using Kind = pod::ContainerState::Kind;

/// Source: kubernetes pkg/kubelet/kuberuntime and pkg/kubelet/images, the reasons of waiting and
/// ended containers.
constexpr std::string_view kConfigError = "CreateContainerConfigError";
constexpr std::string_view kImageError = "ErrImageNeverPull";
constexpr int kStartErrorCode = 128;
constexpr int kUnknownCode = 137;

/// Retries of what somebody has to mend: from half a second to half a minute apart.
constexpr loop::Backoff::Options kRetries = {.first = std::chrono::milliseconds(500),
                                             .most = std::chrono::seconds(30)};

/// Source: kubernetes pkg/kubelet/util, truncatePodHostnameIfNeeded.
std::string HostnameOf(const pod::Pod& pod) {
  std::string name = pod.name.substr(0, 63);
  while (name.ends_with('-') || name.ends_with('.'))
    name.pop_back();
  return name;
}

Result<void> WriteText(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text << std::flush;
  if (!file) return Error(Code::kInternal, path + " cannot be written");
  return {};
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
  state_ = Waiting("ContainerCreating");
  if (!environment_.runtime) state_.message = "--runtime none: containers are not started";
  observer_.changed();
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
  const auto rootfs = runtime::FindImage(environment_.image_dir, container_.image);
  if (!rootfs) {
    return RetryLater(
        std::string(kImageError),
        "Container image \"" + container_.image +
            "\" is not present with pull policy of Never: " + rootfs.error().message());
  }
  if (auto written = WriteBundle(*allocation, *rootfs); !written) {
    return RetryLater(std::string(kConfigError), written.error().message());
  }
  Create();
}

Result<void> ContainerRunner::WriteBundle(const ContainerAllocation& allocation,
                                          const std::string& rootfs) {
  TENON_TRY(auto image, host::PosixHost::Open(rootfs));
  const runtime::OciOptions options{.rootfs = rootfs,
                                    .cgroups_path = "/tenon/" + pod_.uid + "/" + container_.name,
                                    .hostname = HostnameOf(pod_),
                                    .cdi_directories = environment_.cdi_directories};
  TENON_TRY(const Value config,
            runtime::BuildOciConfig(container_, allocation, options, environment_.machine, *image));
  const std::string bundle = environment_.store.ContainerDirectory(pod_.uid, container_.name);
  std::error_code error;
  std::filesystem::create_directories(bundle, error);
  if (error) return Error(Code::kInternal, "mkdir " + bundle + ": " + error.message());
  return WriteText(base::JoinPath(bundle, "config.json"), ToJson(config, /*indent=*/true));
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

void ContainerRunner::Create() {
  step_ = Step::kCreating;
  call_ = environment_.runtime->Create(
      {.id = id(),
       .bundle = environment_.store.ContainerDirectory(pod_.uid, container_.name),
       .log_path = environment_.store.OutputPath(pod_.uid, container_.name)},
      [this](const Result<runtime::ProcessIdentity>& process) { OnCreated(process); });
}

void ContainerRunner::OnCreated(const Result<runtime::ProcessIdentity>& process) {
  if (!process) return FailStart(process.error().message());
  if (auto watched = Watch(*process); !watched) return FailStart(watched.error().message());
  step_ = Step::kSaving;
  observer_.save(*process,
                 [this, alive = std::weak_ptr<const bool>(alive_)](const Result<void>& result) {
                   if (!alive.expired()) OnSaved(result);
                 });
}

Result<void> ContainerRunner::Watch(const runtime::ProcessIdentity& process) {
  TENON_TRY(watch_,
            runtime::ProcessWatch::Open(environment_.loop, process,
                                        [this](runtime::ProcessExit exit) { OnExit(exit); }));
  return {};
}

void ContainerRunner::OnSaved(const Result<void>& result) {
  // Without a record the kubelet could not find the container again after a restart.
  if (!result) return FailStart(result.error().message());
  if (stopping() || early_exit_) return FailStart("it was ended before its program was started");
  step_ = Step::kStarting;
  call_ = environment_.runtime->Start(id(),
                                      [this](const Result<void>& started) { OnStarted(started); });
}

void ContainerRunner::OnStarted(const Result<void>& result) {
  if (!result) return FailStart(result.error().message());
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

void ContainerRunner::OnExit(const runtime::ProcessExit& exit) {
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

void ContainerRunner::Recover(const pod::ContainerState& state,
                              const std::optional<runtime::ProcessIdentity>& process) {
  state_ = state;
  if (!environment_.runtime) {
    step_ = state.kind == Kind::kTerminated ? Step::kEnded : Step::kIdle;
    return;
  }
  if (state.kind == Kind::kTerminated) return Remove(Step::kEnded);
  AskRuntime(process);
}

void ContainerRunner::AskRuntime(std::optional<runtime::ProcessIdentity> process) {
  step_ = Step::kRecovering;
  call_ = environment_.runtime->Query(id(),
                                      [this, process](Result<runtime::ContainerPresence> presence) {
                                        OnQueried(std::move(presence), process);
                                      });
}

void ContainerRunner::OnQueried(Result<runtime::ContainerPresence> presence,
                                const std::optional<runtime::ProcessIdentity>& process) {
  if (!presence) {
    environment_.log.Error("container cannot be looked at, trying again",
                           {{"container", id()}, {"why", presence.error().message()}});
    timer_ =
        environment_.loop.timers().After(backoff_.Next(), [this, process] { AskRuntime(process); });
    return;
  }
  // No process on record, or one that still waits to be told: the program has never run.
  if (!process || *presence == runtime::ContainerPresence::kCreated) return Remove(Step::kIdle);
  if (*presence == runtime::ContainerPresence::kRunning && Watch(*process)) {
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
  if (grace > base::Duration::zero()) watch_->Kill(SIGTERM);
  timer_ = environment_.loop.timers().After(grace, [this] { watch_->Kill(SIGKILL); });
}

}  // namespace tenon::kubelet
