#include "runtime/cri_runtime.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <utility>

#include "base/strings.h"
#include "cdi/resolve.h"
#include "runtime/runc.h"

namespace tenon::runtime {
namespace {

/// Source: kubelet/config/v1beta1 KubeletConfiguration, runtimeRequestTimeout.
constexpr base::Duration kDeadline = std::chrono::minutes(2);
/// Between looks at a container: CRI tells of ends only those who ask.
constexpr base::Duration kLook = std::chrono::milliseconds(500);
/// Between looks at a sandbox that another container of the pod has being made.
constexpr base::Duration kWaitForSandbox = std::chrono::milliseconds(50);
/// Until a container that was told to end is killed: we do that ourselves when it is time.
constexpr std::chrono::hours kNever(24);

constexpr const char* kContainerdSocket = "/run/containerd/containerd.sock";
constexpr const char* kUidLabel = "io.kubernetes.pod.uid";
constexpr const char* kContainerLabel = "io.kubernetes.container.name";

/// The labels of the container that we call `id`; a uid has no dot.
cri::Labels LabelsOf(const std::string& id) {
  const size_t dot = id.find('.');
  return {{kUidLabel, id.substr(0, dot)}, {kContainerLabel, id.substr(dot + 1)}};
}

/// Several calls one after the other; destroying it gives the present one up.
class Sequence : public RuntimeCall {
 public:
  using Answer = std::function<void(Result<std::string>)>;

  explicit Sequence(cri::Client& client) : client_(client) {}

  void Ask(std::string_view method, std::string request, Answer answer,
           base::Duration deadline = kDeadline) {
    call_ = client_.Call(method, std::move(request), deadline, std::move(answer));
  }

 private:
  cri::Client& client_;
  std::unique_ptr<rpc::ClientCall> call_;
};

Result<void> ToVoid(const Result<std::string>& answer) {
  if (!answer) return answer.error();
  return {};
}

/// Calls one method for each of several ids, one after the other. What is gone already is fine.
class ForEachId final : public Sequence {
 public:
  ForEachId(cri::Client& client, std::vector<std::string_view> methods, ContainerRuntime::Done done)
      : Sequence(client), methods_(std::move(methods)), done_(std::move(done)) {}

  /// Begins by asking for the ids.
  void Start(std::string_view list, std::string request,
             std::function<Result<std::vector<std::string>>(std::string_view)> decode) {
    Ask(list, std::move(request),
        [this, decode = std::move(decode)](const Result<std::string>& answer) {
          if (!answer) return End(answer.error());
          auto ids = decode(*answer);
          if (!ids) return End(std::move(ids).error());
          ids_ = *std::move(ids);
          Next();
        });
  }

 private:
  void Next() {
    if (step_ == ids_.size() * methods_.size()) return End({});
    const std::string& id = ids_[step_ / methods_.size()];
    const std::string_view method = methods_[step_ % methods_.size()];
    ++step_;
    Ask(method, cri::EncodeIdRequest(id), [this](const Result<std::string>& answer) {
      if (!answer && answer.error().code() != Code::kNotFound) return End(answer.error());
      Next();
    });
  }
  /// May destroy this.
  void End(const Result<void>& result) { std::exchange(done_, nullptr)(result); }

  const std::vector<std::string_view> methods_;
  ContainerRuntime::Done done_;
  std::vector<std::string> ids_;
  size_t step_ = 0;
};

Result<std::vector<std::string>> DecodeContainerIds(std::string_view bytes) {
  TENON_TRY(const auto containers, cri::DecodeListContainers(bytes));
  std::vector<std::string> out;
  for (const cri::ListedContainer& container : containers)
    out.push_back(container.id);
  return out;
}

Result<std::vector<std::string>> DecodeSandboxIds(std::string_view bytes) {
  TENON_TRY(const auto sandboxes, cri::DecodeListPodSandbox(bytes));
  std::vector<std::string> out;
  for (const cri::ListedSandbox& sandbox : sandboxes)
    out.push_back(sandbox.id);
  return out;
}

Result<ContainerPresence> DecodePresence(const Result<std::string>& answer) {
  if (!answer && answer.error().code() == Code::kNotFound) return ContainerPresence::kAbsent;
  if (!answer) return answer.error();
  TENON_TRY(const auto status, cri::DecodeContainerStatus(*answer));
  if (!status) return ContainerPresence::kAbsent;
  switch (status->state) {
    case cri::ContainerState::kCreated:
      return ContainerPresence::kCreated;
    case cri::ContainerState::kRunning:
      return ContainerPresence::kRunning;
    case cri::ContainerState::kExited:
    case cri::ContainerState::kUnknown:
      break;
  }
  return ContainerPresence::kStopped;
}

/// Looks at a container now and then until it has ended.
class CriWatch final : public ContainerWatch {
 public:
  CriWatch(loop::EventLoop& loop, cri::Client& client, std::string id,
           ContainerRuntime::ExitFn exited)
      : loop_(loop), client_(client), id_(std::move(id)), exited_(std::move(exited)) {
    LookAfter(base::Duration::zero());
  }

