#include "plugin/allocate_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace tenon::plugin {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

Device Healthy(std::string_view id) {
  return {.id = {std::string(id)}};
}

DeviceNode Node(const std::string& path, const std::string& permissions = "rw") {
  return {.container_path = path, .host_path = path, .permissions = permissions};
}

struct AllocatePlanTest : ::testing::Test {
  AllocatePlanTest() {
    devices.devices = {Healthy("a"), Healthy("b"), Healthy("c"), Healthy("tty10"), Healthy("tty2")};
    devices.devices[2].health = Health::kUnhealthy;
    devices.devices[2].reason = "no such file";
    brings["a"].device_nodes = {Node("/dev/a"), Node("/dev/shared")};
    brings["b"].device_nodes = {Node("/dev/b"), Node("/dev/shared")};
    brings["tty2"].device_nodes = {Node("/dev/tty2")};
    brings["tty10"].device_nodes = {Node("/dev/tty10")};
  }

  Result<std::vector<ContainerAllocation>> Plan(std::vector<api::AllocateRequest> requests) {
    return PlanAllocation(resource, devices, requests,
                          [this](const Device& device) -> Result<DeviceParts> {
                            if (vanished == device.id.value)
                              return Error(Code::kNotFound, "/dev/" + vanished + ": no such file");
                            return DeviceParts{brings[device.id.value], lists[device.id.value],
                                               only_by_cdi, groups[device.id.value]};
                          });
  }
  void ExpectError(const Result<std::vector<ContainerAllocation>>& plan, Code code,
                   std::string_view message) {
    ASSERT_FALSE(plan);
    EXPECT_EQ(code, plan.error().code());
    EXPECT_EQ(message, plan.error().message());
  }

  const ResourceName resource = *ResourceName::Parse("example.com/serial.v2");
  DeviceSet devices;
  std::map<std::string, ContainerAllocation> brings;
  std::map<std::string, std::map<std::string, std::string>> lists;
  std::map<std::string, std::set<uint32_t>> groups;
  std::string vanished;
  bool only_by_cdi = false;
};

TEST_F(AllocatePlanTest, GivesADeviceNodeAndTellsTheContainerWhatItHas) {
  auto plan = Plan({{{"tty2"}}});

  ASSERT_TRUE(plan);
  ASSERT_EQ(1U, plan->size());
  EXPECT_THAT((*plan)[0].device_nodes, ElementsAre(Node("/dev/tty2")));
  EXPECT_THAT((*plan)[0].env, ElementsAre(Pair("TENON_EXAMPLE_COM_SERIAL_V2_IDS", "tty2"),
                                          Pair("TENON_EXAMPLE_COM_SERIAL_V2_PATHS", "/dev/tty2")));
}

TEST_F(AllocatePlanTest, WhatComesByCdiIsToldAndNotSent) {
  only_by_cdi = true;
  brings["a"].mounts = {{"/run/a", "/run/a", true}};
  brings["a"].device_nodes[0].host_path = "/dev/1%,2";
  brings["a"].cdi_devices = {"example.com/serial.v2=a"};

  auto plan = Plan({{{"a"}}});

  ASSERT_TRUE(plan);
  EXPECT_THAT(plan->front().device_nodes, IsEmpty());
  EXPECT_THAT(plan->front().mounts, IsEmpty());
  EXPECT_THAT(plan->front().cdi_devices, ElementsAre("example.com/serial.v2=a"));
  EXPECT_EQ("/dev/a,/dev/shared", plan->front().env["TENON_EXAMPLE_COM_SERIAL_V2_PATHS"]);
  const std::string nodes = plan->front().annotations["device-nodes.example.com/serial.v2"];
  EXPECT_EQ("/dev/1%25%2C2,/dev/shared", nodes);
  EXPECT_THAT(SplitPathList(nodes), ElementsAre("/dev/1%,2", "/dev/shared"));
}

TEST_F(AllocatePlanTest, ListsThatOthersReadAreJoinedAndNameTheResource) {
  lists["a"] = {{"PCIDEVICE", "0000:01:00.0"}};
  lists["b"] = {{"PCIDEVICE", "0000:01:00.1"}, {"USB_RESOURCE", "001:014"}};
  lists["tty2"] = {{"PCIDEVICE", "0000:01:00.1"}};

  auto plan = Plan({{{"b", "a", "tty2"}}});

  ASSERT_TRUE(plan);
  EXPECT_EQ("0000:01:00.0,0000:01:00.1", (*plan)[0].env["PCIDEVICE_EXAMPLE_COM_SERIAL_V2"]);
  EXPECT_EQ("001:014", (*plan)[0].env["USB_RESOURCE_EXAMPLE_COM_SERIAL_V2"]);
}

