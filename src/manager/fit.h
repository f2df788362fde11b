#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "manager/device_table.h"
#include "manager/pod_devices.h"

namespace tenon::manager {

/// Resource → quantity.
using Requests = std::map<std::string, int64_t>;

/// Why a pod does not fit.
struct Unfit {
  std::string resource;
  int64_t requested = 0;
  int64_t used = 0;
  int64_t capacity = 0;

  /// "Node didn't have enough resource: …", as the kubelet words it.
  std::string Message() const;
};

/// The first resource of which the kube node has too little for a pod, by count: what it offers is
/// its healthy devices, but at least those that pods hold, so that a pod which has its devices
/// fits whatever became of them. Resources that the kube node never had are not looked at.
/// Source: kubernetes pkg/kubelet/lifecycle/predicate.go; devicemanager UpdatePluginResources.
std::optional<Unfit> FirstUnfit(const Requests& requested, const Requests& used,
                                const DeviceTable& table, const PodDevices& pods);

}  // namespace tenon::manager
