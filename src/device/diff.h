#pragma once

#include <vector>

#include "device/device.h"

namespace tenon {

/// What changed between two lists of devices.
struct DeviceSetDiff {
  std::vector<DeviceId> added;
  std::vector<DeviceId> removed;
  std::vector<Device> health_changed;  ///< As they are after the change.

  bool empty() const { return added.empty() && removed.empty() && health_changed.empty(); }
};

/// Requires: both sorted by id. A change of `reason` alone counts as a change of health.
DeviceSetDiff Diff(const std::vector<Device>& before, const std::vector<Device>& after);

}  // namespace tenon
