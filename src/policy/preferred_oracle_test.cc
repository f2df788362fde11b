// Every request over up to six devices on two NUMA nodes, against the best of all choices.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "policy/preferred.h"
#include "policy/replicas.h"

namespace tenon::policy {
namespace {

using Ids = std::vector<std::string>;

/// What makes one choice better than another: the smaller, the better.
using Cost = std::tuple<size_t, size_t, Ids>;

struct World {
  DeviceSet devices;
  bool shared = false;

  std::string GroupOf(const std::string& id) const {
    return shared ? std::string(ReplicaOf(id)) : id;
  }
  int NumaOf(const std::string& id) const {
    const auto& numa_nodes = FindDevice(devices.devices, id)->numa_nodes;
    return numa_nodes.empty() ? -1 : numa_nodes[0];
  }
};

size_t Squares(const std::map<std::string, size_t>& counts) {
  size_t sum = 0;
  for (const auto& [name, count] : counts)
    sum += count * count;
  return sum;
}

Cost CostOf(Preference preference, const World& world, const Ids& available, const Ids& chosen) {
  std::map<std::string, size_t> devices;
  std::map<std::string, size_t> numa;
  for (const std::string& id : chosen) {
    ++devices[world.GroupOf(id)];
    ++numa[std::to_string(world.NumaOf(id))];
  }
  if (preference == Preference::kSpread) return {Squares(devices), Squares(numa), chosen};
  if (preference == Preference::kNuma) return {numa.size(), Squares(devices), chosen};
  if (preference == Preference::kInOrder) return {0, 0, chosen};
  const auto& groups = world.shared ? devices : numa;
  size_t left = 0;
  for (const std::string& id : available)
    left += groups.count(world.shared ? world.GroupOf(id) : std::to_string(world.NumaOf(id)));
  return {groups.size(), left, chosen};
}

Ids Subset(const Ids& ids, unsigned bits) {
  Ids some;
  for (size_t i = 0; i < ids.size(); ++i)
    if ((bits >> i & 1U) != 0) some.push_back(ids[i]);
  return some;
}

void CompareAll(const World& world, Preference preference) {
  Ids ids;
  for (const Device& device : world.devices.devices)
    ids.push_back(device.id.value);
  const unsigned all = (1U << ids.size()) - 1;
  for (unsigned required = 0; required <= all; ++required) {
    for (int size = __builtin_popcount(required); size <= static_cast<int>(ids.size()); ++size) {
      std::optional<Cost> best;
      for (unsigned bits = 0; bits <= all; ++bits) {
        if ((bits & required) != required || __builtin_popcount(bits) != size) continue;
        Cost cost = CostOf(preference, world, ids, Subset(ids, bits));
        if (!best || cost < *best) best = std::move(cost);
      }
      auto chosen = Prefer(preference, world.devices, world.shared,
                           {ids, Subset(ids, required), static_cast<int32_t>(size)});
      ASSERT_TRUE(chosen);
      std::ranges::sort(*chosen);
      ASSERT_EQ(*best, CostOf(preference, world, ids, *chosen))
          << "required " << required << " size " << size;
    }
  }
}

class PreferredOracle : public ::testing::TestWithParam<Preference> {};

TEST_P(PreferredOracle, ChoosesTheBestOfAllForDevicesOnTwoNumaNodes) {
  for (unsigned count = 1; count <= 6; ++count) {
    for (unsigned layout = 0; layout < (1U << count); ++layout) {
      World world;
      for (unsigned i = 0; i < count; ++i)
        world.devices.devices.push_back({.id = {std::string(1, static_cast<char>('a' + i))},
                                         .numa_nodes = {static_cast<int>(layout >> i & 1U)}});
      CompareAll(world, GetParam());
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(PreferredOracle, ChoosesTheBestOfAllForReplicas) {
  for (const std::vector<int>& shares : std::vector<std::vector<int>>{{3, 3}, {1, 2, 3}, {2, 4}}) {
    for (unsigned layout = 0; layout < (1U << shares.size()); ++layout) {
      World world{.shared = true};
      for (size_t i = 0; i < shares.size(); ++i)
        for (int replica = 0; replica < shares[i]; ++replica)
          world.devices.devices.push_back(
              {.id = {std::string(1, static_cast<char>('a' + i)) + "::" + std::to_string(replica)},
               .numa_nodes = {static_cast<int>(layout >> i & 1U)}});
      CompareAll(world, GetParam());
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, PreferredOracle,
                         ::testing::Values(Preference::kInOrder, Preference::kSpread,
                                           Preference::kPacked, Preference::kNuma));

}  // namespace
}  // namespace tenon::policy
