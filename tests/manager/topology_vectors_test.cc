#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "manager/pod_devices.h"
#include "manager/reservation.h"
#include "manager/topology.h"
#include "manager/topology_hints.h"
#include "value/value.h"

namespace tenon::manager {
namespace {

NumaMachine Machine(int64_t numa_nodes) {
  NumaMachine machine;
  for (int i = 0; i < numa_nodes; ++i)
    machine.distances[i];
  return machine;
}

std::vector<TopologyHint> Hints(const Value& list) {
  std::vector<TopologyHint> hints;
  for (const Value& item : list.items()) {
    TopologyHint& hint = hints.emplace_back();
    if (const Value& mask = *item.Find("mask"); !mask.is_null())
      hint.mask = static_cast<NumaMask>(*mask.AsInt());
    hint.preferred = *item.Find("preferred")->AsBool();
  }
  return hints;
}

/// What the providers of a kubelet say, of whom the device manager is one.
std::vector<TopologyHints> Resources(const Value& providers) {
  std::vector<TopologyHints> resources;
  if (providers.is_null()) return resources;
  for (const Value& provider : providers.items()) {
    if (provider.is_null() || provider.members().empty()) {
      resources.emplace_back();
      continue;
    }
    for (const Value::Member& resource : provider.members()) {
      TopologyHints& hints = resources.emplace_back();
      if (!resource.value.is_null()) hints = Hints(resource.value);
    }
  }
  return resources;
}

TopologyDecision Decision(const Value& value) {
  const Value& hint = *value.Find("hint");
  TopologyDecision decision;
  if (const Value& mask = *hint.Find("mask"); !mask.is_null())
    decision.hint.mask = static_cast<NumaMask>(*mask.AsInt());
  decision.hint.preferred = *hint.Find("preferred")->AsBool();
  decision.admit = *value.Find("admit")->AsBool();
  return decision;
}

TEST(TopologyVectorsTest, MergesHintsAsARealKubelet) {
  std::ifstream file(TENON_VECTORS "/topology_merge.jsonl");
  size_t line_number = 0;
  for (std::string line; std::getline(file, line);) {
    SCOPED_TRACE("line " + std::to_string(++line_number));
    auto record = ParseJson(line, "topology_merge.jsonl");
    ASSERT_TRUE(record) << record.error().message();
    NumaMachine machine = Machine(*record->Find("numa")->AsInt());
    int from = 0;
    for (const Value& row : record->Find("distances")->items()) {
      int to = 0;
      for (const Value& distance : row.items())
        machine.distances[from][to++] = static_cast<int>(*distance.AsInt());
      ++from;
    }
    TopologyOptions options{.prefer_closest = *record->Find("preferClosest")->AsBool()};
    for (const auto& [name, policy] :
         {std::pair("none", TopologyPolicy::kNone),
          std::pair("best-effort", TopologyPolicy::kBestEffort),
          std::pair("restricted", TopologyPolicy::kRestricted),
          std::pair("single-numa-node", TopologyPolicy::kSingleNumaNode)}) {
      options.policy = policy;
      EXPECT_EQ(MergeHints(Resources(*record->Find("providers")), options, machine),
                Decision(*record->Find(name)))
          << name;
    }
  }
  EXPECT_EQ(line_number, 750U);
}

TEST(TopologyVectorsTest, MakesHintsAsARealKubelet) {
  constexpr char kResource[] = "vendor.com/gpu";
  std::ifstream file(TENON_VECTORS "/device_selection.jsonl");
  size_t line_number = 0;
  for (std::string line; std::getline(file, line);) {
    SCOPED_TRACE("line " + std::to_string(++line_number));
    auto record = ParseJson(line, "device_selection.jsonl");
    ASSERT_TRUE(record) << record.error().message();
    std::vector<api::ListedDevice> list;
    for (const Value::Member& device : record->Find("devices")->members()) {
      api::ListedDevice& listed = list.emplace_back();
      listed.id = device.key;
      listed.health = *device.value.Find("healthy")->AsBool() ? "Healthy" : "Unhealthy";
      for (const Value& numa : device.value.Find("numa")->items())
        listed.numa_nodes.push_back(*numa.AsInt());
    }
    const auto ids = [&record](const char* key) {
      std::vector<std::string> all;
      for (const Value& item : record->Find(key)->items())
        all.push_back(item.text());
      return all;
    };
    DeviceTable table;
    table.SetList(kResource, list);
    PodDevices pods;
    auto in_use = pods.Reserve({"other", "c", kResource}, ids("allocated"));
    const std::vector<std::string> reusable = ids("reusable");
    const DeviceRow* row = table.Find(kResource);
    TopologyHints hints =
        DeviceHints({.quantity = *record->Find("request")->AsInt(),
                     .have = {},
                     .reusable = {reusable.begin(), reusable.end()}},
                    row, pods.Free(kResource, row), Machine(*record->Find("numaNodes")->AsInt()));
    TopologyHints expected;
    if (const Value& list_of_hints = *record->Find("hints"); !list_of_hints.is_null()) {
      expected.emplace();
      for (const Value& hint : list_of_hints.items())
        expected->push_back(
            {static_cast<NumaMask>(*hint.items()[0].AsInt()), *hint.items()[1].AsBool()});
    }
    EXPECT_EQ(hints, expected);
  }
  EXPECT_EQ(line_number, 980U);
}

}  // namespace
}  // namespace tenon::manager
