#include "device/device.h"

#include <gtest/gtest.h>

#include <set>

namespace tenon {
namespace {

TEST(Device, SortsById) {
  std::vector<Device> devices{{.id = {"b"}}, {.id = {"a"}}};
  SortById(devices);
  EXPECT_EQ("a", devices[0].id.value);
}

TEST(Device, FindsByIdOrNot) {
  std::vector<Device> devices{{.id = {"a"}}, {.id = {"c"}}};
  EXPECT_EQ(&devices[1], FindDevice(devices, "c"));
  EXPECT_EQ(nullptr, FindDevice(devices, "b"));
  EXPECT_EQ(nullptr, FindDevice(devices, "d"));
}

TEST(Device, IdsKeepPlainTextAndEscapeTheRest) {
  EXPECT_EQ("ttyUSB0", MakeDeviceId("ttyUSB0").value);
  EXPECT_EQ("net_2Ftun", MakeDeviceId("net/tun").value);
  EXPECT_EQ("a__b_FF_20", MakeDeviceId("a_b\xff ").value);
}

TEST(Device, DifferentTextsGiveDifferentIds) {
  std::set<DeviceId> ids;
  for (std::string_view text : {"a_2F", "a/", "a__2F", "a_", "a"})
    ids.insert(MakeDeviceId(text));
  EXPECT_EQ(5, ids.size());
}

TEST(Device, LongIdsAreCutToAHashAndStayDifferent) {
  DeviceId a = MakeDeviceId(std::string(300, 'x') + "a");
  DeviceId b = MakeDeviceId(std::string(300, 'x') + "b");
  EXPECT_EQ(kMaxDeviceIdBytes, a.value.size());
  EXPECT_NE(a, b);
  EXPECT_EQ("xxx-78d48e38324d7507", MakeDeviceId(std::string(129, 'x')).value.substr(108));
}

TEST(Device, TheIdOfSeveralIsThatOfTheirTextsJoined) {
  EXPECT_EQ(MakeDeviceId("snd/a+snd/b"),
            JoinDeviceIds({MakeDeviceId("snd/a"), MakeDeviceId("snd/b")}));
  EXPECT_EQ("x", JoinDeviceIds({{"x"}}).value);
  DeviceId joined = JoinDeviceIds({{std::string(100, 'x')}, {std::string(100, 'y')}});
  EXPECT_EQ(kMaxDeviceIdBytes, joined.value.size());
  EXPECT_NE(joined, JoinDeviceIds({{std::string(100, 'x')}, {std::string(101, 'y')}}));
}

}  // namespace
}  // namespace tenon