  void Terminate() override { Stop(kNever); }
  void Kill() override { Stop(std::chrono::hours(0)); }

 private:
  void LookAfter(base::Duration delay) {
    timer_ = loop_.timers().After(delay, [this] { Look(); });
  }
  void Look() {
    look_ = client_.Call(cri::kContainerStatus, cri::EncodeIdRequest(id_), kDeadline,
                         [this](const Result<std::string>& answer) { OnStatus(answer); });
  }
  void OnStatus(const Result<std::string>& answer) {
    // Whoever removed it has seen how it ended; we have not.
    if (!answer && answer.error().code() == Code::kNotFound) return End({});
    if (!answer) return LookAfter(kLook);  // The runtime is being restarted.
    const auto status = cri::DecodeContainerStatus(*answer);
    if (!status || !*status || (*status)->state == cri::ContainerState::kCreated ||
        (*status)->state == cri::ContainerState::kRunning) {
      return LookAfter(kLook);
    }
    End({.exit_code = (*status)->exit_code,
         .reason = (*status)->reason,
         .message = (*status)->message});
  }
  /// May destroy this.
  void End(const ContainerExit& exit) {
    if (exited_) std::exchange(exited_, nullptr)(exit);
  }
  void Stop(std::chrono::seconds timeout) {
    stop_ = client_.Call(cri::kStopContainer, cri::EncodeStopContainerRequest(id_, timeout.count()),
                         timeout + kDeadline, [](const Result<std::string>&) {});
    if (timeout.count() == 0) LookAfter(std::chrono::milliseconds(20));
  }

  loop::EventLoop& loop_;
  cri::Client& client_;
  const std::string id_;
  ContainerRuntime::ExitFn exited_;
  loop::TimerHandle timer_;
  std::unique_ptr<rpc::ClientCall> look_;
  std::unique_ptr<rpc::ClientCall> stop_;
};

/// Whether a runtime looks CDI names up itself, by default. Source: containerd 2.0 and CRI-O 1.28
/// release notes.
bool KnowsCdi(const cri::RuntimeVersion& runtime) {
  const size_t digits = runtime.version.find_first_of("0123456789");
  if (digits == std::string::npos) return false;
  const auto parts = base::Split(std::string_view{runtime.version}.substr(digits), '.');
  const int64_t major = base::ParseInt64(parts[0]).value_or(0);
  const int64_t minor = parts.size() > 1 ? base::ParseInt64(parts[1]).value_or(0) : 0;
  if (runtime.name == "containerd") return major >= 2;
  return runtime.name == "cri-o" && (major > 1 || (major == 1 && minor >= 28));
}

}  // namespace

/// The making of one container: its image is there, its pod has a sandbox, it is created in it.
class CriCreate final : public Sequence {
 public:
  CriCreate(CriRuntime& runtime, cri::PodSandboxConfig sandbox, cri::ContainerConfig config,
            ContainerRuntime::CreateDone done)
      : Sequence(runtime.client_),
        runtime_(runtime),
        sandbox_(std::move(sandbox)),
        config_(std::move(config)),
        done_(std::move(done)) {}

  /// Begins, or ends in the next turn with what is wrong with the container.
  void Start(const Result<void>& checked) {
    if (!checked) {
      timer_ = runtime_.loop_.timers().After(base::Duration::zero(),
                                             [this, error = checked.error()] { End(error); });
      return;
    }
    Ask(cri::kImageStatus, cri::EncodeImageStatusRequest(config_.image),
        [this](const Result<std::string>& answer) {
          if (!answer) return Retry(answer.error());
          const auto present = cri::DecodeImageStatus(*answer);
          if (!present) return Retry(present.error());
          if (!*present) {
            return End(Error(Code::kNotFound, runtime_.name_ +
                                                  " has no such image; nothing is pulled, import "
                                                  "it: ctr -n k8s.io images import FILE"));
          }
          FindSandbox();
        });
  }

