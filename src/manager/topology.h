#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "manager/numa.h"

/// The kubelet's topology manager: on which NUMA nodes a container's devices should be.
/// Source: kubernetes pkg/kubelet/cm/topologymanager.
namespace tenon::manager {

enum class TopologyPolicy {
  kNone,            ///< NUMA nodes do not matter.
  kBestEffort,      ///< Aligned where that is possible, admitted anyway.
  kRestricted,      ///< Refused unless aligned as well as its quantities can be.
  kSingleNumaNode,  ///< Refused unless all of it is on one NUMA node.
};

/// What is aligned together.
enum class TopologyScope { kContainer, kPod };

struct TopologyOptions {
  TopologyPolicy policy = TopologyPolicy::kNone;
  TopologyScope scope = TopologyScope::kContainer;
  /// Of sets with equally many NUMA nodes take those that are closer to each other, instead of
  /// those with smaller numbers.
  bool prefer_closest = false;
  /// A machine with more is refused: what can be aligned grows with two to the power of them.
  int max_numa_nodes = 8;
};

/// The options of the kubelet's flags: --topology-manager-policy, -scope and -policy-options.
/// Errors: kInvalidArgument, as the kubelet words them.
Result<TopologyOptions> ParseTopologyOptions(const std::string& policy, const std::string& scope,
                                             const std::map<std::string, std::string>& options);

/// Errors: kFailedPrecondition, as the kubelet words them: the machine has too many NUMA nodes.
Result<void> CheckTopology(const TopologyOptions& options, const NumaMachine& machine);

/// NUMA nodes that would do; no mask means that any would.
struct TopologyHint {
  std::optional<NumaMask> mask;
  bool preferred = false;
  bool operator==(const TopologyHint&) const = default;
};

/// What one resource could do with; nullopt: it does not care. None at all: it cannot be had.
using TopologyHints = std::optional<std::vector<TopologyHint>>;

struct TopologyDecision {
  TopologyHint hint;
  bool admit = false;
  bool operator==(const TopologyDecision&) const = default;
};

/// The best that all resources can have together, and whether the policy takes it.
///
/// The kubelet walks the product of all hints. Here the resources are folded one after the other
/// over the distinct sets of NUMA nodes that can come out, of which there are few however long the
/// lists are; the best of the outcomes does not depend on how often or when one comes out.
TopologyDecision MergeHints(const std::vector<TopologyHints>& resources,
                            const TopologyOptions& options, const NumaMachine& machine);

}  // namespace tenon::manager
