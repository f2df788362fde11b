#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

/// The scheduler's view: which kube nodes a pod could be bound to, by the counts of extended
/// resources alone. Device ids, health and topology are the kubelet's, which may still refuse a pod
/// that fits here; cpu and memory are not looked at.
/// Source: kubernetes pkg/scheduler/framework/plugins/noderesources/fit.go.
namespace tenon::pod {

/// Resource → quantity.
using ResourceCounts = std::map<std::string, int64_t>;

/// What the scheduler knows of a pod.
struct ScheduledPod {
  std::string name;       ///< "default/meter".
  std::string kube_node;  ///< The one it is bound to; empty if none.
  bool ended = false;     ///< Succeeded or Failed: holds nothing any more.
  ResourceCounts requests;
  bool operator==(const ScheduledPod&) const = default;
};

struct KubeNode {
  std::string name;
  ResourceCounts allocatable;
  bool operator==(const KubeNode&) const = default;
};

struct Shortage {
  std::string resource;
  int64_t requested = 0;
  int64_t free = 0;  ///< Below zero where more is requested than there is.
  bool operator==(const Shortage&) const = default;

  /// "Insufficient example.com/serial", as the scheduler words it.
  std::string Message() const { return "Insufficient " + resource; }
};

struct NodeFit {
  std::string kube_node;
  std::vector<Shortage> shortages;  ///< Empty: the pod fits.
  bool operator==(const NodeFit&) const = default;
};

/// Reads pods, or kube nodes, as a cluster or a person writes them, YAML or JSON: single objects,
/// several documents, Lists. Fields that do not matter here are not looked at. Objects of other
/// kinds are errors. A pod counts for the larger of what its app containers and sidecars want
/// together and of what an init container wants beside the sidecars before it, plus its overhead;
/// requests that are not given are the limits. Source: component-helpers resource/helpers.go.
/// Errors: kInvalidArgument, "name:line:column: why".
Result<std::vector<ScheduledPod>> ReadScheduledPods(std::string_view text, std::string_view name);
Result<std::vector<KubeNode>> ReadKubeNodes(std::string_view text, std::string_view name);

/// Whether `pod` fits beside those of `others` that are bound and have not ended, one answer for
/// each of `kube_nodes` in their order.
std::vector<NodeFit> FitPod(const ScheduledPod& pod, const std::vector<KubeNode>& kube_nodes,
                            const std::vector<ScheduledPod>& others);

}  // namespace tenon::pod
