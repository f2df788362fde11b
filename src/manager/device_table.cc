#include "manager/device_table.h"

#include <algorithm>

#include "base/strings.h"

namespace tenon::manager {

const TableDevice* DeviceRow::Find(std::string_view id) const {
  auto at = std::ranges::lower_bound(devices, id, base::NaturalLess, &TableDevice::id);
  return at != devices.end() && at->id == id ? &*at : nullptr;
}

size_t DeviceRow::CountHealthy() const {
  if (lost) return 0;
  return static_cast<size_t>(std::ranges::count_if(devices, &TableDevice::healthy));
}

DeviceTable::Update DeviceTable::SetList(const std::string& resource,
                                         const std::vector<api::ListedDevice>& list) {
  Update update{.added = !rows_.contains(resource), .duplicates = {}};
  DeviceRow& row = Row(resource);
  row.lost = false;
  row.devices.clear();
  row.devices.reserve(list.size());
  for (const api::ListedDevice& device : list)
    row.devices.push_back({device.id, device.health == api::kHealthy, device.numa_nodes});
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
  return update;
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
  return rows_[resource];
}

const DeviceRow* DeviceTable::Find(const std::string& resource) const {
  auto at = rows_.find(resource);
  return at == rows_.end() ? nullptr : &at->second;
}

}  // namespace tenon::manager
