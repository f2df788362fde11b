#include "plugin/allocate_plan.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "base/strings.h"

namespace tenon::plugin {
namespace {

Result<const Device*> FindHealthy(const DeviceSet& devices, const std::string& id) {
  const Device* device = FindDevice(devices.devices, id);
  if (device == nullptr) return Error(Code::kNotFound, "not offered by this plugin");
  if (!device->healthy()) return Error(Code::kFailedPrecondition, "unhealthy: " + device->reason);
  return device;
}

/// One container path must not lead to two things, nor to one with two sets of permissions.
Result<void> CheckNodes(const ContainerAllocation& all, const ContainerAllocation& one) {
  for (const DeviceNode& node : one.device_nodes) {
    auto same =
        std::ranges::find(all.device_nodes, node.container_path, &DeviceNode::container_path);
    if (same != all.device_nodes.end() && same->permissions != node.permissions)
      return Error(Code::kFailedPrecondition, "device node " + node.container_path +
                                                  " is wanted with permissions " +
                                                  same->permissions + " and " + node.permissions);
  }
  return {};
}

/// Appends a value to a list that does not have it yet: replicas are one device.
void AppendOnce(std::string& list, const std::string& value) {
  for (std::string_view one : base::Split(list, ','))
    if (one == value) return;
  list.append(list.empty() ? "" : ",").append(value);
}

Result<void> AddDevice(DeviceParts& all, const DeviceSet& devices, const std::string& id,
                       const ResolveFn& resolve) {
  TENON_TRY(const Device* device, FindHealthy(devices, id));
  TENON_TRY(DeviceParts one, resolve(*device));
  TENON_TRY_VOID(CheckNodes(all.allocation, one.allocation));
  all.only_by_cdi |= one.only_by_cdi;
  std::vector<std::string> conflicts = MergeAllocation(all.allocation, one.allocation);
  if (!conflicts.empty()) return Error(Code::kFailedPrecondition, base::Join(conflicts, "; "));
  for (const auto& [name, value] : one.env_lists)
    AppendOnce(all.env_lists[name], value);
  all.groups.insert(one.groups.begin(), one.groups.end());
  return {};
}

std::string UpperCaseName(std::string_view text) {
  std::string name;
  for (char c : text) {
    if (c >= 'a' && c <= 'z')
      name += static_cast<char>(c - 'a' + 'A');
    else
      name += (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
  }
  return name;
}

Result<ContainerAllocation> PlanContainer(const ResourceName& resource, const DeviceSet& devices,
                                          std::vector<std::string> ids, const ResolveFn& resolve) {
  // The kubelet sends ids in no particular order; the same set shall look the same inside.
  std::ranges::sort(ids, base::NaturalLess);
  DeviceParts parts;
  for (const std::string& id : ids) {
    if (auto added = AddDevice(parts, devices, id, resolve); !added)
      return std::move(added).error().Wrap("device " + base::EscapeForLine(id));
  }
  ContainerAllocation all = std::move(parts.allocation);
  for (auto& [name, value] : parts.env_lists)
    all.env[ListVariable(name, resource)] = std::move(value);
  const std::string prefix = EnvironmentPrefix(resource);
  if (!ids.empty()) all.env[prefix + "_IDS"] = base::Join(ids, ",");
  std::string paths;
  for (const DeviceNode& node : all.device_nodes)
    AppendToPathList(paths, node.container_path);
  if (!paths.empty()) all.env[prefix + "_PATHS"] = std::move(paths);
  if (parts.only_by_cdi) {
    std::string host_paths;
    for (const DeviceNode& node : all.device_nodes)
      AppendToPathList(host_paths, node.host_path);
    if (!host_paths.empty()) all.annotations[NodesAnnotation(resource.text())] = host_paths;
    all.device_nodes.clear();
    all.mounts.clear();
  }
  std::vector<std::string> groups;
  for (uint32_t group : parts.groups)
    groups.push_back(std::to_string(group));
  if (!groups.empty()) all.env[prefix + "_GIDS"] = base::Join(groups, ",");
  return all;
}

}  // namespace

Result<std::vector<ContainerAllocation>> PlanAllocation(
    const ResourceName& resource, const DeviceSet& devices,
    const std::vector<api::AllocateRequest>& requests, const ResolveFn& resolve) {
  std::set<std::string_view> seen;
  for (const api::AllocateRequest& request : requests)
    for (const std::string& id : request.device_ids)
      if (!seen.insert(id).second)
        return Error(Code::kInvalidArgument,
                     "device " + base::EscapeForLine(id) + " is asked for twice in one request");
  std::vector<ContainerAllocation> plan;
  plan.reserve(requests.size());
  for (const api::AllocateRequest& request : requests) {
    TENON_TRY(plan.emplace_back(), PlanContainer(resource, devices, request.device_ids, resolve));
  }
  return plan;
}

void AppendToPathList(std::string& list, std::string_view path) {
  if (!list.empty()) list += ',';
  for (char c : path) {
    if (c == ',')
      list += "%2C";
    else if (c == '%')
      list += "%25";
    else
      list += c;
  }
}

std::vector<std::string> SplitPathList(std::string_view list) {
  std::vector<std::string> paths;
  if (list.empty()) return paths;
  for (std::string_view item : base::Split(list, ',')) {
    std::string& path = paths.emplace_back();
    for (size_t i = 0; i < item.size(); ++i) {
      const std::string_view code = item.substr(i, 3);
      const bool is_escape = code == "%2C" || code == "%25";
      path += code == "%2C" ? ',' : item[i];
      if (is_escape) i += 2;
    }
  }
  return paths;
}

std::string NodesAnnotation(std::string_view resource) {
  return "device-nodes." + std::string(resource);
}

std::string EnvironmentPrefix(const ResourceName& resource) {
  return "TENON_" + UpperCaseName(resource.text());
}

std::string ListVariable(const std::string& name, const ResourceName& resource) {
  return name + "_" + UpperCaseName(resource.text());
}

}  // namespace tenon::plugin
