#pragma once

#include <compare>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace tenon {

/// Identifies one schedulable device within a resource. Opaque to the kubelet,
/// which only compares and checkpoints it, so it must survive a plugin restart.
struct DeviceId {
  std::string value;
  auto operator<=>(const DeviceId&) const = default;
};

enum class Health {
  kHealthy,    ///< May be handed to containers.
  kUnhealthy,  ///< Counts as capacity, is not handed out; never a one-way door.
};

/// One schedulable unit of a resource.
struct Device {
  DeviceId id;
  Health health = Health::kHealthy;
  std::string reason;           ///< Why it is unhealthy, for a person; empty when healthy.
  base::WallTime since{};       ///< When it took its present health.
  std::vector<int> numa_nodes;  ///< Sorted; empty when the device has no NUMA affinity.

  bool healthy() const { return health == Health::kHealthy; }
  bool operator==(const Device&) const = default;
};

/// All devices of one resource, sorted by id, and the revision that counts its changes.
/// Immutable once published and shared between all that read it.
struct DeviceSet {
  uint64_t revision = 0;
  std::vector<Device> devices;
};
using DeviceSetPtr = std::shared_ptr<const DeviceSet>;

/// Sorts `devices` by id, so that equal inventories compare and print equally.
void SortById(std::vector<Device>& devices);

/// The device with this id, or null. Requires: `devices` sorted by id.
const Device* FindDevice(const std::vector<Device>& devices, std::string_view id);

/// `text` with every byte outside [A-Za-z0-9._:-] written as "_XX" (two upper-case hex digits),
/// "_" itself as "__", so that different texts give different ids. Ids that come from hardware
/// go through here: one byte of invalid UTF-8 makes a kubelet drop the whole resource.
/// Longer results than kMaxDeviceIdBytes end in a hash instead.
DeviceId MakeDeviceId(std::string_view text);

/// One id for several that belong together, in this order: that of their texts joined by "+".
/// Requires: not empty.
DeviceId JoinDeviceIds(const std::vector<DeviceId>& ids);

/// Enough for every path of a device node, short enough for 10 000 devices in a 4 MiB list.
inline constexpr size_t kMaxDeviceIdBytes = 128;

}  // namespace tenon
