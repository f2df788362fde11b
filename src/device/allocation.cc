#include "device/allocation.h"

#include <algorithm>

namespace tenon {
namespace {

using Strings = std::map<std::string, std::string>;

void MergeStrings(Strings& into, const Strings& from, std::string_view kind,
                  std::vector<std::string>& conflicts) {
  for (const auto& [name, value] : from) {
    auto [at, added] = into.emplace(name, value);
    if (!added && at->second != value)
      conflicts.push_back(std::string(kind) + " " + name + " has conflicting setting");
  }
}

template <class T>
void MergePaths(std::vector<T>& into, const std::vector<T>& from, std::string_view kind,
                std::vector<std::string>& conflicts) {
  for (const T& item : from) {
    auto same = std::ranges::find(into, item.container_path, &T::container_path);
    if (same == into.end()) {
      into.push_back(item);
    } else if (same->host_path != item.host_path) {
      conflicts.push_back(std::string(kind) + " " + item.container_path +
                          " has conflicting host paths: " + same->host_path + " is kept, " +
                          item.host_path + " is not");
    }
  }
}

}  // namespace

std::vector<std::string> MergeAllocation(ContainerAllocation& into,
                                         const ContainerAllocation& from) {
  std::vector<std::string> conflicts;
  MergeStrings(into.env, from.env, "environment variable", conflicts);
  MergePaths(into.device_nodes, from.device_nodes, "container device", conflicts);
  MergePaths(into.mounts, from.mounts, "container mount", conflicts);
  MergeStrings(into.annotations, from.annotations, "annotation", conflicts);
  for (const std::string& name : from.cdi_devices)
    if (std::ranges::find(into.cdi_devices, name) == into.cdi_devices.end())
      into.cdi_devices.push_back(name);
  return conflicts;
}

}  // namespace tenon
