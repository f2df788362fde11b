#include "policy/replicas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::policy {
namespace {

using ::testing::ElementsAre;

DeviceSetPtr Set(std::vector<Device> devices) {
  return std::make_shared<const DeviceSet>(DeviceSet{7, std::move(devices)});
}

TEST(Replicas, AShareOfOneLeavesAllAsItIs) {
  DeviceSetPtr set = Set({{.id = {"a"}}});

  EXPECT_EQ(set, Replicate(set, 1));
}

TEST(Replicas, HaveTheHealthOfTheirDeviceAndAreSorted) {
  DeviceSetPtr set = Set({{.id = {"a"}, .numa_nodes = {1}},
                          {.id = {"a:"}, .health = Health::kUnhealthy, .reason = "dusty"}});

  DeviceSetPtr replicas = Replicate(set, 11);

  EXPECT_EQ(7U, replicas->revision);
  ASSERT_EQ(22U, replicas->devices.size());
  EXPECT_NE(nullptr, FindDevice(replicas->devices, "a::10"));
  const Device* sick = FindDevice(replicas->devices, "a:::10");
  ASSERT_NE(nullptr, sick);
  EXPECT_EQ("dusty", sick->reason);
  EXPECT_THAT(FindDevice(replicas->devices, "a::0")->numa_nodes, ElementsAre(1));
}

TEST(Replicas, AreNamedAfterTheirDevice) {
  EXPECT_EQ("a", ReplicaOf("a::0"));
  EXPECT_EQ("a::1", ReplicaOf("a::1::22"));
}

}  // namespace
}  // namespace tenon::policy
