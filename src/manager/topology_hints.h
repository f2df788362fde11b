#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "manager/device_table.h"
#include "manager/numa.h"
#include "manager/topology.h"

namespace tenon::manager {

/// What is to be aligned of one resource: a container's limit, or with pod scope the pod's.
struct HintRequest {
  int64_t quantity = 0;
  /// The devices that are held already, from an earlier admission of the same pod.
  std::optional<std::set<std::string>> have;
  /// Devices of init containers that have ended by then.
  std::set<std::string> reusable;
};

/// On which sets of NUMA nodes `quantity` devices can be had; those sets are preferred that are as
/// small as any set with so many devices, in use or not. `free`: indices into the row's devices.
/// `row` may be null. Source: kubernetes pkg/kubelet/cm/devicemanager/topology_hints.go.
TopologyHints DeviceHints(const HintRequest& request, const DeviceRow* row,
                          std::span<const uint32_t> free, const NumaMachine& machine);

}  // namespace tenon::manager
