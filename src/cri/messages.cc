#include "cri/messages.h"

#include <array>

#include "wire/reader.h"
#include "wire/writer.h"

namespace tenon::cri {
namespace {

using wire::AddBytes;
using wire::AddMap;
using wire::AddTexts;
using wire::PutBool;
using wire::PutInt;
using wire::PutText;
using wire::Reader;

/// NamespaceMode.
constexpr int64_t kOfContainer = 1;
constexpr int64_t kOfMachine = 2;
/// SecurityProfile.ProfileType, as the kubelet asks for unless it is told otherwise.
constexpr int64_t kUnconfined = 1;

/// What a runtime hides only if it is told to. Source: kubernetes pkg/securitycontext/util.go.
constexpr std::array<std::string_view, 10> kMaskedPaths = {
    "/proc/acpi",          "/proc/asound",     "/proc/kcore",       "/proc/keys",
    "/proc/latency_stats", "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug",
    "/proc/scsi",          "/sys/firmware"};
constexpr std::array<std::string_view, 5> kReadOnlyPaths = {"/proc/bus", "/proc/fs", "/proc/irq",
                                                            "/proc/sys", "/proc/sysrq-trigger"};

std::string EncodeNamespaces(int64_t network, int64_t pid) {
  std::string out;
  PutInt(out, 1, network);
  PutInt(out, 2, pid);
  return out;
}

std::string EncodeSandbox(const PodSandboxConfig& config) {
  std::string metadata;
  PutText(metadata, 1, config.name);
  PutText(metadata, 2, config.uid);
  PutText(metadata, 3, config.namespace_name);
  std::string security;
  AddBytes(security, 1, EncodeNamespaces(kOfMachine, kOfContainer));
  std::string linux_part;
  PutText(linux_part, 1, config.cgroup_parent);
  AddBytes(linux_part, 2, security);
  std::string out;
  AddBytes(out, 1, metadata);
  PutText(out, 3, config.log_directory);
  AddMap(out, 6, config.labels);
  AddMap(out, 7, config.annotations);
  AddBytes(out, 8, linux_part);
  return out;
}

std::string EncodeSecurity() {
  std::string seccomp;
  PutInt(seccomp, 1, kUnconfined);
  std::string out;
  AddBytes(out, 3, EncodeNamespaces(kOfMachine, kOfContainer));
  PutBool(out, 11, true);
  for (const std::string_view path : kMaskedPaths)
    AddBytes(out, 13, path);
  for (const std::string_view path : kReadOnlyPaths)
    AddBytes(out, 14, path);
  AddBytes(out, 15, seccomp);
  return out;
}

std::string EncodeText(wire::FieldNumber field, std::string_view text) {
  std::string out;
  PutText(out, field, text);
  return out;
}

void AddGrants(std::string& out, const ContainerConfig& config) {
  for (const Mount& mount : config.mounts) {
    std::string nested;
    PutText(nested, 1, mount.container_path);
    PutText(nested, 2, mount.host_path);
    PutBool(nested, 3, mount.read_only);
    AddBytes(out, 7, nested);
  }
  for (const DeviceNode& device : config.device_nodes) {
    std::string nested;
    PutText(nested, 1, device.container_path);
    PutText(nested, 2, device.host_path);
    PutText(nested, 3, device.permissions);
    AddBytes(out, 8, nested);
  }
  AddMap(out, 9, config.labels);
  AddMap(out, 10, config.annotations);
}

std::string EncodeContainer(const ContainerConfig& config) {
  std::string metadata;
  PutText(metadata, 1, config.name);
  PutInt(metadata, 2, config.attempt);
  std::string linux_part;
  AddBytes(linux_part, 2, EncodeSecurity());
  std::string out;
  AddBytes(out, 1, metadata);
  AddBytes(out, 2, EncodeText(1, config.image));
  AddTexts(out, 3, config.command);
  AddTexts(out, 4, config.args);
  PutText(out, 5, config.working_dir);
  for (const auto& [name, value] : config.env) {
    std::string nested;
    PutText(nested, 1, name);
    PutText(nested, 2, value);
    AddBytes(out, 6, nested);
  }
  AddGrants(out, config);
  PutText(out, 11, config.log_path);
  AddBytes(out, 15, linux_part);
  for (const std::string& name : config.cdi_devices)
    AddBytes(out, 17, EncodeText(1, name));
  return out;
}

ContainerState ToState(int64_t number) {
  switch (number) {
    case 0:
      return ContainerState::kCreated;
    case 1:
      return ContainerState::kRunning;
    case 2:
      return ContainerState::kExited;
    default:
      return ContainerState::kUnknown;
  }
}

void ReadId(Reader& in, std::string& id) {
  while (in.Next())
    if (in.number() == 1) in.ReadText("id", id);
}

void ReadVersion(Reader& in, RuntimeVersion& version) {
  while (in.Next()) {
    if (in.number() == 2) in.ReadText("runtime_name", version.name);
    if (in.number() == 3) in.ReadText("runtime_version", version.version);
  }
}

void ReadListed(Reader& in, ListedContainer& container) {
  int64_t state = 0;
  while (in.Next()) {
    if (in.number() == 1) in.ReadText("id", container.id);
    if (in.number() == 6) in.ReadInt64(state);
  }
  container.state = ToState(state);
}

void ReadContainers(Reader& in, std::vector<ListedContainer>& containers) {
  while (in.Next()) {
    if (in.number() != 1) continue;
    in.ReadMessage("Container",
                   [&](Reader& nested) { ReadListed(nested, containers.emplace_back()); });
  }
}

void ReadSandbox(Reader& in, ListedSandbox& sandbox) {
  int64_t state = 0;
  while (in.Next()) {
    if (in.number() == 1) in.ReadText("id", sandbox.id);
    if (in.number() == 3) in.ReadInt64(state);
  }
  sandbox.ready = state == 0;
}

void ReadSandboxes(Reader& in, std::vector<ListedSandbox>& sandboxes) {
  while (in.Next()) {
    if (in.number() != 1) continue;
    in.ReadMessage("PodSandbox",
                   [&](Reader& nested) { ReadSandbox(nested, sandboxes.emplace_back()); });
  }
}

void ReadStatus(Reader& in, ContainerStatus& status) {
  int64_t state = 0;
  while (in.Next()) {
    switch (in.number()) {
      case 3:
        in.ReadInt64(state);
        break;
      case 7:
        in.ReadInt32(status.exit_code);
        break;
      case 10:
        in.ReadText("reason", status.reason);
        break;
      case 11:
        in.ReadText("message", status.message);
        break;
      default:
        break;
    }
  }
  status.state = ToState(state);
}

void ReadContainerStatus(Reader& in, std::optional<ContainerStatus>& status) {
  while (in.Next()) {
    if (in.number() != 1) continue;
    in.ReadMessage("ContainerStatus",
                   [&](Reader& nested) { ReadStatus(nested, status.emplace()); });
  }
}

void ReadImageStatus(Reader& in, bool& present) {
  while (in.Next())
    if (in.number() == 1 && in.Bytes()) present = true;
}

/// A request whose first field is a filter.
std::string EncodeFilter(wire::FieldNumber labels_field, const Labels& labels) {
  std::string filter;
  AddMap(filter, labels_field, labels);
  std::string out;
  AddBytes(out, 1, filter);
  return out;
}

}  // namespace

std::string EncodeVersionRequest() {
  return EncodeText(1, "v1");
}

Result<RuntimeVersion> DecodeVersion(std::string_view bytes) {
  return wire::Decode(bytes, "VersionResponse", ReadVersion);
}

std::string EncodeRunPodSandboxRequest(const PodSandboxConfig& config) {
  std::string out;
  AddBytes(out, 1, EncodeSandbox(config));
  return out;
}

std::string EncodeCreateContainerRequest(const std::string& sandbox_id,
                                         const ContainerConfig& config,
                                         const PodSandboxConfig& sandbox) {
  std::string out;
  PutText(out, 1, sandbox_id);
  AddBytes(out, 2, EncodeContainer(config));
  AddBytes(out, 3, EncodeSandbox(sandbox));
  return out;
}

Result<std::string> DecodeId(std::string_view bytes) {
  TENON_TRY(std::string id, wire::Decode(bytes, "answer", ReadId));
  if (id.empty()) return Error(Code::kInvalidArgument, "the answer has no id");
  return id;
}

std::string EncodeIdRequest(const std::string& id) {
  return EncodeText(1, id);
}

std::string EncodeStopContainerRequest(const std::string& id, int64_t timeout_seconds) {
  std::string out = EncodeText(1, id);
  PutInt(out, 2, timeout_seconds);
  return out;
}

std::string EncodeListContainersRequest(const Labels& labels) {
  return EncodeFilter(4, labels);
}

Result<std::vector<ListedContainer>> DecodeListContainers(std::string_view bytes) {
  return wire::Decode(bytes, "ListContainersResponse", ReadContainers);
}

std::string EncodeListPodSandboxRequest(const Labels& labels) {
  return EncodeFilter(3, labels);
}

Result<std::vector<ListedSandbox>> DecodeListPodSandbox(std::string_view bytes) {
  return wire::Decode(bytes, "ListPodSandboxResponse", ReadSandboxes);
}

Result<std::optional<ContainerStatus>> DecodeContainerStatus(std::string_view bytes) {
  return wire::Decode(bytes, "ContainerStatusResponse", ReadContainerStatus);
}

std::string EncodeImageStatusRequest(const std::string& image) {
  std::string out;
  AddBytes(out, 1, EncodeText(1, image));
  return out;
}

Result<bool> DecodeImageStatus(std::string_view bytes) {
  return wire::Decode(bytes, "ImageStatusResponse", ReadImageStatus);
}

}  // namespace tenon::cri
