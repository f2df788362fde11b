#include "manager/numa.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/temp_tree.h"

namespace tenon::manager {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

class NumaTest : public testing::Test {
 protected:
  Result<NumaMachine> Read() {
    auto host = host::PosixHost::Open(tree_.root());
    return ReadNumaMachine(**host);
  }
  host::TempTree tree_;
};

TEST_F(NumaTest, ReadsTheNumaNodesAndTheirDistances) {
  tree_.File("/sys/devices/system/node/online", "0,2\n");
  tree_.File("/sys/devices/system/node/node0/distance", "10 21\n");
  tree_.File("/sys/devices/system/node/node2/distance", "22 10\n");

  auto machine = Read();

  ASSERT_TRUE(machine) << machine.error().message();
  EXPECT_THAT(machine->distances,
              UnorderedElementsAre(Pair(0, UnorderedElementsAre(Pair(0, 10), Pair(2, 21))),
                                   Pair(2, UnorderedElementsAre(Pair(0, 22), Pair(2, 10)))));
  EXPECT_EQ(machine->All(), 0b101U);
}

TEST_F(NumaTest, AKernelWithoutNumaHasOneNumaNode) {
  tree_.Directory("/sys/devices/system");

  auto machine = Read();

  ASSERT_TRUE(machine);
  EXPECT_EQ(machine->All(), 1U);
  EXPECT_EQ(machine->SumOfDistances(1), 10);
}

TEST_F(NumaTest, RefusesDistancesThatAreNone) {
  tree_.File("/sys/devices/system/node/node0/distance", "10\n");
  for (const char* bad : {"", "10\n", "10 x\n", "10 -1\n"}) {
    tree_.File("/sys/devices/system/node/node1/distance", bad);
    auto machine = Read();
    ASSERT_FALSE(machine) << bad;
    EXPECT_THAT(machine.error().message(), HasSubstr("distance"));
  }
}

// TestCalculateAvgDistanceFor, of the sums that the averages are made of.
TEST_F(NumaTest, SumsTheDistancesOfAllOrderedPairs) {
  const NumaMachine machine{.distances = {{0, {{0, 10}, {1, 11}, {2, 12}}},
                                          {1, {{0, 11}, {1, 10}, {2, 12}}},
                                          {2, {{0, 12}, {1, 12}, {2, 10}}}}};
  EXPECT_EQ(machine.SumOfDistances(0), 0);
  EXPECT_EQ(machine.SumOfDistances(0b001), 10);
  EXPECT_EQ(machine.SumOfDistances(0b011), 10 + 11 + 11 + 10);
  EXPECT_EQ(machine.SumOfDistances(0b101), 10 + 12 + 12 + 10);
  EXPECT_EQ(machine.SumOfDistances(0b111), 100);
}

TEST_F(NumaTest, NumbersThatNoMaskCanHaveAreInNone) {
  EXPECT_EQ(NumaMaskOf({0, 63}), (NumaMask{1} << 63) | 1);
  EXPECT_EQ(NumaMaskOf({-1, 64, INT64_MAX, INT64_MIN}), 0U);
}

}  // namespace
}  // namespace tenon::manager
