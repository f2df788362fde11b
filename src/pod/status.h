#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "device/pod_resources.h"
#include "pod/pod.h"
#include "value/value.h"

namespace tenon::pod {

enum class Phase {
  kPending,    ///< Accepted; not all init containers have ended well, or no container has started.
  kRunning,    ///< A container has started and not all have ended.
  kSucceeded,  ///< All containers ended with 0.
  kFailed,     ///< Refused at admission, or a container ended with something else.
};
std::string_view PhaseName(Phase phase);

struct ContainerState {
  enum class Kind {
    kWaiting,     ///< Not started; `reason` says why, "PodInitializing".
    kRunning,     ///< Since `started_at`.
    kTerminated,  ///< With `exit_code`.
  };
  Kind kind = Kind::kWaiting;
  std::string reason;
  std::string message;
  int exit_code = 0;
  int signal = 0;
  base::WallTime started_at{};
  base::WallTime finished_at{};
  bool operator==(const ContainerState&) const = default;
};

struct ContainerStatus {
  std::string name;
  std::string image;
  std::string container_id;  ///< "runc://ID"; empty until it was made.
  ContainerState state;
  std::optional<ContainerState> last_state;  ///< How it ended before it was started again.
  int restart_count = 0;
  std::vector<ContainerDevices> allocated_devices;
  /// Resource → id → whether the plugin calls it healthy. For those who ask: no record has it.
  std::map<std::string, std::map<std::string, bool>> device_health;
  bool operator==(const ContainerStatus&) const = default;
};

struct PodStatus {
  Phase phase = Phase::kPending;
  std::string reason;
  std::string message;
  base::WallTime start_time{};
  std::vector<ContainerStatus> init_containers;
  std::vector<ContainerStatus> containers;
  bool operator==(const PodStatus&) const = default;

  bool terminal() const { return phase == Phase::kSucceeded || phase == Phase::kFailed; }
};

/// apiVersion, kind, metadata and spec of a v1 Pod; ParseManifest() reads it back.
Value ToValue(const Pod& pod);

/// A v1 PodStatus, and allocatedDevices in each container's status, which is ours. Source of
/// allocatedResourcesStatus: kubernetes pkg/kubelet/cm/devicemanager/manager.go.
Value ToValue(const PodStatus& status);

/// Reads what ToValue() made. Errors: kDataLoss, naming the field.
Result<PodStatus> ParseStatus(const Value& value);

}  // namespace tenon::pod
