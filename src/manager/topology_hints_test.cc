#include "manager/topology_hints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "manager/pod_devices.h"
#include "manager/reservation.h"

namespace tenon::manager {
namespace {

constexpr char kResource[] = "vendor.com/gpu";

NumaMachine Machine(int numa_nodes) {
  NumaMachine machine;
  for (int i = 0; i < numa_nodes; ++i)
    machine.distances[i];
  return machine;
}

class TopologyHintsTest : public testing::Test {
 protected:
  void List(std::vector<api::ListedDevice> list) {
    for (api::ListedDevice& device : list)
      if (device.health.empty()) device.health = "Healthy";
    table_.SetList(kResource, std::move(list));
  }
  void TakeAway(std::vector<std::string> ids) {
    taken_.push_back(
        *pods_.Reserve({"other", "c" + std::to_string(taken_.size()), kResource}, std::move(ids)));
  }
  /// "1 preferred, 3"; "any"; "none".
  std::string Hints(const HintRequest& request, int numa_nodes = 2) {
    const DeviceRow* row = table_.Find(kResource);
    TopologyHints hints =
        DeviceHints(request, row, pods_.Free(kResource, row), Machine(numa_nodes));
    if (!hints) return "any";
    if (hints->empty()) return "none";
    std::string text;
    for (const TopologyHint& hint : *hints)
      text += (text.empty() ? "" : ", ") + std::to_string(*hint.mask) +
              (hint.preferred ? " preferred" : "");
    return text;
  }

  DeviceTable table_;
  PodDevices pods_;
  std::vector<std::unique_ptr<Reservation>> taken_;
};

// TH-01, TestGetTopologyHints: the next ten.
TEST_F(TopologyHintsTest, DevicesWithoutNumaInformationDoNotCare) {
  List({{.id = "a"}, {.id = "b", .has_topology = true}});
  EXPECT_EQ(Hints({.quantity = 1}), "any");
  EXPECT_EQ(DeviceHints({.quantity = 1}, nullptr, {}, Machine(2)), std::nullopt);
}

TEST_F(TopologyHintsTest, OnlyOneDeviceIsAligned) {
  List({{.id = "a"}, {.id = "b", .numa_nodes = {1}}});
  EXPECT_EQ(Hints({.quantity = 1}), "2 preferred");
}

TEST_F(TopologyHintsTest, OneDevicePerNumaNodeAndOneAskedFor) {
  List({{.id = "a", .numa_nodes = {0}}, {.id = "b", .numa_nodes = {1}}});
  EXPECT_EQ(Hints({.quantity = 1}), "1 preferred, 2 preferred, 3");
}

TEST_F(TopologyHintsTest, OneDevicePerNumaNodeAndTwoAskedFor) {
  List({{.id = "a", .numa_nodes = {0}}, {.id = "b", .numa_nodes = {1}}});
  EXPECT_EQ(Hints({.quantity = 2}), "3 preferred");
}

TEST_F(TopologyHintsTest, TwoDevicesPerNumaNodeAndTwoAskedFor) {
  List({{.id = "a", .numa_nodes = {0}},
        {.id = "b", .numa_nodes = {1}},
        {.id = "c", .numa_nodes = {0}},
        {.id = "d", .numa_nodes = {1}}});
  EXPECT_EQ(Hints({.quantity = 2}), "1 preferred, 2 preferred, 3");
}

TEST_F(TopologyHintsTest, WhatIsInUseStillSaysHowFewNumaNodesWouldDo) {
  List({{.id = "a", .numa_nodes = {0}},
        {.id = "b", .numa_nodes = {1}},
        {.id = "c", .numa_nodes = {0}},
        {.id = "d", .numa_nodes = {1}}});
  TakeAway({"a", "b"});
  EXPECT_EQ(Hints({.quantity = 2}), "3") << "not preferred: two on one NUMA node would be better";
}

TEST_F(TopologyHintsTest, MoreThanThereIsCannotBeHad) {
  List({{.id = "a", .numa_nodes = {0}}, {.id = "b", .numa_nodes = {1}}});
  EXPECT_EQ(Hints({.quantity = 3}), "none");
}

TEST_F(TopologyHintsTest, WhatTheContainerHoldsMakesItsHints) {
  List({{.id = "a", .numa_nodes = {0}}, {.id = "b", .numa_nodes = {1}}});
  TakeAway({"a", "b"});
  EXPECT_EQ(Hints({.quantity = 1, .have = {{"b"}}}), "2 preferred, 3");
  EXPECT_EQ(Hints({.quantity = 2, .have = {{"a", "b"}}}), "3 preferred");
}

TEST_F(TopologyHintsTest, FewerHeldThanAskedForCannotBeHad) {
  List({{.id = "a", .numa_nodes = {0}}, {.id = "b", .numa_nodes = {1}}});
  EXPECT_EQ(Hints({.quantity = 2, .have = {{"a"}}}), "none");
}

TEST_F(TopologyHintsTest, MoreHeldThanAskedForCannotBeHad) {
  List({{.id = "a", .numa_nodes = {0}}, {.id = "b", .numa_nodes = {1}}});
  EXPECT_EQ(Hints({.quantity = 1, .have = {{"a", "b"}}}), "none");
}

TEST_F(TopologyHintsTest, AllReusableDevicesMustBeInTheSet) {
  List({{.id = "a", .numa_nodes = {0}},
        {.id = "b", .numa_nodes = {1}},
        {.id = "c", .numa_nodes = {0, 1}}});
  TakeAway({"b"});
  EXPECT_EQ(Hints({.quantity = 1, .have = {}, .reusable = {"b"}}), "2 preferred, 3");
}

TEST_F(TopologyHintsTest, ADeviceOfTwoNumaNodesCountsForBoth) {
  List({{.id = "a", .numa_nodes = {0, 1}}, {.id = "b", .numa_nodes = {0}}});
  EXPECT_EQ(Hints({.quantity = 2}), "1 preferred, 3");
}

// TH-06: only the NUMA nodes that devices have are looked at, of those that the machine has.
TEST_F(TopologyHintsTest, ALargeMachineIsAskedOnlyAboutTheNumaNodesOfItsDevices) {
  List({{.id = "a", .numa_nodes = {3}},
        {.id = "b", .numa_nodes = {35}},
        {.id = "c", .numa_nodes = {63}},
        {.id = "d", .numa_nodes = {-1}}});
  EXPECT_EQ(Hints({.quantity = 1}, 36), "8 preferred, 34359738368 preferred, 34359738376");
}

}  // namespace
}  // namespace tenon::manager
