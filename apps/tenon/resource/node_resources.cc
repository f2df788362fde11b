#include "tenon/resource/node_resources.h"

#include <string_view>

#include "device/resource_name.h"

namespace tenon::cli {
namespace {

constexpr std::string_view kField = "f:";

bool IsKubelet(const Value& entry) {
  const Value* manager = entry.Find("manager");
  const std::string name = manager == nullptr ? "" : manager->text();
  return name == "kubelet" || name == "tenon-kubelet" ||
         entry.At({"fieldsV1", "f:status", "f:nodeInfo"}) != nullptr ||
         entry.At({"fieldsV1", "f:status", "f:capacity", "f:cpu"}) != nullptr;
}

void ReadManagers(const Value& entry, std::map<std::string, NodeResource>& resources) {
  const Value* manager = entry.Find("manager");
  const Value* fields = entry.At({"fieldsV1", "f:status", "f:capacity"});
  if (fields == nullptr) return;
  for (const Value::Member& field : fields->members()) {
    if (!field.key.starts_with(kField)) continue;
    auto found = resources.find(field.key.substr(kField.size()));
    if (found == resources.end() || found->second.is_kubelets) continue;
    found->second.is_kubelets = IsKubelet(entry);
    found->second.manager = manager == nullptr ? "" : manager->text();
  }
}

}  // namespace

std::map<std::string, NodeResource> ReadNodeResources(const Value& kube_node) {
  std::map<std::string, NodeResource> resources;
  const auto read = [&](std::string_view list, std::string NodeResource::*amount) {
    const Value* amounts = kube_node.At({"status", list});
    if (amounts == nullptr) return;
    for (const Value::Member& member : amounts->members()) {
      if (ResourceName::Parse(member.key)) resources[member.key].*amount = member.value.text();
    }
  };
  read("capacity", &NodeResource::capacity);
  read("allocatable", &NodeResource::allocatable);
  if (const Value* entries = kube_node.At({"metadata", "managedFields"})) {
    for (const Value& entry : entries->items())
      ReadManagers(entry, resources);
  }
  return resources;
}

}  // namespace tenon::cli
