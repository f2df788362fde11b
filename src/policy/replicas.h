#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "device/device.h"

namespace tenon::policy {

/// Each device as `share` devices that are the same one: "id::0" to "id::(share - 1)", with its
/// health and place. A share of 1 leaves all as it is. Requires: share >= 1.
DeviceSetPtr Replicate(const DeviceSetPtr& devices, int64_t share);

/// The device that a replica is one of: "id" for "id::3". Requires: `id` is one of a replica.
std::string_view ReplicaOf(std::string_view id);

}  // namespace tenon::policy
