#include "manager/free_devices.h"

#include <algorithm>

namespace tenon::manager {
namespace {

bool IsFree(const DeviceRow& row, const TableDevice& device, const IdsInUse* in_use) {
  return row.IsHealthy(device) && (in_use == nullptr || !in_use->contains(device.id));
}

}  // namespace

void FreeDevices::OnChange(const std::string& id) {
  // Nobody may ever ask again, as when the resource is gone.
  constexpr size_t kMostChanges = 256;
  if (revision_ == 0) return;
  if (changed_.size() < kMostChanges) {
    changed_.push_back(id);
  } else {
    revision_ = 0;
  }
}

std::span<const uint32_t> FreeDevices::Of(const DeviceRow& row, const IdsInUse* in_use) {
  if (revision_ != row.revision) {
    Rebuild(row, in_use);
  } else {
    for (const std::string& id : changed_)
      Update(row, in_use, id);
  }
  changed_.clear();
  return free_;
}

void FreeDevices::Rebuild(const DeviceRow& row, const IdsInUse* in_use) {
  revision_ = row.revision;
  free_.clear();
  for (uint32_t i = 0; i < row.devices.size(); ++i)
    if (IsFree(row, row.devices[i], in_use)) free_.push_back(i);
}

void FreeDevices::Update(const DeviceRow& row, const IdsInUse* in_use, const std::string& id) {
  const TableDevice* device = row.Find(id);
  if (device == nullptr) return;
  const auto index = static_cast<uint32_t>(device - row.devices.data());
  auto at = std::ranges::lower_bound(free_, index);
  const bool listed = at != free_.end() && *at == index;
  const bool free = IsFree(row, *device, in_use);
  if (free && !listed) free_.insert(at, index);
  if (!free && listed) free_.erase(at);
}

}  // namespace tenon::manager