 private:
  void FindSandbox() {
    std::weak_ptr<const bool>& making = runtime_.making_[sandbox_.uid];
    if (!making.expired()) {
      timer_ = runtime_.loop_.timers().After(kWaitForSandbox, [this] { FindSandbox(); });
      return;
    }
    making_ = std::make_shared<const bool>(true);
    making = making_;
    Ask(cri::kListPodSandbox, cri::EncodeListPodSandboxRequest({{kUidLabel, sandbox_.uid}}),
        [this](const Result<std::string>& answer) { OnSandboxes(answer); });
  }

  void OnSandboxes(const Result<std::string>& answer) {
    if (!answer) return Retry(answer.error());
    const auto sandboxes = cri::DecodeListPodSandbox(*answer);
    if (!sandboxes) return Retry(sandboxes.error());
    for (const cri::ListedSandbox& sandbox : *sandboxes)
      if (sandbox.ready) return CreateIn(sandbox.id);
    if (sandboxes->empty()) return RunSandbox();
    // One of an earlier life of the machine; its name is taken until it is removed.
    Ask(cri::kRemovePodSandbox, cri::EncodeIdRequest(sandboxes->front().id),
        [this](const Result<std::string>& removed) {
          if (!removed) return Retry(removed.error());
          RunSandbox();
        });
  }

  void RunSandbox() {
    Ask(cri::kRunPodSandbox, cri::EncodeRunPodSandboxRequest(sandbox_),
        [this](const Result<std::string>& answer) {
          if (!answer) return Retry(answer.error());
          const auto id = cri::DecodeId(*answer);
          if (!id) return Retry(id.error());
          CreateIn(*id);
        });
  }

  void CreateIn(const std::string& sandbox_id) {
    making_.reset();
    Ask(cri::kCreateContainer, cri::EncodeCreateContainerRequest(sandbox_id, config_, sandbox_),
        [this](const Result<std::string>& answer) {
          if (!answer) return Retry(answer.error());
          const auto id = cri::DecodeId(*answer);
          if (!id) return Retry(id.error());
          End(ContainerIdentity{.name = runtime_.name_ + "://" + *id});
        });
  }

  void Retry(const Error& error) { End(Error(Code::kUnavailable, error.message())); }
  /// May destroy this.
  void End(Result<ContainerIdentity> result) {
    making_.reset();
    std::exchange(done_, nullptr)(std::move(result));
  }

