#include "manager/pod_devices.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "base/strings.h"
#include "manager/reservation.h"

namespace tenon::manager {

std::vector<std::string> HeldDevices::AllIds() const {
  std::vector<std::string> all;
  for (const auto& [numa, some] : ids)
    all.insert(all.end(), some.begin(), some.end());
  std::ranges::sort(all, base::NaturalLess);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

IdsByNuma GroupByNuma(const std::vector<std::string>& ids, const DeviceRow* row) {
  IdsByNuma groups;
  for (const std::string& id : ids) {
    const TableDevice* device = row != nullptr ? row->Find(id) : nullptr;
    if (device == nullptr || device->numa_nodes.empty()) {
      groups[kNoNuma].push_back(id);
      continue;
    }
    for (int64_t numa : std::set(device->numa_nodes.begin(), device->numa_nodes.end()))
      groups[numa].push_back(id);
  }
  for (auto& [numa, group] : groups)
    std::ranges::sort(group);
  return groups;
}

Result<std::unique_ptr<Reservation>> PodDevices::Reserve(HoldKey key,
                                                         std::vector<std::string> ids) {
  if (reservations_.contains(key))
    return Error(Code::kFailedPrecondition, "devices of " + key.resource +
                                                " are being allocated for pod " + key.pod_uid +
                                                ", container " + key.container + " already");
  return std::make_unique<Reservation>(*this, std::move(key), std::move(ids));
}

void PodDevices::Insert(const HoldKey& key, HeldDevices devices, std::string encoded) {
  checkpoint::Entry entry{.pod_uid = key.pod_uid,
                          .container_name = key.container,
                          .resource_name = key.resource,
                          .device_ids = std::map<int64_t, checkpoint::Ids>(),
                          .alloc_resp = std::move(encoded)};
  for (const auto& [numa, ids] : devices.ids)
    (*entry.device_ids)[numa] = ids;
  Insert(key, std::move(devices), std::move(entry));
}

void PodDevices::Insert(const HoldKey& key, HeldDevices devices, checkpoint::Entry entry) {
  Pod* pod = FindPod(key.pod_uid);
  if (pod == nullptr) {
    pod = &pods_.emplace_back(Pod{.uid = key.pod_uid, .containers = {}});
    by_uid_[key.pod_uid] = std::prev(pods_.end());
  }
  devices.entry = text_.Add(std::move(entry));
  const std::vector<std::string> ids = devices.AllIds();
  Hold(key.resource, ids);
  auto [held, added] = pod->containers[key.container].try_emplace(key.resource);
  if (!added) Erase(key.resource, held->second);
  held->second = std::move(devices);
  for (const std::string& id : ids)
    owners_[key.resource][id] = key.pod_uid;
}

void PodDevices::Erase(const std::string& resource, const HeldDevices& held) {
  text_.Remove(held.entry);
  Release(resource, held.AllIds());
}

void PodDevices::Remove(const HoldKey& key) {
  Pod* pod = FindPod(key.pod_uid);
  if (pod == nullptr) return;
  auto container = pod->containers.find(key.container);
  if (container == pod->containers.end()) return;
  auto held = container->second.find(key.resource);
  if (held == container->second.end()) return;
  Erase(key.resource, held->second);
  container->second.erase(held);
  if (container->second.empty()) pod->containers.erase(container);
  if (pod->containers.empty()) RemovePod(key.pod_uid);
}

bool PodDevices::RemovePod(const std::string& pod_uid) {
  auto at = by_uid_.find(pod_uid);
  if (at == by_uid_.end()) return false;
  for (const auto& [container, resources] : at->second->containers)
    for (const auto& [resource, held] : resources)
      Erase(resource, held);
  pods_.erase(at->second);
  by_uid_.erase(at);
  return true;
}

const HeldDevices* PodDevices::Find(const HoldKey& key) const {
  const Resources* resources = Find(key.pod_uid, key.container);
  if (resources == nullptr) return nullptr;
  auto at = resources->find(key.resource);
  return at == resources->end() ? nullptr : &at->second;
}

const PodDevices::Resources* PodDevices::Find(const std::string& pod_uid,
                                              const std::string& container) const {
  auto pod = by_uid_.find(pod_uid);
  if (pod == by_uid_.end()) return nullptr;
  auto at = pod->second->containers.find(container);
  return at == pod->second->containers.end() ? nullptr : &at->second;
}

std::vector<std::string> PodDevices::Pods() const {
  std::vector<std::string> uids;
  for (const Pod& pod : pods_)
    uids.push_back(pod.uid);
  return uids;
}

const std::string* PodDevices::FindOwner(const std::string& resource, const std::string& id) const {
  auto owners = owners_.find(resource);
  if (owners == owners_.end()) return nullptr;
  auto owner = owners->second.find(id);
  return owner == owners->second.end() ? nullptr : &owner->second;
}

const IdsInUse* PodDevices::InUse(const std::string& resource) const {
  auto at = in_use_.find(resource);
  return at == in_use_.end() ? nullptr : &at->second;
}

std::span<const uint32_t> PodDevices::Free(const std::string& resource, const DeviceRow* row) {
  if (row == nullptr) return {};
  return free_[resource].Of(*row, InUse(resource));
}

std::vector<HoldKey> PodDevices::Restore(const std::vector<checkpoint::Entry>& entries,
                                         const AllocationDecoder& decode) {
  std::vector<HoldKey> undecodable;
  for (const checkpoint::Entry& entry : entries) {
    HoldKey key{entry.pod_uid, entry.container_name, entry.resource_name};
    HeldDevices held;
    if (Result<ContainerAllocation> decoded = decode(entry.alloc_resp.value_or(""))) {
      held.allocation = *std::move(decoded);
    } else {
      undecodable.push_back(key);
    }
    if (entry.device_ids)
      for (const auto& [numa, ids] : *entry.device_ids)
        held.ids[numa] = ids.value_or(std::vector<std::string>());
    Insert(key, std::move(held), entry);
  }
  return undecodable;
}

void PodDevices::Hold(const std::string& resource, const std::vector<std::string>& ids) {
  if (ids.empty()) return;
  IdsInUse& in_use = in_use_[resource];
  FreeDevices& free = free_[resource];
  for (const std::string& id : ids)
    if (++in_use[id] == 1) free.OnChange(id);
}

void PodDevices::Release(const std::string& resource, const std::vector<std::string>& ids) {
  if (ids.empty()) return;
  auto in_use = in_use_.find(resource);
  TENON_CHECK(in_use != in_use_.end());
  for (const std::string& id : ids) {
    auto at = in_use->second.find(id);
    TENON_CHECK(at != in_use->second.end());
    if (--at->second > 0) continue;
    in_use->second.erase(at);
    free_[resource].OnChange(id);
    if (auto owners = owners_.find(resource); owners != owners_.end()) owners->second.erase(id);
  }
  if (in_use->second.empty()) in_use_.erase(in_use);
}

PodDevices::Pod* PodDevices::FindPod(const std::string& pod_uid) {
  auto at = by_uid_.find(pod_uid);
  return at == by_uid_.end() ? nullptr : &*at->second;
}

}  // namespace tenon::manager
