#include "discovery/holding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::discovery {
namespace {

using ::testing::IsEmpty;

FoundDevicePtr WithNode(const std::string& id, unsigned minor, bool shared = false) {
  FoundDevice device{.id = {id}};
  device.paths.push_back({.major = 188, .minor = minor, .shared = shared});
  return std::make_shared<const FoundDevice>(std::move(device));
}

struct HoldingsTest : ::testing::Test {
  void SetUp() override {
    EXPECT_TRUE(holdings.Set({kHolding, {"r", {"old"}, {}, "somebody who does not count"}}));
  }
  /// The device as it is offered then.
  FoundDevicePtr Marked(const std::string& resource, FoundDevicePtr device) {
    const bool marked = holdings.MarkIfHeldOtherwise(resource, device);
    EXPECT_EQ(marked, device->health == Health::kUnhealthy);
    return device;
  }
  const Holding kHolding{"r", {"old"}, {"c 188:0"}, "pod default/x"};
  Holdings holdings;
};

TEST_F(HoldingsTest, ADeviceThatIsHeldUnderAnotherIdIsUnhealthyAndSaysByWhom) {
  EXPECT_EQ("held by pod default/x as old", Marked("r", WithNode("new", 0))->reason);
}

TEST_F(HoldingsTest, AnotherResourceIsNamed) {
  EXPECT_EQ("held by pod default/x as old of r", Marked("s", WithNode("old", 0))->reason);
}

TEST_F(HoldingsTest, ADeviceThatIsHeldUnderItsOwnIdAndOneThatIsFreeStayHealthy) {
  EXPECT_EQ(Health::kHealthy, Marked("r", WithNode("old", 0))->health);
  EXPECT_EQ(Health::kHealthy, Marked("r", WithNode("new", 1))->health);
  EXPECT_EQ(Health::kHealthy, Marked("r", WithNode("new", 0, true))->health);
}

TEST_F(HoldingsTest, ADeviceNodeThatWasAwayWhenTheBooksWereReadIsKnownByItsPath) {
  ASSERT_TRUE(holdings.Set({{"r", {"old"}, {"/dev/ttyUSB0"}, "pod default/x"}}));
  FoundDevice back{.id = {"new"}};
  back.paths.push_back({.host_path = "/dev/link", .real_path = "/dev/ttyUSB0", .major = 188});

  EXPECT_EQ("held by pod default/x as old",
            Marked("r", std::make_shared<const FoundDevice>(back))->reason);
  EXPECT_THAT(holdings.VanishedWhileHeld("r", {std::make_shared<const FoundDevice>(back)}),
              IsEmpty());
}

TEST_F(HoldingsTest, AHeldDeviceThatIsGoneIsUnhealthyUnlessItIsFoundUnderAnotherId) {
  Snapshot gone = holdings.VanishedWhileHeld("r", {WithNode("other", 1)});
  ASSERT_EQ(1U, gone.size());
  EXPECT_EQ("old", gone[0]->id.value);
  EXPECT_EQ("vanished while held by pod default/x", gone[0]->reason);

  EXPECT_THAT(holdings.VanishedWhileHeld("r", {WithNode("old", 7)}), IsEmpty());
  EXPECT_THAT(holdings.VanishedWhileHeld("s", {}), IsEmpty());
  ASSERT_TRUE(holdings.Set({kHolding}));
  EXPECT_THAT(holdings.VanishedWhileHeld("r", {WithNode("new", 0)}), IsEmpty());
}

TEST_F(HoldingsTest, WhatIsHandedOutAgainReplacesWhatWasKnownOfIt) {
  holdings.Add({"r", {"old"}, {"c 188:5"}, "pod default/y"});

  EXPECT_EQ(Health::kHealthy, Marked("r", WithNode("new", 0))->health);
  EXPECT_EQ("held by pod default/y as old", Marked("r", WithNode("new", 5))->reason);
  EXPECT_FALSE(holdings.Set({{"r", {"old"}, {"c 188:5"}, "pod default/y"}}));
}

}  // namespace
}  // namespace tenon::discovery
