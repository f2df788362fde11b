#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "device/allocation.h"
#include "device/device.h"

/// The device plugin API as plain values, the same for both ends. The wire module turns them
/// into bytes. Source of all names and constants: deviceplugin/v1beta1 api.proto and constants.go.
namespace tenon::api {

inline constexpr std::string_view kVersion = "v1beta1";      // constants.go, Version
inline constexpr std::string_view kHealthy = "Healthy";      // constants.go, Healthy
inline constexpr std::string_view kUnhealthy = "Unhealthy";  // constants.go, Unhealthy
inline constexpr std::string_view kKubeletSocketName =
    "kubelet.sock";  // constants.go, KubeletSocket

/// DevicePluginOptions.
struct PluginOptions {
  bool pre_start_required = false;
  bool preferred_allocation_available = false;
  bool operator==(const PluginOptions&) const = default;
};

struct RegisterRequest {
  std::string version;
  std::string endpoint;  ///< File name of the plugin's socket, beside kubelet.sock.
  std::string resource_name;
  PluginOptions options;
  bool operator==(const RegisterRequest&) const = default;
};

/// One device as it stands in a ListAndWatch message: the health is text there, and everything
/// but "Healthy" means unhealthy.
struct ListedDevice {
  std::string id;
  std::string health;
  std::vector<int64_t> numa_nodes;  ///< As listed; empty when topology is absent or empty.
  bool has_topology = false;        ///< Whether the topology message was there at all.
  bool operator==(const ListedDevice&) const = default;
};

/// One container's part of an Allocate request. PreStartContainer takes the same.
struct AllocateRequest {
  std::vector<std::string> device_ids;
  bool operator==(const AllocateRequest&) const = default;
};

/// One container's part of a GetPreferredAllocation request.
struct PreferredRequest {
  std::vector<std::string> available;
  std::vector<std::string> must_include;
  int32_t size = 0;
  bool operator==(const PreferredRequest&) const = default;
};

/// What a plugin whose socket was found in plugins_registry says of itself.
struct PluginInfo {
  std::string type;      ///< "DevicePlugin", "CSIPlugin", "DRAPlugin".
  std::string name;      ///< Of a device plugin: its resource.
  std::string endpoint;  ///< The socket of its service; empty: the one that was found.
  std::vector<std::string> supported_versions;
  bool operator==(const PluginInfo&) const = default;
};

/// What it is told then.
struct RegistrationStatus {
  bool registered = false;
  std::string error;
  bool operator==(const RegistrationStatus&) const = default;
};

}  // namespace tenon::api