  CriRuntime& runtime_;
  const cri::PodSandboxConfig sandbox_;
  const cri::ContainerConfig config_;
  ContainerRuntime::CreateDone done_;
  std::shared_ptr<const bool> making_;
  loop::TimerHandle timer_;
};

Result<std::unique_ptr<CriRuntime>> CriRuntime::Connect(loop::EventLoop& loop, host::Host& machine,
                                                        Options options) {
  std::unique_ptr<CriRuntime> runtime(new CriRuntime(loop, machine, std::move(options)));
  std::optional<Result<std::string>> answer;
  const auto call =
      runtime->client_.Call(cri::kVersion, cri::EncodeVersionRequest(), std::chrono::seconds(10),
                            [&answer](Result<std::string> result) { answer = std::move(result); });
  loop.RunUntil([&answer] { return answer.has_value(); }, kDeadline);
  auto nobody = [&socket = runtime->options_.socket](const std::string& why) {
    return Error(Code::kFailedPrecondition,
                 "no CRI runtime at " + socket + ": " + why +
                     "; start it, or name its socket (containerd: " + kContainerdSocket + ")");
  };
  if (!answer) return nobody("no answer");
  if (!*answer) return nobody(answer->error().message());
  auto version = cri::DecodeVersion(**answer);
  if (!version) return nobody(version.error().message());
  runtime->name_ = version->name;
  runtime->knows_cdi_ = KnowsCdi(*version);
  return runtime;
}

Result<void> CriRuntime::ResolveCdi(cri::ContainerConfig& config) const {
  if (knows_cdi_ || config.cdi_devices.empty()) return {};
  auto edits = cdi::ResolveDevices(config.cdi_devices, machine_, options_.cdi_directories);
  if (!edits) return Error(Code::kInvalidArgument, edits.error().message());
  if (!edits->hooks.empty() || !edits->additional_gids.empty()) {
    return Error(Code::kInvalidArgument,
                 "CDI device " + config.cdi_devices.front() +
                     ": its spec has hooks or groups, and " + name_ +
                     " knows no CDI; use containerd 2.0 or newer, or --runtime runc");
  }
  for (const cdi::DeviceNodeEdit& device : edits->device_nodes)
    config.device_nodes.push_back({device.path, device.host_path, device.permissions});
  for (const cdi::MountEdit& mount : edits->mounts) {
    if (!mount.type.empty() && mount.type != "bind")
      return Error(Code::kInvalidArgument, "CDI mount at " + mount.container_path + ": " + name_ +
                                               " can be given bind mounts only");
    const bool read_only =
        std::find(mount.options.begin(), mount.options.end(), "ro") != mount.options.end();
    config.mounts.push_back({mount.container_path, mount.host_path, read_only});
  }
  for (const std::string& variable : edits->env) {
    const size_t equals = variable.find('=');
    config.env.emplace_back(variable.substr(0, equals), variable.substr(equals + 1));
  }
  config.cdi_devices.clear();
  return {};
}

ContainerRuntime::Call CriRuntime::Create(const NewContainer& container, CreateDone done) {
  const std::filesystem::path log = container.log_path;
  const std::filesystem::path log_directory = log.parent_path().parent_path();
  const pod::Pod& pod = container.pod;
  cri::PodSandboxConfig sandbox{.name = pod.name,
                                .uid = pod.uid,
                                .namespace_name = pod.namespace_name,
                                .log_directory = log_directory,
                                .cgroup_parent = CgroupOf(pod.uid),
                                .labels = pod.labels,
                                .annotations = pod.annotations};
  sandbox.labels["io.kubernetes.pod.name"] = pod.name;
  sandbox.labels["io.kubernetes.pod.namespace"] = pod.namespace_name;
  sandbox.labels[kUidLabel] = pod.uid;
  auto config = BuildCriConfig(pod, container.container, container.allocation, container.attempt,
                               log.lexically_relative(log_directory));
  Result<void> checked = {};
  if (!config) {
    checked = config.error();
  } else {
    checked = ResolveCdi(*config);
  }
  auto call = std::make_unique<CriCreate>(*this, std::move(sandbox),
                                          config ? *std::move(config) : cri::ContainerConfig{},
                                          std::move(done));
  call->Start(checked);
  return call;
}

ContainerRuntime::Call CriRuntime::Start(const ContainerIdentity& container, Done done) {
  auto call = std::make_unique<Sequence>(client_);
  call->Ask(cri::kStartContainer, cri::EncodeIdRequest(RuntimeId(container)),
            [done = std::move(done)](const Result<std::string>& answer) { done(ToVoid(answer)); });
  return call;
}

ContainerRuntime::Call CriRuntime::Delete(const std::string& id, Done done) {
  auto call = std::make_unique<ForEachId>(
      client_, std::vector<std::string_view>{cri::kRemoveContainer}, std::move(done));
  call->Start(cri::kListContainers, cri::EncodeListContainersRequest(LabelsOf(id)),
              DecodeContainerIds);
  return call;
}

ContainerRuntime::Call CriRuntime::Query(const ContainerIdentity& container, QueryDone done) {
  auto call = std::make_unique<Sequence>(client_);
  call->Ask(cri::kContainerStatus, cri::EncodeIdRequest(RuntimeId(container)),
            [done = std::move(done)](const Result<std::string>& answer) {
              done(DecodePresence(answer));
            });
  return call;
}

ContainerRuntime::Call CriRuntime::RemovePod(const std::string& uid, Done done) {
  making_.erase(uid);
  auto call = std::make_unique<ForEachId>(
      client_, std::vector<std::string_view>{cri::kStopPodSandbox, cri::kRemovePodSandbox},
      [uid, done = std::move(done)](const Result<void>& removed) {
        if (removed) RemoveEmptyCgroups(CgroupOf(uid));
        done(removed);
      });
  call->Start(cri::kListPodSandbox, cri::EncodeListPodSandboxRequest({{kUidLabel, uid}}),
              DecodeSandboxIds);
  return call;
}

Result<std::unique_ptr<ContainerWatch>> CriRuntime::Watch(const ContainerIdentity& container,
                                                          ExitFn exited) {
  const std::string id = RuntimeId(container);
  if (id.empty())
    return Error(Code::kNotFound, "\"" + container.name + "\" is no container of " + name_);
  return std::unique_ptr<ContainerWatch>(
      std::make_unique<CriWatch>(loop_, client_, id, std::move(exited)));
}

}  // namespace tenon::runtime
