#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/device.h"
#include "host/host.h"

namespace tenon::discovery {

/// One file that a device brings into a container, as it was at the last scan.
struct FoundPath {
  std::string host_path;  ///< As it was asked for, maybe a symlink: resolved anew when allocated.
  std::string real_path;  ///< Where it led.
  std::string container_path;
  std::string permissions;  ///< Of the device cgroup: "r", "w", "m" in any order.
  host::FileKind kind = host::FileKind::kOther;
  unsigned major = 0;
  unsigned minor = 0;
  /// The group that a process has to be in, unless it is root's; nullopt where that gives it
  /// nothing that others do not have.
  std::optional<uint32_t> group;
  bool mount = false;      ///< A directory, socket or file to mount, no device node.
  bool read_only = false;  ///< With `mount`.
  bool shared = false;     ///< May belong to other devices and resources, too.
  bool unsafe = false;     ///< Trust::unsafe of the rule that found it.
  bool operator==(const FoundPath&) const = default;
};

/// A device and what it is made of. Whatever changes about it, its id stays (docs/ids.md).
struct FoundDevice {
  DeviceId id;
  Health health = Health::kHealthy;
  std::string reason;            ///< Why it is unhealthy; empty when healthy.
  std::vector<int> numa_nodes;   ///< Sorted.
  std::vector<FoundPath> paths;  ///< Empty for a virtual or an unhealthy one.
  /// What the kernel calls it, "c 188:0"; another number under the same id is another device
  /// behind the same name. Empty if it has none.
  std::string device_number;
  /// Variables that others know a device by, and its value in them: {"PCIDEVICE", "0000:01:00.0"}.
  /// The resource's name is appended to them, and the values of several devices are joined.
  std::map<std::string, std::string> env_lists;
  std::map<std::string, std::string> env;  ///< Variables as they stand.
  std::map<std::string, std::string> annotations;
  bool operator==(const FoundDevice&) const = default;
};

/// A device as it was found, shared by all that look at it.
using FoundDevicePtr = std::shared_ptr<const FoundDevice>;

/// All devices that one source has at one time. The same object as in an earlier snapshot is the
/// same device, unchanged; the reverse does not hold.
using Snapshot = std::vector<FoundDevicePtr>;

/// Finds devices of one kind by one rule. Each report is a full snapshot, never a delta: a report
/// that is lost or comes twice does no harm.
///
/// Owner: destroying it, also from inside its report, ends the reports. Thread: loop only.
class Source {
 public:
  using ReportFn = std::function<void(Snapshot)>;

  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  virtual ~Source() = default;

  /// Reports the first snapshot, in this call if it can, and from then on each time it looked
  /// again. Requires: called once.
  virtual void Start(ReportFn report) = 0;
  /// Looks now and reports. Requires: started.
  virtual void Rescan() = 0;
};

}  // namespace tenon::discovery
