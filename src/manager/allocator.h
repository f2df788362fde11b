#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "device/plugin_api.h"
#include "manager/device_table.h"
#include "manager/numa.h"
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
  /// The NUMA nodes whose devices come first; nullopt where no topology policy has any.
  std::optional<NumaMask> affinity;
};

/// The choice of devices for one request, in two steps with the plugin's preference in between:
/// the plugin is asked over the wire, and meanwhile devices may come, go and fall ill, so the
/// second step looks at them again.
///
/// With an affinity devices are taken from its NUMA nodes first, then from others, then those that
/// have no NUMA node; and as long as the affinity has enough of them, the plugin is asked about no
/// others. Where the kubelet's choice is arbitrary ours is the natural order of ids. What is
/// chosen is a function of the arguments.
/// Source of rules and texts: kubernetes pkg/kubelet/cm/devicemanager/manager.go,
/// devicesToAllocate.
class Selection final {
 public:
  /// Returns: nullopt when there is nothing to allocate. `row` may be null.
  /// Errors: as the kubelet words them; they end up in the pod's status.
  static Result<std::optional<Selection>> Start(DeviceRequest request, const DeviceRow* row,
                                                PodDevices& pods);

  /// Whether there is anything to choose, beyond the reusable devices and, where they are too few
  /// or just enough, the aligned ones. Only then is the plugin asked.
  bool incomplete() const { return incomplete_; }

  /// What to ask the plugin.
  api::PreferredRequest Preference(const DeviceRow* row, PodDevices& pods) const;

  /// Takes what is missing: first of `preferred`, as far as it is free and healthy, then of the
  /// other devices. Nothing in `preferred` is an error.
  Result<std::vector<std::string>> Finish(const std::vector<std::string>& preferred,
                                          const DeviceRow* row, PodDevices& pods) &&;

  const HoldKey& key() const { return key_; }

 private:
  using Devices = std::vector<const TableDevice*>;
  /// What is free, by its NUMA nodes.
  struct Split {
    Devices aligned;
    Devices unaligned;
    Devices no_numa;
  };

  Selection(HoldKey key, size_t required, std::vector<std::string> reused,
            std::optional<NumaMask> affinity)
      : key_(std::move(key)),
        required_(required),
        reused_(std::move(reused)),
        affinity_(affinity) {}

  bool IsAligned(const DeviceRow& row) const { return affinity_ && row.has_numa; }
  Split SplitFree(const DeviceRow* row, PodDevices& pods) const;
  size_t needed() const { return required_ - reused_.size(); }

  HoldKey key_;
  size_t required_;
  std::vector<std::string> reused_;
  std::optional<NumaMask> affinity_;
  bool incomplete_ = false;
};

}  // namespace tenon::manager
