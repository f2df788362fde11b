#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/host.h"

namespace tenon::manager {

/// A set of NUMA nodes, of the numbers 0 to 63.
using NumaMask = uint64_t;

inline constexpr int kMostNumaNodes = 64;

/// The set that has only `numa_node`; empty if the number is none that a set can have.
constexpr NumaMask NumaBit(int64_t numa_node) {
  return numa_node < 0 || numa_node >= kMostNumaNodes ? 0 : NumaMask{1} << numa_node;
}

NumaMask NumaMaskOf(const std::vector<int64_t>& numa_nodes);

/// The NUMA nodes that a machine has, and how far they are from each other.
struct NumaMachine {
  /// NUMA node → the distances from it, by NUMA node, as the firmware gives them: 10 to itself.
  std::map<int, std::map<int, int>> distances;

  NumaMask All() const;
  size_t size() const { return distances.size(); }
  /// Of all ordered pairs in `mask`, each node with itself among them. Only sets of equal size can
  /// be compared by it.
  int64_t SumOfDistances(NumaMask mask) const;
  bool operator==(const NumaMachine&) const = default;
};

/// What the kernel says in /sys/devices/system/node; a kernel without NUMA has one NUMA node, 0.
/// Errors: what cannot be read, or is no list of distances.
Result<NumaMachine> ReadNumaMachine(host::Host& host);

}  // namespace tenon::manager
