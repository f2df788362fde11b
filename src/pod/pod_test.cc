#include "pod/pod.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::pod {
namespace {

using ::testing::ElementsAre;
using ::testing::MatchesRegex;
using ::testing::Pair;

TEST(PodTest, OnlyExtendedResourcesAreCounted) {
  Container container;
  container.limits = {{"cpu", *Quantity::Parse("500m")},
                      {"memory", *Quantity::Parse("1Gi")},
                      {"example.com/serial", *Quantity::Parse("2000m")}};

  EXPECT_THAT(ExtendedLimits(container), ElementsAre(Pair("example.com/serial", 2)));
}

TEST(PodTest, ReplacesVariablesAsTheKubeletDoes) {
  const std::vector<EnvVar> env = {{"A", "1"}, {"B", "two"}, {"A", "last"}};

  EXPECT_EQ(ExpandVariables("x=$(A) $(B)", env), "x=last two");
  EXPECT_EQ(ExpandVariables("$(MISSING)", env), "$(MISSING)");
  EXPECT_EQ(ExpandVariables("$$(A)", env), "$(A)");
  EXPECT_EQ(ExpandVariables("$$$(A)", env), "$last");
  EXPECT_EQ(ExpandVariables("$(A", env), "$(A");
  EXPECT_EQ(ExpandVariables("$A $", env), "$A $");
  EXPECT_EQ(ExpandVariables("$()", env), "$()");
}

TEST(PodTest, UidsAreRandomUuids) {
  const std::string first = RandomUid();

  EXPECT_THAT(first, MatchesRegex("[0-9a-f]+-[0-9a-f]+-4[0-9a-f]+-[89ab][0-9a-f]+-[0-9a-f]+"));
  EXPECT_EQ(first.size(), 36u);
  EXPECT_NE(first, RandomUid());
}

}  // namespace
}  // namespace tenon::pod