TEST_F(AllocatePlanTest, TellsTheGroupsOfAllDevicesOnceAndInOrder) {
  groups["a"] = {100, 20};
  groups["b"] = {20};

  auto plan = Plan({{{"b", "a"}}, {{"tty2"}}});

  ASSERT_TRUE(plan);
  EXPECT_EQ("20,100", (*plan)[0].env["TENON_EXAMPLE_COM_SERIAL_V2_GIDS"]);
  EXPECT_FALSE((*plan)[1].env.contains("TENON_EXAMPLE_COM_SERIAL_V2_GIDS"));
}

TEST_F(AllocatePlanTest, GivesADeviceNodeThatTwoDevicesShareOnce) {
  auto plan = Plan({{{"a", "b"}}});

  ASSERT_TRUE(plan);
  EXPECT_THAT((*plan)[0].device_nodes,
              ElementsAre(Node("/dev/a"), Node("/dev/shared"), Node("/dev/b")));
}

TEST_F(AllocatePlanTest, TheOrderOfTheRequestDoesNotMatterAndNumbersAreNumbers) {
  auto plan = Plan({{{"tty10", "tty2"}}});

  ASSERT_TRUE(plan);
  EXPECT_EQ("tty2,tty10", (*plan)[0].env["TENON_EXAMPLE_COM_SERIAL_V2_IDS"]);
  EXPECT_EQ("/dev/tty2,/dev/tty10", (*plan)[0].env["TENON_EXAMPLE_COM_SERIAL_V2_PATHS"]);
}

TEST_F(AllocatePlanTest, SeveralContainersOfOneRequestGetTheirOwn) {
  auto plan = Plan({{{"a"}}, {{}}, {{"b"}}});

  ASSERT_TRUE(plan);
  ASSERT_EQ(3U, plan->size());
  EXPECT_THAT((*plan)[0].device_nodes, ElementsAre(Node("/dev/a"), Node("/dev/shared")));
  EXPECT_EQ(ContainerAllocation{}, (*plan)[1]);
  EXPECT_THAT((*plan)[2].device_nodes, ElementsAre(Node("/dev/b"), Node("/dev/shared")));
}

TEST_F(AllocatePlanTest, ADeviceWithoutNodesSetsNoPaths) {
  brings["a"] = {};

  auto plan = Plan({{{"a"}}});

  ASSERT_TRUE(plan);
  EXPECT_THAT((*plan)[0].env, ElementsAre(Pair("TENON_EXAMPLE_COM_SERIAL_V2_IDS", "a")));
}

TEST_F(AllocatePlanTest, ACommaInAPathCannotForgeAnotherPath) {
  brings["a"].device_nodes = {Node("/dev/x,/dev/100%")};

  auto plan = Plan({{{"a"}}});

  ASSERT_TRUE(plan);
  EXPECT_EQ("/dev/x%2C/dev/100%25", (*plan)[0].env["TENON_EXAMPLE_COM_SERIAL_V2_PATHS"]);
}

TEST_F(AllocatePlanTest, AnUnknownIdIsRefusedByName) {
  ExpectError(Plan({{{"a", "z\n"}}}), Code::kNotFound, "device z\\n: not offered by this plugin");
}

TEST_F(AllocatePlanTest, AnUnhealthyIdIsRefusedWithItsReason) {
  ExpectError(Plan({{{"a"}}, {{"c"}}}), Code::kFailedPrecondition,
              "device c: unhealthy: no such file");
}

TEST_F(AllocatePlanTest, AnIdAskedForTwiceIsRefused) {
  ExpectError(Plan({{{"a", "a"}}}), Code::kInvalidArgument,
              "device a is asked for twice in one request");
  ExpectError(Plan({{{"a"}}, {{"a"}}}), Code::kInvalidArgument,
              "device a is asked for twice in one request");
}

TEST_F(AllocatePlanTest, ADeviceThatVanishedSinceTheListIsRefusedByPath) {
  vanished = "b";

  ExpectError(Plan({{{"a", "b"}}}), Code::kNotFound, "device b: /dev/b: no such file");
}

TEST_F(AllocatePlanTest, TwoDevicesThatWantOneContainerPathAreRefused) {
  brings["b"].device_nodes = {{"/dev/a", "/dev/b", "rw"}};

  ExpectError(Plan({{{"a", "b"}}}), Code::kFailedPrecondition,
              "device b: container device /dev/a has conflicting host paths: /dev/a is kept, "
              "/dev/b is not");
}

TEST_F(AllocatePlanTest, TwoPermissionsForOneDeviceNodeAreRefused) {
  brings["b"].device_nodes = {Node("/dev/shared", "r")};

  ExpectError(Plan({{{"a", "b"}}}), Code::kFailedPrecondition,
              "device b: device node /dev/shared is wanted with permissions rw and r");
}

TEST_F(AllocatePlanTest, NoRequestsGiveNoAllocations) {
  auto plan = Plan({});

  ASSERT_TRUE(plan);
  EXPECT_THAT(*plan, IsEmpty());
}

}  // namespace
}  // namespace tenon::plugin
