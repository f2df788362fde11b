#include "manager/device_table.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"

namespace tenon::manager {

const TableDevice* DeviceRow::Find(std::string_view id) const {
  auto at = std::ranges::lower_bound(devices, id, base::NaturalLess, &TableDevice::id);
  return at != devices.end() && at->id == id ? &*at : nullptr;
}

namespace {

/// Ids of `now` that `before` has not, or with another health. Both are in order.
std::vector<std::string> Changed(const std::vector<TableDevice>& before,
                                 const std::vector<TableDevice>& now) {
  std::vector<std::string> changed;
  auto old = before.begin();
  for (const TableDevice& device : now) {
    while (old != before.end() && old->id != device.id && base::NaturalLess(old->id, device.id))
      ++old;
    const bool known = old != before.end() && old->id == device.id;
    if (!known || old->healthy != device.healthy) changed.push_back(device.id);
  }
  return changed;
}

}  // namespace

DeviceTable::Update DeviceTable::SetList(const std::string& resource,
                                         std::vector<api::ListedDevice> list) {
  Update update{.added = !rows_.contains(resource), .duplicates = {}, .changed = {}};
  DeviceRow& row = Row(resource);
  row.lost = false;
  const std::vector<TableDevice> before = std::exchange(row.devices, {});
  row.devices.reserve(list.size());
  for (api::ListedDevice& device : list)
    row.devices.push_back(
        {std::move(device.id), device.health == api::kHealthy, std::move(device.numa_nodes)});
  // Plugins list in order, more often than not.
  if (!std::ranges::is_sorted(row.devices, base::NaturalLess, &TableDevice::id))
    std::ranges::stable_sort(row.devices, base::NaturalLess, &TableDevice::id);
  // Equal ids stand in the order of the list: each but the last of them goes.
  size_t kept = 0;
  for (size_t i = 0; i < row.devices.size(); ++i) {
    if (i + 1 < row.devices.size() && row.devices[i].id == row.devices[i + 1].id) {
      update.duplicates.push_back(row.devices[i].id);
      continue;
    }
    if (kept != i) row.devices[kept] = std::move(row.devices[i]);
    ++kept;
  }
  row.devices.resize(kept);
  row.listed_healthy =
      static_cast<size_t>(std::ranges::count_if(row.devices, &TableDevice::healthy));
  row.has_numa = std::ranges::any_of(
      row.devices, [](const TableDevice& device) { return !device.numa_nodes.empty(); });
  update.changed = Changed(before, row.devices);
  return update;
}

std::optional<std::vector<api::ListedDevice>> DeviceTable::List(const std::string& resource) const {
  const DeviceRow* row = Find(resource);
  if (row == nullptr || row->lost) return std::nullopt;
  std::vector<api::ListedDevice> list;
  list.reserve(row->devices.size());
  for (const TableDevice& device : row->devices)
    list.push_back({.id = device.id,
                    .health = std::string(device.healthy ? api::kHealthy : api::kUnhealthy),
                    .numa_nodes = device.numa_nodes});
  return list;
}

void DeviceTable::MarkLost(const std::string& resource) {
  Row(resource).lost = true;
}

void DeviceTable::Remove(const std::string& resource) {
  rows_.erase(resource);
  removed_.insert(resource);
}

std::vector<ResourceCapacity> DeviceTable::Capacity() const {
  std::map<std::string, ResourceCapacity> all;
  for (const std::string& resource : removed_)
    all[resource] = {resource, 0, 0};
  for (const auto& [resource, row] : rows_)
    all[resource] = {resource, row.devices.size(), row.CountHealthy()};
  std::vector<ResourceCapacity> list;
  for (auto& [resource, capacity] : all)
    list.push_back(std::move(capacity));
  return list;
}

DeviceRow& DeviceTable::Row(const std::string& resource) {
  removed_.erase(resource);
  DeviceRow& row = rows_[resource];
  row.revision = ++last_revision_;
  return row;
}

const DeviceRow* DeviceTable::Find(const std::string& resource) const {
  auto at = rows_.find(resource);
  return at == rows_.end() ? nullptr : &at->second;
}

}  // namespace tenon::manager
