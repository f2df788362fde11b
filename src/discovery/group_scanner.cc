#include "discovery/group_scanner.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "discovery/node_options.h"

namespace tenon::discovery {
namespace {

void AddPart(FoundDevice& device, const FoundDevice& part, std::vector<DeviceId>* ids) {
  if (ids != nullptr) ids->push_back(part.id);
  if (device.device_number.empty()) device.device_number = part.device_number;
  if (part.health == Health::kUnhealthy && device.health == Health::kHealthy)
    MakeUnhealthy(device, part.id.value + ": " + part.reason);
  device.paths.insert(device.paths.end(), part.paths.begin(), part.paths.end());
  for (const auto& [name, value] : part.env_lists) {
    std::string& list = device.env_lists[name];
    list.append(list.empty() ? "" : ",").append(value);
  }
  for (int numa_node : part.numa_nodes)
    if (std::ranges::find(device.numa_nodes, numa_node) == device.numa_nodes.end())
      device.numa_nodes.push_back(numa_node);
}

}  // namespace

bool GroupScanner::needs_uevents() const {
  return std::ranges::any_of(members_, [](const auto& m) { return m.scanner->needs_uevents(); });
}

bool GroupScanner::Concerns(const host::Uevent& event) const {
  return std::ranges::any_of(members_, [&](const auto& m) { return m.scanner->Concerns(event); });
}

FoundDevice GroupScanner::Assemble(const std::vector<Snapshot>& parts, size_t n) const {
  FoundDevice device;
  std::vector<DeviceId> ids;
  for (size_t m = 0; m < members_.size(); ++m) {
    const size_t at = n / members_[m].limit;
    if (at >= parts[m].size()) continue;
    const FoundDevice& part = *parts[m][at];
    if (members_[m].optional && part.health == Health::kUnhealthy) continue;
    AddPart(device, part, members_[m].optional ? nullptr : &ids);
  }
  device.id = JoinDeviceIds(ids);
  std::ranges::sort(device.numa_nodes);
  if (device.health == Health::kUnhealthy) device.paths.clear();
  CheckContainerPaths(device);
  return device;
}

Scan GroupScanner::Look(host::Host& host) {
  Scan scan;
  std::vector<Snapshot> parts;
  size_t count = SIZE_MAX;
  for (const GroupMember& member : members_) {
    Scan part = member.scanner->Look(host);
    scan.skipped.merge(part.skipped);
    scan.directories.merge(part.directories);
    if (!member.optional) count = std::min(count, part.devices.size() * member.limit);
    parts.push_back(std::move(part.devices));
  }
  if (count == SIZE_MAX) return scan;  // No member is mandatory.
  std::set<DeviceId> seen;
  for (size_t n = 0; n < count; ++n) {
    FoundDevice device = Assemble(parts, n);
    if (seen.insert(device.id).second)
      scan.Add(std::move(device));
    else
      scan.skipped.emplace(device.id.value,
                           Skipped{base::LogLevel::kWarning,
                                   "the same device nodes again; use \"share\" of the resource"});
  }
  return scan;
}

}  // namespace tenon::discovery
