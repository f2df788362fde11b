#include "device/diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon {
namespace {

using ::testing::ElementsAre;

TEST(Diff, NamesWhatCameWentAndChangedHealth) {
  std::vector<Device> before{{.id = {"a"}}, {.id = {"b"}}, {.id = {"c"}}};
  Device sick{.id = {"c"}, .health = Health::kUnhealthy, .reason = "no such file"};
  std::vector<Device> after{{.id = {"a"}}, sick, {.id = {"d"}}};

  DeviceSetDiff diff = Diff(before, after);

  EXPECT_THAT(diff.added, ElementsAre(DeviceId{"d"}));
  EXPECT_THAT(diff.removed, ElementsAre(DeviceId{"b"}));
  EXPECT_THAT(diff.health_changed, ElementsAre(sick));
}

TEST(Diff, EqualListsDifferInNothing) {
  std::vector<Device> devices{{.id = {"a"}}};
  EXPECT_TRUE(Diff(devices, devices).empty());
  EXPECT_TRUE(Diff({}, {}).empty());
}

}  // namespace
}  // namespace tenon
