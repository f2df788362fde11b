#include "device/allocation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon {
namespace {

using ::testing::ElementsAre;

TEST(Allocation, TheFirstWriterWinsAndConflictsAreNamed) {
  ContainerAllocation sum{.env = {{"A", "1"}},
                          .mounts = {{"/m", "/host/m", true}},
                          .device_nodes = {{"/dev/x", "/dev/x0", "rw"}},
                          .annotations = {{"k", "v"}}};
  ContainerAllocation more{.env = {{"A", "2"}, {"B", "3"}},
                           .mounts = {{"/m", "/other", false}},
                           .device_nodes = {{"/dev/x", "/dev/x1", "r"}, {"/dev/y", "/dev/y", "r"}},
                           .annotations = {{"k", "w"}}};

  auto conflicts = MergeAllocation(sum, more);

  EXPECT_EQ(
      (ContainerAllocation{.env = {{"A", "1"}, {"B", "3"}},
                           .mounts = {{"/m", "/host/m", true}},
                           .device_nodes = {{"/dev/x", "/dev/x0", "rw"}, {"/dev/y", "/dev/y", "r"}},
                           .annotations = {{"k", "v"}}}),
      sum);
  EXPECT_THAT(
      conflicts,
      ElementsAre(
          "environment variable A has conflicting setting",
          "container device /dev/x has conflicting host paths: /dev/x0 is kept, /dev/x1 is not",
          "container mount /m has conflicting host paths: /host/m is kept, /other is not",
          "annotation k has conflicting setting"));
}

TEST(Allocation, ARepeatIsNoConflict) {
  ContainerAllocation sum{.env = {{"A", "1"}}, .device_nodes = {{"/dev/x", "/dev/x", "rw"}}};
  ContainerAllocation same{.env = {{"A", "1"}}, .device_nodes = {{"/dev/x", "/dev/x", "r"}}};

  EXPECT_THAT(MergeAllocation(sum, same), ElementsAre());
  EXPECT_EQ("rw", sum.device_nodes[0].permissions);
}

TEST(Allocation, CdiNamesAreASetInOrderOfFirstSight) {
  ContainerAllocation sum{.cdi_devices = {"v/c=b"}};
  MergeAllocation(sum, {.cdi_devices = {"v/c=a", "v/c=b"}});
  EXPECT_THAT(sum.cdi_devices, ElementsAre("v/c=b", "v/c=a"));
}

}  // namespace
}  // namespace tenon
