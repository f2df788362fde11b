#pragma once

#include <map>
#include <string>

#include "value/value.h"

namespace tenon::cli {

/// What a Node object says of one extended resource.
struct NodeResource {
  std::string capacity;     ///< As the API writes it; empty if there is none.
  std::string allocatable;  ///< The same.
  /// Who wrote the capacity last, by metadata.managedFields; empty if that is not known.
  std::string manager;
  /// That was the kubelet: for a device plugin, or to set to 0 what somebody else had written.
  bool is_kubelets = false;
};

/// The extended resources of a Node object by name.
///
/// The kubelet is known by what nobody else writes, the cpu capacity and nodeInfo, as its field
/// manager is named after the program that it is part of: "kubelet", "k3s", "kubelite"; ours, which
/// writes neither, is "tenon-kubelet". It becomes the manager of what it changes and of nothing
/// else, so that an amount of ours stays ours, though the kubelet copies it to allocatable. Source:
/// apimachinery pkg/apis/meta/v1/types.go, ManagedFieldsEntry.
std::map<std::string, NodeResource> ReadNodeResources(const Value& kube_node);

}  // namespace tenon::cli
