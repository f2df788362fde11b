#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "device/allocation.h"

/// Bytes of the Container Runtime Interface v1: as much of it as starting and watching containers
/// takes. Encoding and decoding follow the rules of wire/messages.h.
/// Source of field numbers: cri-api runtime/v1 api.proto.
namespace tenon::cri {

inline constexpr std::string_view kVersion = "/runtime.v1.RuntimeService/Version";
inline constexpr std::string_view kRunPodSandbox = "/runtime.v1.RuntimeService/RunPodSandbox";
inline constexpr std::string_view kStopPodSandbox = "/runtime.v1.RuntimeService/StopPodSandbox";
inline constexpr std::string_view kRemovePodSandbox = "/runtime.v1.RuntimeService/RemovePodSandbox";
inline constexpr std::string_view kListPodSandbox = "/runtime.v1.RuntimeService/ListPodSandbox";
inline constexpr std::string_view kCreateContainer = "/runtime.v1.RuntimeService/CreateContainer";
inline constexpr std::string_view kStartContainer = "/runtime.v1.RuntimeService/StartContainer";
inline constexpr std::string_view kStopContainer = "/runtime.v1.RuntimeService/StopContainer";
inline constexpr std::string_view kRemoveContainer = "/runtime.v1.RuntimeService/RemoveContainer";
inline constexpr std::string_view kListContainers = "/runtime.v1.RuntimeService/ListContainers";
inline constexpr std::string_view kContainerStatus = "/runtime.v1.RuntimeService/ContainerStatus";
inline constexpr std::string_view kImageStatus = "/runtime.v1.ImageService/ImageStatus";

using Labels = std::map<std::string, std::string>;

/// What the containers of one pod share. They are in the network of the machine: one of their own
/// needs a network plugin (CNI), which a host without Kubernetes does not have.
struct PodSandboxConfig {
  std::string name;
  std::string uid;
  std::string namespace_name;
  std::string log_directory;
  std::string cgroup_parent;
  Labels labels;
  Labels annotations;
  bool operator==(const PodSandboxConfig&) const = default;
};

/// One container. It has a pid namespace of its own, no new privileges, and the paths of /proc and
/// /sys hidden that every runtime hides.
struct ContainerConfig {
  std::string name;
  uint32_t attempt = 0;
  std::string image;
  std::vector<std::string> command;
  std::vector<std::string> args;
  std::string working_dir;
  /// In order; of two of one name the later one wins.
  std::vector<std::pair<std::string, std::string>> env;
  std::vector<Mount> mounts;
  std::vector<DeviceNode> device_nodes;
  std::vector<std::string> cdi_devices;
  Labels labels;
  Labels annotations;
  std::string log_path;  ///< Below the sandbox's log directory.
  bool operator==(const ContainerConfig&) const = default;
};

enum class ContainerState { kCreated = 0, kRunning = 1, kExited = 2, kUnknown = 3 };

/// An entry of ListContainers.
struct ListedContainer {
  std::string id;
  ContainerState state = ContainerState::kCreated;
  bool operator==(const ListedContainer&) const = default;
};

/// An entry of ListPodSandbox.
struct ListedSandbox {
  std::string id;
  bool ready = true;
  bool operator==(const ListedSandbox&) const = default;
};

struct ContainerStatus {
  ContainerState state = ContainerState::kCreated;
  int32_t exit_code = 0;
  std::string reason;  ///< "OOMKilled", "Error", "Completed"; a runtime may leave it out.
  std::string message;
  bool operator==(const ContainerStatus&) const = default;
};

struct RuntimeVersion {
  std::string name;
  std::string version;
  bool operator==(const RuntimeVersion&) const = default;
};

std::string EncodeVersionRequest();
Result<RuntimeVersion> DecodeVersion(std::string_view bytes);

std::string EncodeRunPodSandboxRequest(const PodSandboxConfig& config);
std::string EncodeCreateContainerRequest(const std::string& sandbox_id,
                                         const ContainerConfig& config,
                                         const PodSandboxConfig& sandbox);
/// The id in the answers to RunPodSandbox and CreateContainer.
Result<std::string> DecodeId(std::string_view bytes);
/// The requests that are an id: StartContainer, RemoveContainer, ContainerStatus, StopPodSandbox
/// and RemovePodSandbox.
std::string EncodeIdRequest(const std::string& id);
/// `timeout_seconds` is from SIGTERM to SIGKILL; 0 kills at once.
std::string EncodeStopContainerRequest(const std::string& id, int64_t timeout_seconds);

/// Those that have all of `labels`.
std::string EncodeListContainersRequest(const Labels& labels);
Result<std::vector<ListedContainer>> DecodeListContainers(std::string_view bytes);
std::string EncodeListPodSandboxRequest(const Labels& labels);
Result<std::vector<ListedSandbox>> DecodeListPodSandbox(std::string_view bytes);

/// nullopt: the answer has no status.
Result<std::optional<ContainerStatus>> DecodeContainerStatus(std::string_view bytes);
std::string EncodeImageStatusRequest(const std::string& image);
/// Whether the runtime has the image.
Result<bool> DecodeImageStatus(std::string_view bytes);

}  // namespace tenon::cri
