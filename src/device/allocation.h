#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

/// A directory or file of the host in the container.
struct Mount {
  std::string container_path;
  std::string host_path;
  bool read_only = false;
  bool operator==(const Mount&) const = default;
};

/// A device node of the host in the container; upstream's DeviceSpec.
struct DeviceNode {
  std::string container_path;
  std::string host_path;
  std::string permissions;  ///< Of the device cgroup: "r", "w", "m" in any order.
  bool operator==(const DeviceNode&) const = default;
};

/// What one container gets: a plugin's answer to Allocate for one container, and also the sum of
/// several plugins' answers. Source: deviceplugin/v1beta1 api.proto, ContainerAllocateResponse.
struct ContainerAllocation {
  std::map<std::string, std::string> env;
  std::vector<Mount> mounts;
  std::vector<DeviceNode> device_nodes;
  std::map<std::string, std::string> annotations;
  std::vector<std::string> cdi_devices;  ///< Qualified CDI names, "vendor.com/class=name".
  bool operator==(const ContainerAllocation&) const = default;
};

/// Adds `from` to `into` by the kubelet's rules: the first writer of a key wins, a repeat is
/// skipped, and a repeat with another value is a conflict. Keys are the env name, the container
/// path of a device node or mount, the annotation's name, and the whole CDI name.
/// Returns: a text for each conflict, "environment variable X has conflicting setting".
/// Source: kubernetes pkg/kubelet/cm/devicemanager/pod_devices.go, deviceRunContainerOptions.
std::vector<std::string> MergeAllocation(ContainerAllocation& into,
                                         const ContainerAllocation& from);

}  // namespace tenon
