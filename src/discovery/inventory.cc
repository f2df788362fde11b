#include "discovery/inventory.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <utility>

#include "base/strings.h"
#include "device/diff.h"

namespace tenon::discovery {
namespace {

std::string HealthText(const Device& device) {
  return device.healthy() ? "healthy" : "unhealthy: " + device.reason;
}

const DeviceId& IdOf(const FoundDevicePtr& device) {
  return device->id;
}

/// Where the device with this id is in `sorted`, or the next one. Requires: not before `from`.
size_t Seek(const Snapshot& sorted, size_t from, const DeviceId& id) {
  while (from < sorted.size() && sorted[from]->id < id)
    ++from;
  return from;
}

/// What is published of `found`, given what was found last and what was published of that.
std::vector<Device> Publish(const Snapshot& found, const Snapshot& last_found,
                            const std::vector<Device>& last, base::WallTime now) {
  std::vector<Device> devices;
  devices.reserve(found.size());
  size_t at = 0;
  for (const FoundDevicePtr& one : found) {
    at = Seek(last_found, at, one->id);
    const bool is_known = at < last.size() && last[at].id == one->id;
    if (is_known && last_found[at] == one) {
      devices.push_back(last[at]);
      continue;
    }
    const bool same_health = is_known && last[at].health == one->health;
    devices.push_back({.id = one->id,
                       .health = one->health,
                       .reason = one->reason,
                       .since = same_health ? last[at].since : now,
                       .numa_nodes = one->numa_nodes});
  }
  return devices;
}

}  // namespace

void Inventory::Replace(SourcesByResource sources, std::vector<std::string> order) {
  std::erase_if(resources_, [&](const auto& entry) { return !sources.contains(entry.first); });
  replacing_ = true;
  for (auto& [name, new_sources] : sources) {
    Resource& resource = resources_[name];
    resource.sources = std::move(new_sources);
    resource.snapshots.assign(resource.sources.size(), std::nullopt);
    for (size_t i = 0; i < resource.sources.size(); ++i) {
      resource.sources[i]->Start(
          [this, name = name, i](Snapshot snapshot) { OnReport(name, i, std::move(snapshot)); });
    }
  }
  replacing_ = false;
  order_ = order.empty() ? ResourceNames() : std::move(order);
  UpdateAll();
}

void Inventory::UpdateAll() {
  NodeClaims claims;
  holdings_matter_ = false;
  std::vector<std::pair<std::string, DeviceSetPtr>> changes;
  for (const std::string& name : order_)
    if (auto entry = resources_.find(name);
        entry != resources_.end() && Update(name, entry->second, claims))
      changes.emplace_back(name, entry->second.devices);
  std::weak_ptr<bool> alive = alive_;
  for (const auto& [name, devices] : changes) {
    ChangedFn changed = changed_;  // The call may destroy this.
    changed(name, devices);
    if (alive.expired()) return;
  }
}

void Inventory::SetHoldings(std::vector<Holding> holdings) {
  if (holdings_.Set(std::move(holdings))) UpdateAll();
}

void Inventory::Rescan() {
  std::weak_ptr<bool> alive = alive_;
  for (const std::string& name : ResourceNames()) {
    for (size_t i = 0;; ++i) {
      // Looked up again each time: a report may replace all sources.
      auto entry = resources_.find(name);
      if (entry == resources_.end() || i >= entry->second.sources.size()) break;
      entry->second.sources[i]->Rescan();
      if (alive.expired()) return;
    }
  }
}

std::vector<std::string> Inventory::ResourceNames() const {
  std::vector<std::string> names;
  for (const auto& [name, resource] : resources_)
    names.push_back(name);
  return names;
}

DeviceSetPtr Inventory::devices(std::string_view resource) const {
  auto entry = resources_.find(resource);
  return entry == resources_.end() ? nullptr : entry->second.devices;
}

Snapshot Inventory::Found(std::string_view resource) const {
  auto entry = resources_.find(resource);
  return entry == resources_.end() ? Snapshot{} : entry->second.found;
}

const FoundDevice* Inventory::Find(std::string_view resource, std::string_view id) const {
  auto entry = resources_.find(resource);
  return entry == resources_.end() ? nullptr : FindById(entry->second.found, id);
}

void Inventory::OnReport(const std::string& name, size_t source, Snapshot snapshot) {
  auto entry = resources_.find(name);
  entry->second.snapshots[source] = std::move(snapshot);
  if (!replacing_) UpdateAll();
}

bool Inventory::Update(const std::string& name, Resource& resource, NodeClaims& claims) {
  Snapshot found = Merge(name, resource, claims);
  if (!std::ranges::all_of(resource.snapshots, &std::optional<Snapshot>::has_value)) return false;
  if (resource.devices && found == resource.found) return false;
  const std::vector<Device> none;
  const std::vector<Device>& last = resource.devices ? resource.devices->devices : none;
  std::vector<Device> devices = Publish(found, resource.found, last, clock_.WallNow());
  Record(name, resource, found, devices);
  resource.found = std::move(found);
  if (remade_) remade_(name);
  if (resource.devices && last == devices) return false;
  uint64_t revision = resource.devices ? resource.devices->revision + 1 : 1;
  resource.devices = std::make_shared<const DeviceSet>(DeviceSet{revision, std::move(devices)});
  return true;
}

Snapshot Inventory::Merge(const std::string& name, Resource& resource, NodeClaims& claims) {
  Snapshot merged;
  std::unordered_set<std::string_view> ids;
  std::set<std::string> clashes;
  for (const auto& snapshot : resource.snapshots) {
    if (!snapshot) continue;
    for (const FoundDevicePtr& device : *snapshot) {
      if (ids.insert(device->id.value).second) {
        merged.push_back(device);
        holdings_matter_ |= holdings_.MarkIfHeldOtherwise(name, merged.back());
        claims.Claim(name, merged.back());
        continue;
      }
      if (clashes.insert(device->id.value).second && !resource.clashes.contains(device->id.value))
        log_.Warning("two rules offer one device, the first wins",
                     {{"resource", name}, {"device", device->id.value}});
    }
  }
  resource.clashes = std::move(clashes);
  std::ranges::sort(merged, {}, IdOf);
  Snapshot vanished = holdings_.VanishedWhileHeld(name, merged);
  if (vanished.empty()) return merged;
  holdings_matter_ = true;
  std::ranges::move(vanished, std::back_inserter(merged));
  std::ranges::sort(merged, {}, IdOf);
  return merged;
}

void Inventory::Record(const std::string& name, const Resource& resource, const Snapshot& found,
                       const std::vector<Device>& devices) {
  if (!resource.devices) {
    Tell(name, "", "devices found: " + std::to_string(found.size()));
    for (const Device& device : devices)
      if (!device.healthy()) Tell(name, device.id.value, HealthText(device));
    return;
  }
  DeviceSetDiff diff = Diff(resource.devices->devices, devices);
  for (const DeviceId& id : diff.removed)
    Tell(name, id.value, "removed");
  for (const DeviceId& id : diff.added) {
    const Device* device = FindDevice(devices, id.value);
    Tell(name, id.value, device->healthy() ? "added" : "added, " + HealthText(*device));
  }
  for (const Device& device : diff.health_changed)
    Tell(name, device.id.value, HealthText(device));
  size_t at = 0;
  for (const FoundDevicePtr& is : found) {
    at = Seek(resource.found, at, is->id);
    if (at == resource.found.size()) break;
    const FoundDevicePtr& was = resource.found[at];
    if (was == is || was->id != is->id || was->device_number == is->device_number) continue;
    if (was->device_number.empty() || is->device_number.empty()) continue;
    Tell(name, is->id.value, "renumbered from " + was->device_number + " to " + is->device_number);
  }
}

void Inventory::Tell(const std::string& name, const std::string& device, const std::string& text) {
  base::LogFields fields{{"resource", name}};
  if (!device.empty()) fields.emplace_back("device", device);
  log_.Info(text, fields);
  events_.Add({clock_.WallNow(), name, device, text});
}

}  // namespace tenon::discovery
