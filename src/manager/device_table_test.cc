#include "manager/device_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::manager {
namespace {

using testing::ElementsAre;

api::ListedDevice Listed(std::string id, std::string health = "Healthy") {
  return {.id = std::move(id), .health = std::move(health)};
}

std::vector<std::string> Ids(const DeviceRow& row) {
  std::vector<std::string> ids;
  for (const TableDevice& device : row.devices)
    ids.push_back(device.id);
  return ids;
}

TEST(DeviceTableTest, KeepsDevicesInNaturalOrder) {
  DeviceTable table;

  table.SetList("r", {Listed("tty10"), Listed("tty2"), Listed("tty1")});

  EXPECT_THAT(Ids(*table.Find("r")), ElementsAre("tty1", "tty2", "tty10"));
}

TEST(DeviceTableTest, TakesOnlyTheExactWordForHealthy) {
  DeviceTable table;

  table.SetList("r", {Listed("a"), Listed("b", "healthy"), Listed("c", ""), Listed("d", "Unknown"),
                      Listed("e", "Unhealthy")});

  EXPECT_THAT(table.Capacity(), ElementsAre(ResourceCapacity{"r", 5, 1}));
}

TEST(DeviceTableTest, LetsTheLastOfTwoEntriesOfADeviceCount) {
  DeviceTable table;

  auto update = table.SetList("r", {Listed("x"), Listed("x", "Unhealthy"), Listed("", "Healthy"),
                                    Listed("y", "Unhealthy"), Listed("y", "Healthy")});

  EXPECT_THAT(table.Capacity(), ElementsAre(ResourceCapacity{"r", 3, 2}));
  EXPECT_THAT(update.duplicates, ElementsAre("x", "y"));
}

TEST(DeviceTableTest, TakesAnEmptyList) {
  DeviceTable table;
  table.SetList("r", {Listed("a")});

  table.SetList("r", {});

  EXPECT_THAT(table.Capacity(), ElementsAre(ResourceCapacity{"r", 0, 0}));
}

TEST(DeviceTableTest, SaysWhetherTheResourceIsNew) {
  DeviceTable table;

  EXPECT_TRUE(table.SetList("r", {}).added);
  EXPECT_FALSE(table.SetList("r", {Listed("a")}).added);
  table.MarkLost("lost");
  EXPECT_FALSE(table.SetList("lost", {}).added);
}

TEST(DeviceTableTest, CountsNothingAsHealthyOncePluginIsLost) {
  DeviceTable table;
  table.SetList("r", {Listed("a"), Listed("b")});

  table.MarkLost("r");

  EXPECT_THAT(table.Capacity(), ElementsAre(ResourceCapacity{"r", 2, 0}));
  table.SetList("r", {Listed("a")});
  EXPECT_THAT(table.Capacity(), ElementsAre(ResourceCapacity{"r", 1, 1}));
}

TEST(DeviceTableTest, KeepsARemovedResourceInCapacityAsZero) {
  DeviceTable table;
  table.SetList("r", {Listed("a")});

  table.Remove("r");

  EXPECT_EQ(table.Find("r"), nullptr);
  EXPECT_TRUE(table.WasRemoved("r"));
  EXPECT_THAT(table.Capacity(), ElementsAre(ResourceCapacity{"r", 0, 0}));
  table.SetList("r", {Listed("a")});
  EXPECT_FALSE(table.WasRemoved("r"));
}

TEST(DeviceTableTest, FindsADeviceById) {
  DeviceTable table;
  table.SetList("r", {Listed("a1"), Listed("a01", "Unhealthy"), Listed("a10")});
  const DeviceRow& row = *table.Find("r");

  ASSERT_NE(row.Find("a01"), nullptr);
  EXPECT_FALSE(row.IsHealthy(*row.Find("a01")));
  EXPECT_TRUE(row.IsHealthy(*row.Find("a1")));
  EXPECT_EQ(row.Find("a001"), nullptr);
  EXPECT_EQ(row.Find(""), nullptr);
}

}  // namespace
}  // namespace tenon::manager
