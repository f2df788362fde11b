#include "discovery/holding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::discovery {
namespace {

using ::testing::IsEmpty;

FoundDevice WithNode(const std::string& id, unsigned minor) {
  FoundDevice device{.id = {id}};
  device.paths.push_back({.major = 188, .minor = minor});
  return device;
}

const Holding kHolding{"r", {"old"}, {"c 188:0"}, "pod default/x"};

TEST(Holding, ADeviceThatIsHeldUnderAnotherIdIsUnhealthyAndSaysByWhom) {
  FoundDevice device = WithNode("new", 0);

  EXPECT_TRUE(MarkIfHeldOtherwise("r", {kHolding}, device));

  EXPECT_EQ(Health::kUnhealthy, device.health);
  EXPECT_EQ("held by pod default/x as old", device.reason);
}

TEST(Holding, AnotherResourceIsNamed) {
  FoundDevice device = WithNode("old", 0);

  EXPECT_TRUE(MarkIfHeldOtherwise("s", {kHolding}, device));

  EXPECT_EQ("held by pod default/x as old of r", device.reason);
}

TEST(Holding, ADeviceThatIsHeldUnderItsOwnIdAndOneThatIsFreeStayHealthy) {
  FoundDevice held = WithNode("old", 0);
  FoundDevice free = WithNode("new", 1);
  FoundDevice shared = WithNode("new", 0);
  shared.paths[0].shared = true;

  EXPECT_FALSE(MarkIfHeldOtherwise("r", {kHolding}, held));
  EXPECT_FALSE(MarkIfHeldOtherwise("r", {kHolding}, free));
  EXPECT_FALSE(MarkIfHeldOtherwise("r", {kHolding}, shared));
}

TEST(Holding, AHeldDeviceThatIsGoneIsUnhealthyUnlessItIsFoundUnderAnotherId) {
  auto gone = VanishedWhileHeld("r", {kHolding, kHolding}, {WithNode("other", 1)});
  ASSERT_EQ(1U, gone.size());
  EXPECT_EQ("old", gone[0].id.value);
  EXPECT_EQ("vanished while held by pod default/x", gone[0].reason);

  EXPECT_THAT(VanishedWhileHeld("r", {kHolding}, {WithNode("old", 7)}), IsEmpty());
  EXPECT_THAT(VanishedWhileHeld("r", {kHolding}, {WithNode("new", 0)}), IsEmpty());
  EXPECT_THAT(VanishedWhileHeld("s", {kHolding}, {}), IsEmpty());
}

}  // namespace
}  // namespace tenon::discovery
