#include "discovery/node_options.h"

#include <map>
#include <utility>

namespace tenon::discovery {

std::vector<std::string> ContainerPaths(const NodeOptions& options, const std::string& host_path) {
  if (options.container_paths.empty()) return {host_path};
  std::vector<std::string> paths;
  for (const std::string& path : options.container_paths)
    paths.push_back(path.ends_with('/') ? path + host_path.substr(host_path.rfind('/') + 1) : path);
  return paths;
}

Result<void> AddFile(host::Host& host, const std::string& host_path, const NodeOptions& options,
                     FoundDevice& device, std::set<std::string>& directories) {
  TENON_TRY(FoundPath found, LookUp(host, host_path, options.trust, directories, options.wanted()));
  AddFound(std::move(found), options, device);
  return {};
}

void AddFound(FoundPath found, const NodeOptions& options, FoundDevice& device) {
  found.permissions = options.permissions;
  found.mount = options.mount;
  found.read_only = options.read_only;
  found.shared = options.shared;
  found.unsafe = options.trust.unsafe;
  if (device.device_number.empty() && !options.mount) device.device_number = DeviceNumber(found);
  for (std::string& path : ContainerPaths(options, found.host_path)) {
    device.paths.push_back(found);
    device.paths.back().container_path = std::move(path);
  }
}

void MakeUnhealthy(FoundDevice& device, std::string reason) {
  if (device.health == Health::kUnhealthy) return;
  device.health = Health::kUnhealthy;
  device.reason = std::move(reason);
  device.paths.clear();
}

void CheckContainerPaths(FoundDevice& device) {
  std::map<std::string, std::string> taken;
  for (const FoundPath& path : device.paths) {
    auto [first, is_free] = taken.emplace(path.container_path, path.real_path);
    if (is_free || first->second == path.real_path) continue;
    return MakeUnhealthy(device, first->second + " and " + path.real_path + " would both be " +
                                     path.container_path +
                                     " in a container; let mountPath end in \"/\"");
  }
}

}  // namespace tenon::discovery
