#pragma once

#include <string>
#include <vector>

#include "tenon/resource/wish.h"
#include "value/value.h"

namespace tenon::cli {

/// A JSON patch (RFC 6902) of a Node's status, and what it comes to.
struct NodePatch {
  Value operations = Value::Array();
  std::vector<std::string> changes;   ///< "example.com/dongle: 2 -> 4".
  std::vector<std::string> refusals;  ///< Why a resource is left out.
  bool empty() const { return operations.items().empty(); }
};

/// What to do about a resource that is there with another quantity.
enum class Existing {
  kReplace,
  kRefuse,  ///< Unless it is 0, as the kubelet leaves it behind.
};

/// The patch that gives a node these capacities; nothing for those that it has. What is replaced is
/// tested for first, so that a change that somebody else makes meanwhile is not lost. Refused is
/// what the kubelet offers for a device plugin: it would write its own number again.
NodePatch PatchToSet(const Value& kube_node, const std::vector<Wish>& wishes, Existing existing);

/// The patch that takes resources from a node, from allocatable as well, so that no pod is sent
/// there before the kubelet has noticed.
NodePatch PatchToRemove(const Value& kube_node, const std::vector<ResourceName>& names);

}  // namespace tenon::cli
