#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "device/plugin_api.h"
#include "manager/device_table.h"
#include "manager/pod_devices.h"

namespace tenon::manager {

/// One container's limit of one resource.
struct DeviceRequest {
  HoldKey key;
  int64_t required = 0;
  /// The ids that the container holds already, from an earlier admission of the same pod.
  std::optional<std::vector<std::string>> have;
  /// Devices of init containers that have ended by the time this container starts.
  std::vector<std::string> reusable;
  bool running = false;  ///< See ContainerRequest.
};

/// The choice of devices for one request, in two steps with the plugin's preference in between:
/// the plugin is asked over the wire, and meanwhile devices may come, go and fall ill, so the
/// second step looks at them again.
///
/// All of it is a function of its arguments. Where the kubelet's choice is arbitrary ours is the
/// natural order of ids. Without a topology policy all free devices are alike; alignment will
/// order them here.
/// Source of rules and texts: kubernetes pkg/kubelet/cm/devicemanager/manager.go,
/// devicesToAllocate.
class Selection final {
 public:
  /// Returns: nullopt when there is nothing to allocate. `row` may be null.
  /// Errors: as the kubelet words them; they end up in the pod's status.
  static Result<std::optional<Selection>> Start(DeviceRequest request, const DeviceRow* row,
                                                const PodDevices& pods);

  /// Whether free devices are needed, beyond the reusable ones. Only then is the plugin asked.
  bool incomplete() const { return taken_.size() < required_; }

  /// What to ask the plugin.
  api::PreferredRequest Preference(const DeviceRow* row, const PodDevices& pods) const;

  /// Takes what is missing: first of `preferred`, as far as it is free and healthy, then of the
  /// other devices. Nothing in `preferred` is an error.
  Result<std::vector<std::string>> Finish(const std::vector<std::string>& preferred,
                                          const DeviceRow* row, const PodDevices& pods) &&;

  const HoldKey& key() const { return key_; }

 private:
  Selection(HoldKey key, size_t required, std::vector<std::string> taken)
      : key_(std::move(key)), required_(required), taken_(std::move(taken)) {}

  HoldKey key_;
  size_t required_;
  std::vector<std::string> taken_;
};

}  // namespace tenon::manager
