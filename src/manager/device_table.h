#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "device/plugin_api.h"

namespace tenon::manager {

struct TableDevice {
  std::string id;
  bool healthy = false;  ///< As the plugin said last.
  std::vector<int64_t> numa_nodes;
};

/// One resource's devices.
struct DeviceRow {
  std::vector<TableDevice> devices;  ///< In natural order of their ids, each once.
  /// The plugin is gone: no device counts as healthy, whatever was said of it last.
  bool lost = false;
  size_t listed_healthy = 0;  ///< Devices that the plugin said to be healthy.
  bool has_numa = false;      ///< Whether any device, healthy or not, has a NUMA node.
  /// Another one after each change of any row of the table; never 0 in a table.
  uint64_t revision = 0;

  bool IsHealthy(const TableDevice& device) const { return device.healthy && !lost; }
  const TableDevice* Find(std::string_view id) const;
  size_t CountHealthy() const { return lost ? 0 : listed_healthy; }
};

/// A resource as a Node object shows it: all devices, and the healthy ones. Whether a device is
/// in use changes neither; the scheduler counts the pods' requests itself.
struct ResourceCapacity {
  std::string resource;
  size_t capacity = 0;
  size_t allocatable = 0;
  bool operator==(const ResourceCapacity&) const = default;
};

/// What plugins have listed: a row per resource. A resource is in the table from its first list
/// (or from the checkpoint, empty and lost) until it is removed. Thread: loop only.
class DeviceTable final {
 public:
  /// What a list did.
  struct Update {
    bool added = false;  ///< The resource was not in the table before.
    std::vector<std::string> duplicates;
    /// Ids that are new or have another health than before.
    std::vector<std::string> changed;
  };

  /// Replaces the resource's devices. Of a device that is listed twice the last entry counts;
  /// everything but "Healthy" is unhealthy; nothing else is checked.
  Update SetList(const std::string& resource, std::vector<api::ListedDevice> list);
  /// The plugin is gone; adds an empty row if there was none.
  void MarkLost(const std::string& resource);
  void Remove(const std::string& resource);

  /// By name. A resource that was removed stays, with 0: a kube node that had it once says so,
  /// which tells it from one that never did.
  std::vector<ResourceCapacity> Capacity() const;
  bool WasRemoved(const std::string& resource) const { return removed_.contains(resource); }

  /// What SetList was given, but for duplicates; nullopt when the resource has no list.
  std::optional<std::vector<api::ListedDevice>> List(const std::string& resource) const;
  /// Null when the resource is not in the table.
  const DeviceRow* Find(const std::string& resource) const;
  const std::map<std::string, DeviceRow>& rows() const { return rows_; }

 private:
  /// The row, about to be changed.
  DeviceRow& Row(const std::string& resource);

  uint64_t last_revision_ = 0;
  std::map<std::string, DeviceRow> rows_;
  std::set<std::string> removed_;
};

}  // namespace tenon::manager
