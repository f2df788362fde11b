#include "wire/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::wire {
namespace {

using std::string_literals::operator""s;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

Device MakeDevice(std::string id, Health health = Health::kHealthy, std::vector<int> numa = {}) {
  return {.id = {std::move(id)}, .health = health, .numa_nodes = std::move(numa)};
}

TEST(MessagesTest, RegisterRequestGoesThereAndBack) {
  api::RegisterRequest request{.version = "v1beta1",
                               .endpoint = "tenon.sock",
                               .resource_name = "example.com/serial",
                               .options = {.pre_start_required = true}};

  auto decoded = DecodeRegisterRequest(EncodeRegisterRequest(request));

  ASSERT_TRUE(decoded);
  EXPECT_EQ(*decoded, request);
}

TEST(MessagesTest, WhatIsFoundInPluginsRegistryGoesThereAndBack) {
  const api::PluginInfo info{.type = "DevicePlugin",
                             .name = "example.com/vf",
                             .endpoint = "/e.sock",
                             .supported_versions = {"v1alpha1", "v1beta1"}};
  EXPECT_EQ(EncodePluginInfo({.type = "t", .supported_versions = {"v"}}), "\x0a\x01t\x22\x01v");
  EXPECT_EQ(*DecodePluginInfo(EncodePluginInfo(info)), info);
  EXPECT_FALSE(DecodePluginInfo("\x0a\x05t"));

  EXPECT_EQ(EncodeRegistrationStatus({.registered = true, .error = ""}), "\x08\x01");
  const api::RegistrationStatus refused{.registered = false, .error = "why"};
  EXPECT_EQ(*DecodeRegistrationStatus(EncodeRegistrationStatus(refused)), refused);
}

TEST(MessagesTest, DefaultsAreNotWritten) {
  EXPECT_EQ(EncodeRegisterRequest({}), "");
  EXPECT_EQ(EncodePluginOptions({}), "");
  EXPECT_EQ(EncodeContainerAllocation({}), "");
  EXPECT_EQ(EncodePluginOptions({.preferred_allocation_available = true}), "\x10\x01");
}

TEST(MessagesTest, ContainersWithNothingInThemKeepTheirPlace) {
  EXPECT_EQ(EncodeAllocateRequest({{}, {{"a"}}, {}}), "\x0a\x00\x0a\x03\x0a\x01"s + "a\x0a\x00"s);
  EXPECT_EQ(DecodeAllocateRequest("\x0a\x00\x0a\x00"s)->size(), 2U);
  EXPECT_EQ(EncodeAllocateResponse({{}, {}}), "\x0a\x00\x0a\x00"s);
  EXPECT_THAT(*SplitAllocateResponse("\x0a\x00\x0a\x00"s), ElementsAre("", ""));
  EXPECT_EQ(DecodePreferredResponse(EncodePreferredResponse({{}, {}}))->size(), 2U);
}

TEST(MessagesTest, ADeviceListIsWrittenAsTheKubeletReadsIt) {
  std::string bytes = EncodeDeviceList(
      {MakeDevice("d0", Health::kHealthy, {0, 1}), MakeDevice("d1", Health::kUnhealthy)});

  EXPECT_EQ(bytes,
            "\x0a\x15\x0a\x02"
            "d0\x12\x07Healthy\x1a\x06\x0a\x00\x0a\x02\x08\x01"
            "\x0a\x0f\x0a\x02"
            "d1\x12\x09Unhealthy"s);
}

TEST(MessagesTest, TheSizeOfADeviceListIsKnownBeforeItIsEncoded) {
  std::vector<Device> devices;
  for (int i = 0; i < 300; ++i)
    devices.push_back(MakeDevice(std::string(static_cast<size_t>(i), 'd'),
                                 i % 2 == 0 ? Health::kHealthy : Health::kUnhealthy,
                                 std::vector<int>(static_cast<size_t>(i % 80), i)));
  devices.push_back(MakeDevice("far", Health::kHealthy, {-1, 0, 127, 128, 1 << 30}));

  EXPECT_EQ(DeviceListSize(devices), EncodeDeviceList(devices).size());
  EXPECT_EQ(DeviceListSize({}), 0U);
}

TEST(MessagesTest, ADeviceListIsReadAsItStands) {
  auto devices = DecodeDeviceList(
      EncodeDeviceList({MakeDevice("d0", Health::kUnhealthy, {-1, 3}), MakeDevice("")}) +
      "\x0a\x06\x12\x02no\x1a\x00"s);

  ASSERT_TRUE(devices);
  EXPECT_THAT(
      *devices,
      ElementsAre(
          api::ListedDevice{
              .id = "d0", .health = "Unhealthy", .numa_nodes = {-1, 3}, .has_topology = true},
          api::ListedDevice{.id = "", .health = "Healthy"},
          api::ListedDevice{.id = "", .health = "no", .has_topology = true}));
}

TEST(MessagesTest, TopologyThatOccursTwiceIsOneTopology) {
  auto devices = DecodeDeviceList("\x0a\x0c\x1a\x04\x0a\x02\x08\x01\x1a\x04\x0a\x02\x08\x02"s);

  ASSERT_TRUE(devices);
  EXPECT_THAT(devices->at(0).numa_nodes, ElementsAre(1, 2));
}

TEST(MessagesTest, AnIdThatIsNotUtf8IsRefusedByName) {
  auto devices = DecodeDeviceList("\x0a\x04\x0a\x02\xc3\x28"s);

  ASSERT_FALSE(devices);
  EXPECT_EQ(devices.error().code(), Code::kInvalidArgument);
  EXPECT_EQ(devices.error().message(), "Device.ID: text is not valid UTF-8 at byte 4");
}

TEST(MessagesTest, AnAllocationGoesThereAndBack) {
  ContainerAllocation allocation{
      .env = {{"A", "1"}, {"B", ""}, {"", "nameless"}},
      .mounts = {{"/in", "/out", true}, {}},
      .device_nodes = {{"/dev/a", "/dev/b", "rw"}, {}},
      .annotations = {{"example.com/x", "y"}},
      .cdi_devices = {"vendor.com/class=name", ""},
  };

  auto decoded = DecodeContainerAllocation(EncodeContainerAllocation(allocation));

  ASSERT_TRUE(decoded);
  EXPECT_EQ(*decoded, allocation);
}

TEST(MessagesTest, MapEntriesAreWrittenInKeyOrder) {
  std::string bytes = EncodeContainerAllocation({.env = {{"b", "2"}, {"a", "1"}, {"\x7f", ""}}});

  EXPECT_EQ(bytes,
            "\x0a\x06\x0a\x01"
            "a\x12\x01"
            "1"
            "\x0a\x06\x0a\x01"
            "b\x12\x01"
            "2"
            "\x0a\x05\x0a\x01\x7f\x12\x00"s);
}

TEST(MessagesTest, TheLastMapEntryOfAKeyWins) {
  auto decoded = DecodeContainerAllocation(
      "\x0a\x06\x0a\x01k\x12\x01"
      "1\x0a\x06\x12\x01"
      "2\x0a\x01k\x0a\x00"s);

  ASSERT_TRUE(decoded);
  EXPECT_THAT(decoded->env, ElementsAre(Pair("", ""), Pair("k", "2")));
}

TEST(MessagesTest, ResponsesAreSplitAsTheyStand) {
  // Fields out of order and an unknown one: bytes that our own encoder would not give.
  const std::string odd = "\x2a\x03\x0a\x01n\x78\x05\x0a\x06\x0a\x01k\x12\x01v"s;

  auto split = SplitAllocateResponse("\x0a\x0f"s + odd + "\x0a\x00"s);

  ASSERT_TRUE(split) << split.error().message();
  EXPECT_THAT(*split, ElementsAre(odd, ""));
  EXPECT_THAT(DecodeContainerAllocation(split->at(0))->cdi_devices, ElementsAre("n"));
}

TEST(MessagesTest, ABrokenContainerResponseBreaksTheSplit) {
  auto split = SplitAllocateResponse("\x0a\x07\x0a\x05\x0a\x01k\x12\x09"s);

  ASSERT_FALSE(split);
  EXPECT_EQ(split.error().message(),
            "ContainerAllocateResponse.envs, field 2: 9 bytes announced, 0 left at byte 9");
}

TEST(MessagesTest, PreferredRequestsGoThereAndBack) {
  std::vector<api::PreferredRequest> containers = {
      {.available = {"a", "b"}, .must_include = {"b"}, .size = 1},
      {},
      {.size = -2147483647 - 1},
  };

  auto decoded = DecodePreferredRequest(EncodePreferredRequest(containers));

  ASSERT_TRUE(decoded);
  EXPECT_EQ(*decoded, containers);
}

TEST(MessagesTest, PreStartRequestGoesThereAndBack) {
  EXPECT_THAT(*DecodePreStartRequest(EncodePreStartRequest({"a", "", "b"})),
              ElementsAre("a", "", "b"));
  EXPECT_THAT(*DecodePreStartRequest(""), IsEmpty());
}

TEST(MessagesTest, EveryDecoderNamesItsMessage) {
  auto message = [](const auto& result) {
    return result ? std::string("accepted") : result.error().message();
  };
  const std::string broken = "\x0c";

  EXPECT_THAT(message(DecodeRegisterRequest(broken)), HasSubstr("RegisterRequest"));
  EXPECT_THAT(message(DecodePluginOptions(broken)), HasSubstr("DevicePluginOptions"));
  EXPECT_THAT(message(DecodeDeviceList(broken)), HasSubstr("ListAndWatchResponse"));
  EXPECT_THAT(message(DecodeAllocateRequest(broken)), HasSubstr("AllocateRequest"));
  EXPECT_THAT(message(DecodeContainerAllocation(broken)), HasSubstr("ContainerAllocateResponse"));
  EXPECT_THAT(message(SplitAllocateResponse(broken)), HasSubstr("AllocateResponse"));
  EXPECT_THAT(message(DecodePreferredRequest(broken)), HasSubstr("PreferredAllocationRequest"));
  EXPECT_THAT(message(DecodePreferredResponse(broken)), HasSubstr("PreferredAllocationResponse"));
  EXPECT_THAT(message(DecodePreStartRequest(broken)), HasSubstr("PreStartContainerRequest"));
  EXPECT_THAT(CheckPreStartResponse(broken).error().message(),
              HasSubstr("PreStartContainerResponse"));
  EXPECT_TRUE(CheckPreStartResponse(EncodePreStartRequest({"unknown to it"})));
}

}  // namespace
}  // namespace tenon::wire
