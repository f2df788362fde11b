#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "device/device.h"
#include "device/plugin_api.h"

/// Which devices to take where several would do: functions of their arguments, nothing else.
namespace tenon::policy {

/// Which of the available devices a container should get.
enum class Preference {
  kInOrder,  ///< The first ones in natural order: "tty2" before "tty10".
  kSpread,   ///< Of as many devices (where they are shared) and NUMA nodes as there are.
  kPacked,   ///< Of as few devices, or NUMA nodes where they are not shared, as will do; of those
             ///< that have the least left, so that others stay whole.
  kNuma,     ///< Of as few NUMA nodes as will do, and of as many devices in them as there are.
};

/// The ids that a container should get: all it must include, and as many of the available ones as
/// are asked for, each once. `shared`: the ids are those of replicas, see ReplicaOf(). Devices
/// without a NUMA node count as one NUMA node of their own. Of equally good choices it is the one
/// that is first in natural order.
///
/// Errors: kInvalidArgument, naming what does not fit: fewer available than asked for, an id that
/// must be included but is not available, more ids to include than asked for, a negative size.
/// Source: deviceplugin/v1beta1 api.proto, ContainerPreferredAllocationRequest.
Result<std::vector<std::string>> Prefer(Preference preference, const DeviceSet& devices,
                                        bool shared, const api::PreferredRequest& request);

/// Prefer() in order, for which nothing has to be known about the devices.
Result<std::vector<std::string>> PreferInOrder(const api::PreferredRequest& request);

}  // namespace tenon::policy
