#include "manager/pod_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::manager {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

using enum ContainerKind;

PodRequest Pod(std::vector<ContainerRequest> containers) {
  return {.uid = "uid", .name = "pod", .namespace_name = "default", .containers = containers};
}

// The pod shapes of TestGetPodDeviceRequest.
TEST(TotalRequestsTest, AreNoneForAnEmptyPod) {
  EXPECT_THAT(TotalRequests(Pod({})), IsEmpty());
}

TEST(TotalRequestsTest, AreTheMostThatOneInitContainerHolds) {
  EXPECT_THAT(TotalRequests(Pod({{"i1", kInit, {{"r", 2}}}, {"i2", kInit, {{"r", 4}}}})),
              ElementsAre(Pair("r", 4)));
}

TEST(TotalRequestsTest, AreTheSumOfAppContainers) {
  EXPECT_THAT(TotalRequests(Pod({{"a", kApp, {{"r", 1}, {"s", 2}}}, {"b", kApp, {{"r", 1}}}})),
              ElementsAre(Pair("r", 2), Pair("s", 2)));
}

TEST(TotalRequestsTest, AreTheLargerOfInitAndAppContainers) {
  EXPECT_THAT(TotalRequests(Pod({{"i", kInit, {{"r", 3}, {"s", 1}}},
                                 {"a", kApp, {{"r", 1}, {"s", 2}}},
                                 {"b", kApp, {{"r", 1}}}})),
              ElementsAre(Pair("r", 3), Pair("s", 2)));
}

TEST(TotalRequestsTest, CountSidecarsBesideWhatStartsAfterThem) {
  EXPECT_THAT(TotalRequests(Pod({{"s1", kSidecar, {{"r", 1}}},
                                 {"i", kInit, {{"r", 4}}},
                                 {"s2", kSidecar, {{"r", 2}}},
                                 {"a", kApp, {{"r", 1}}}})),
              ElementsAre(Pair("r", 5)));
}

}  // namespace
}  // namespace tenon::manager
