#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon {

/// Which devices one container holds, as the kubelet's PodResources API tells it.
struct ContainerDevices {
  std::string resource_name;
  std::vector<std::string> device_ids;
  std::vector<int64_t> numa_nodes;
  bool operator==(const ContainerDevices&) const = default;
};

struct ContainerResources {
  std::string name;
  std::vector<ContainerDevices> devices;
  bool operator==(const ContainerResources&) const = default;
};

struct PodResources {
  std::string name;
  std::string namespace_name;
  std::vector<ContainerResources> containers;
  bool operator==(const PodResources&) const = default;
};

}  // namespace tenon
