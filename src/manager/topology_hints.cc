#include "manager/topology_hints.h"

#include <bit>
#include <map>
#include <vector>

namespace tenon::manager {
namespace {

/// The devices that have the same NUMA nodes.
struct Group {
  int64_t all = 0;
  int64_t available = 0;
  int64_t reusable = 0;
};

/// Calls `visit` with each set of `size` of the nodes, in lexicographic order.
template <class Visit>
void ForEachSubset(const std::vector<NumaMask>& nodes, size_t size, size_t first, NumaMask chosen,
                   const Visit& visit) {
  if (size == 0) return visit(chosen);
  for (size_t i = first; i + size <= nodes.size(); ++i)
    ForEachSubset(nodes, size - 1, i + 1, chosen | nodes[i], visit);
}

class Generator final {
 public:
  Generator(const HintRequest& request, const DeviceRow& row, std::span<const uint32_t> free,
            const NumaMachine& machine)
      : quantity_(request.quantity) {
    NumaMask used = 0;
    for (const TableDevice& device : row.devices) {
      if (device.numa_nodes.empty()) continue;
      Group& group = groups_[NumaMaskOf(device.numa_nodes)];
      ++group.all;
      if (request.have && request.have->contains(device.id)) ++group.available;
      if (request.reusable.contains(device.id)) ++group.reusable;
    }
    for (const auto& [mask, group] : groups_)
      used |= mask;
    if (!request.have)
      for (uint32_t index : free)
        if (const TableDevice& device = row.devices[index]; !device.numa_nodes.empty())
          ++groups_[NumaMaskOf(device.numa_nodes)].available;
    NumaMask nodes = used & machine.All();
    if (nodes == 0) nodes = machine.All();
    for (; nodes != 0; nodes &= nodes - 1)
      nodes_.push_back(nodes & -nodes);
  }

  std::vector<TopologyHint> Generate() const {
    std::vector<TopologyHint> hints;
    size_t smallest = nodes_.size();
    for (size_t size = 1; size <= nodes_.size(); ++size)
      ForEachSubset(nodes_, size, 0, 0, [&](NumaMask set) {
        if (size < smallest && Covers(set)) smallest = size;
        if (Matches(set)) hints.push_back({.mask = set, .preferred = false});
      });
    for (TopologyHint& hint : hints)
      hint.preferred = static_cast<size_t>(std::popcount(*hint.mask)) == smallest;
    return hints;
  }

 private:
  /// Whether the set has so many devices, whatever their state.
  bool Covers(NumaMask set) const {
    int64_t devices = 0;
    for (const auto& [mask, group] : groups_)
      if ((mask & set) != 0) devices += group.all;
    return devices >= quantity_;
  }
  /// Whether the devices can be had from the set, all reusable ones among them.
  bool Matches(NumaMask set) const {
    int64_t devices = 0;
    for (const auto& [mask, group] : groups_) {
      if ((mask & set) != 0) {
        devices += group.available + group.reusable;
      } else if (group.reusable > 0) {
        return false;
      }
    }
    return devices >= quantity_;
  }

  const int64_t quantity_;
  std::map<NumaMask, Group> groups_;
  std::vector<NumaMask> nodes_;
};

}  // namespace

TopologyHints DeviceHints(const HintRequest& request, const DeviceRow* row,
                          std::span<const uint32_t> free, const NumaMachine& machine) {
  if (row == nullptr || !row->has_numa) return std::nullopt;
  const auto quantity = static_cast<size_t>(request.quantity);
  const bool possible = request.have ? request.have->size() == quantity
                                     : free.size() + request.reusable.size() >= quantity;
  if (!possible) return std::vector<TopologyHint>();
  return Generator(request, *row, free, machine).Generate();
}

}  // namespace tenon::manager
