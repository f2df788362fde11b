#include "tenon/resource/node_patch.h"

#include <string_view>
#include <utility>

#include "tenon/resource/node_resources.h"

namespace tenon::cli {
namespace {

constexpr std::string_view kCapacity = "/status/capacity";
constexpr std::string_view kAllocatable = "/status/allocatable";

/// One step of a JSON pointer. Source: RFC 6901 §3.
std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out.push_back(c);
    }
  }
  return out;
}

Value Operation(std::string_view kind, const std::string& path) {
  Value operation = Value::Object();
  operation.Add("op", Value::String(kind));
  operation.Add("path", Value::String(path));
  return operation;
}

void Append(NodePatch& patch, std::string_view kind, const std::string& path, Value value) {
  Value operation = Operation(kind, path);
  operation.Add("value", std::move(value));
  patch.operations.Append(std::move(operation));
}

std::string Pointer(std::string_view parent, const std::string& name) {
  return std::string(parent) + "/" + Escaped(name);
}

/// What the API server says it is worth; 0 for nothing.
bool SameAmount(const std::string& text, const pod::Quantity& quantity) {
  auto amount = pod::Quantity::Parse(text);
  return amount && *amount == quantity;
}

bool IsOffered(const NodeResource& resource) {
  return !resource.capacity.empty() && !SameAmount(resource.capacity, pod::Quantity::Whole(0));
}

/// Why a resource must be left alone; empty if it need not.
std::string Refusal(const std::string& name, const NodeResource& resource) {
  if (!resource.is_kubelets || !IsOffered(resource)) return {};
  return name + " belongs to the kubelet, which offers " + resource.capacity +
         " of it for a device plugin and would soon say so again; stop the plugin first, or "
         "choose another name";
}

void SetOne(const Wish& wish, const NodeResource& resource, Existing existing, NodePatch& patch) {
  const std::string& name = wish.name.text();
  const std::string path = Pointer(kCapacity, name);
  if (std::string refusal = Refusal(name, resource); !refusal.empty()) {
    patch.refusals.push_back(std::move(refusal));
    return;
  }
  if (!resource.capacity.empty() && SameAmount(resource.capacity, wish.quantity)) return;
  if (existing == Existing::kRefuse && IsOffered(resource)) {
    patch.refusals.push_back(name + " is there already, " + resource.capacity +
                             " of it; 'tenon resource set' changes that");
    return;
  }
  patch.changes.push_back(name + ": " + (resource.capacity.empty() ? "none" : resource.capacity) +
                          " -> " + wish.quantity.text());
  if (resource.capacity.empty())
    return Append(patch, "add", path, Value::String(wish.quantity.text()));
  Append(patch, "test", path, Value::String(resource.capacity));
  Append(patch, "replace", path, Value::String(wish.quantity.text()));
}

}  // namespace

NodePatch PatchToSet(const Value& kube_node, const std::vector<Wish>& wishes, Existing existing) {
  auto resources = ReadNodeResources(kube_node);
  NodePatch patch;
  // A node that has never been up has no such key, and nothing can be added below it.
  if (kube_node.At({"status", "capacity"}) == nullptr)
    Append(patch, "add", std::string(kCapacity), Value::Object());
  for (const Wish& wish : wishes)
    SetOne(wish, resources[wish.name.text()], existing, patch);
  if (patch.changes.empty()) patch.operations = Value::Array();
  return patch;
}

NodePatch PatchToRemove(const Value& kube_node, const std::vector<ResourceName>& names) {
  auto resources = ReadNodeResources(kube_node);
  NodePatch patch;
  for (const ResourceName& resource_name : names) {
    const std::string& name = resource_name.text();
    const NodeResource& resource = resources[name];
    if (std::string refusal = Refusal(name, resource); !refusal.empty()) {
      patch.refusals.push_back(std::move(refusal));
      continue;
    }
    if (resource.capacity.empty() && resource.allocatable.empty()) continue;
    patch.changes.push_back(name + ": " +
                            (resource.capacity.empty() ? resource.allocatable : resource.capacity) +
                            " -> none");
    if (!resource.capacity.empty()) {
      Append(patch, "test", Pointer(kCapacity, name), Value::String(resource.capacity));
      patch.operations.Append(Operation("remove", Pointer(kCapacity, name)));
    }
    if (!resource.allocatable.empty())
      patch.operations.Append(Operation("remove", Pointer(kAllocatable, name)));
  }
  return patch;
}

}  // namespace tenon::cli
