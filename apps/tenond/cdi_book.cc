#include "tenond/cdi_book.h"

#include <utility>

namespace tenon::tenond {
namespace {

cdi::ContainerEdits EditsOf(const ContainerAllocation& allocation) {
  cdi::ContainerEdits edits;
  for (const auto& [name, value] : allocation.env)
    edits.env.emplace_back(name).append("=").append(value);
  for (const DeviceNode& node : allocation.device_nodes)
    edits.device_nodes.push_back({.path = node.container_path,
                                  .host_path = node.host_path,
                                  .permissions = node.permissions});
  for (const Mount& mount : allocation.mounts)
    edits.mounts.push_back({.host_path = mount.host_path,
                            .container_path = mount.container_path,
                            .options = {"rbind", mount.read_only ? "ro" : "rw"}});
  return edits;
}

cdi::ContainerEdits EditsOf(const discovery::FoundDevice& device) {
  ContainerAllocation allocation{.env = device.env};
  for (const discovery::FoundPath& path : device.paths) {
    if (path.mount)
      allocation.mounts.push_back({path.container_path, path.real_path, path.read_only});
    else
      allocation.device_nodes.push_back({path.container_path, path.real_path, path.permissions});
  }
  return EditsOf(allocation);
}

}  // namespace

CdiBook::CdiBook(base::Log& log, std::string directory, const OfferedElsewhereFn& offered_elsewhere)
    : log_(log), files_(std::move(directory)) {
  for (const std::string& kind : files_.Kinds()) {
    auto spec = files_.Read(kind);
    if (!spec) continue;
    specs_[kind] = *std::move(spec);
    if (!offered_elsewhere(kind)) leaving_.insert(kind);
  }
}

void CdiBook::SetResources(Resources resources) {
  for (const auto& [name, mode] : resources_)
    if (!resources.contains(name)) leaving_.insert(name);
  resources_ = std::move(resources);
  for (const auto& [name, mode] : resources_)
    leaving_.erase(name);
  RemoveUnheld();
}

void CdiBook::Publish(const std::string& resource, const discovery::Snapshot& devices) {
  if (!resources_.contains(resource)) return;
  cdi::Spec spec{.kind = resource};
  for (const discovery::FoundDevicePtr& device : devices) {
    if (device->health == Health::kUnhealthy) continue;
    cdi::ContainerEdits edits = EditsOf(*device);
    // CDI allows no device that changes nothing.
    if (edits != cdi::ContainerEdits())
      spec.devices[cdi::DeviceName(device->id.value)] = std::move(edits);
  }
  cdi::Spec& present = specs_[resource];
  if (!held_) {
    spec.devices.merge(present.devices);
  } else {
    for (const std::string& id : (*held_)[resource])
      if (auto kept = present.devices.extract(cdi::DeviceName(id)))
        spec.devices.insert(std::move(kept));
  }
  present = std::move(spec);
  auto written = Write(resource);
  std::string& trouble = troubles_[resource];
  std::string now = written ? std::string() : written.error().message();
  if (!now.empty() && now != trouble)
    log_.Error("the CDI spec cannot be written", {{"resource", resource}, {"error", now}});
  trouble = std::move(now);
}

Result<void> CdiBook::Write(const std::string& resource) {
  return files_.Put(specs_[resource]);
}

Result<void> CdiBook::Allocate(const std::string& resource, const std::string& id,
                               plugin::DeviceParts& parts) {
  auto mode = resources_.find(resource);
  if (mode == resources_.end()) return {};
  cdi::ContainerEdits edits = EditsOf(parts.allocation);
  if (edits == cdi::ContainerEdits()) return {};
  const std::string name = cdi::DeviceName(id);
  cdi::Spec& spec = specs_[resource];
  spec.kind = resource;
  spec.devices[name] = std::move(edits);
  const bool only = mode->second == config::Cdi::kOnly;
  if (auto written = Write(resource); !written && only) {
    return std::move(written).error().Wrap("CDI spec");
  } else if (!written) {
    log_.Error("the CDI spec cannot be written, the container gets its devices without it",
               {{"resource", resource}, {"error", written.error().message()}});
    return {};
  }
  parts.allocation.cdi_devices.push_back(resource + "=" + name);
  parts.only_by_cdi = only;
  return {};
}

void CdiBook::OnHoldings(const std::vector<discovery::Holding>& holdings) {
  held_.emplace();
  for (const discovery::Holding& holding : holdings)
    AddHolding(holding);
  RemoveUnheld();
}

void CdiBook::AddHolding(const discovery::Holding& holding) {
  if (held_) (*held_)[holding.resource].insert(holding.ids.begin(), holding.ids.end());
}

void CdiBook::RemoveUnheld() {
  if (!held_) return;
  for (auto next = leaving_.begin(); next != leaving_.end();) {
    auto at = next++;
    if (!(*held_)[*at].empty()) continue;
    if (auto removed = files_.Remove(*at); !removed)
      log_.Warning("a CDI spec stays behind", {{"error", removed.error().message()}});
    specs_.erase(*at);
    troubles_.erase(*at);
    leaving_.erase(at);
  }
}

}  // namespace tenon::tenond
