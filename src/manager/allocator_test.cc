#include "manager/allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "manager/fakes_for_test.h"
#include "manager/reservation.h"

namespace tenon::manager {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kResource[] = "domain2.com/resource2";

class SelectionTest : public testing::Test {
 protected:
  void List(const std::vector<std::string>& healthy, const std::vector<std::string>& ill = {}) {
    table_.SetList(kResource, ListedDevices(healthy, ill));
  }
  void ListAligned(const std::map<std::string, std::vector<int64_t>>& numa_nodes) {
    std::vector<api::ListedDevice> list;
    for (const auto& [id, nodes] : numa_nodes)
      list.push_back({.id = id, .health = "Healthy", .numa_nodes = nodes});
    table_.SetList(kResource, list);
  }
  DeviceRequest Request(int64_t required, std::optional<NumaMask> affinity = std::nullopt) {
    return {.key = {"uid1", "con1", kResource}, .required = required, .affinity = affinity};
  }
  Result<std::optional<Selection>> Start(DeviceRequest request) {
    return Selection::Start(std::move(request), table_.Find(kResource), pods_);
  }
  /// The ids, or the error's text.
  std::vector<std::string> Choose(DeviceRequest request,
                                  const std::vector<std::string>& preferred = {}) {
    auto selection = Start(std::move(request));
    if (!selection) return {selection.error().message()};
    if (!*selection) return {"nothing to do"};
    auto ids = std::move(**selection).Finish(preferred, table_.Find(kResource), pods_);
    return ids ? *ids : std::vector{ids.error().message()};
  }
  void TakeAway(std::vector<std::string> ids) {
    reservations_.push_back(
        *pods_.Reserve({"other", "c" + std::to_string(reservations_.size()), kResource}, ids));
  }

  DeviceTable table_;
  PodDevices pods_;
  std::vector<std::unique_ptr<Reservation>> reservations_;
};

TEST_F(SelectionTest, TakesFreeHealthyDevicesInNaturalOrder) {
  List({"d10", "d2", "d1", "d3"}, {"d0"});
  TakeAway({"d1"});

  EXPECT_THAT(Choose(Request(2)), ElementsAre("d2", "d3"));
}

TEST_F(SelectionTest, RefusesMoreThanIsFree) {
  List({"d1", "d2"}, {"d3"});
  TakeAway({"d1"});

  EXPECT_THAT(Choose(Request(2)),
              ElementsAre("requested number of devices unavailable for domain2.com/resource2. "
                          "Requested: 2, Available: 1"));
}

TEST_F(SelectionTest, RefusesAHugeQuantity) {
  List({"d1"});

  EXPECT_THAT(Choose(Request(INT64_MAX)),
              ElementsAre("requested number of devices unavailable for domain2.com/resource2. "
                          "Requested: 9223372036854775807, Available: 1"));
}

// DM-12, TestPodContainerDeviceToAllocate: the next three.
TEST_F(SelectionTest, RefusesAResourceThatHasNoList) {
  EXPECT_THAT(Choose(Request(1)),
              ElementsAre("cannot allocate unregistered device domain2.com/resource2"));
}

TEST_F(SelectionTest, RefusesAResourceWithoutHealthyDevices) {
  List({}, {"d1"});

  EXPECT_THAT(Choose(Request(1)),
              ElementsAre("no healthy devices present; cannot allocate unhealthy devices "
                          "domain2.com/resource2"));
}

TEST_F(SelectionTest, RefusesAContainerWhoseDevicesAreNoLongerHealthy) {
  List({"d2"}, {"d1"});
  DeviceRequest request = Request(1);
  request.have = {"d1"};

  EXPECT_THAT(Choose(request),
              ElementsAre("previously allocated devices are no longer healthy; cannot allocate "
                          "unhealthy devices domain2.com/resource2"));
}

TEST_F(SelectionTest, LeavesAContainerWithItsDevicesAlone) {
  List({"d1", "d2"});
  TakeAway({"d1"});
  DeviceRequest request = Request(1);
  request.have = {"d1"};

  EXPECT_THAT(Choose(request), ElementsAre("nothing to do"));
}

TEST_F(SelectionTest, RefusesAChangedRequest) {
  List({"d1", "d2"});
  DeviceRequest request = Request(2);
  request.have = {"d1"};

  EXPECT_THAT(Choose(request),
              ElementsAre(R"(pod "uid1" container "con1" changed request for resource )"
                          R"("domain2.com/resource2" from 1 to 2)"));
}

TEST_F(SelectionTest, LeavesARunningContainerAloneWhateverBecameOfItsDevices) {
  DeviceRequest request = Request(1);
  request.have = {"d1"};
  request.running = true;

  EXPECT_THAT(Choose(request), ElementsAre("nothing to do"));
}

TEST_F(SelectionTest, TakesReusableDevicesFirst) {
  List({"d1", "d2", "d3"});
  TakeAway({"d3"});  // The init container's.
  DeviceRequest request = Request(2);
  request.reusable = {"d3"};

  EXPECT_THAT(Choose(request), ElementsAre("d1", "d3"));
}

TEST_F(SelectionTest, TakesNoMoreReusableDevicesThanNeeded) {
  List({"d1", "d2", "d3"});
  TakeAway({"d2", "d3"});
  DeviceRequest request = Request(1);
  request.reusable = {"d2", "d3"};
  auto selection = Start(request);

  EXPECT_FALSE((*selection)->incomplete());
  EXPECT_THAT(Choose(request), ElementsAre("d2"));
}

TEST_F(SelectionTest, CountsOnlyWhatReuseLeavesAsRequested) {
  List({"d1"});
  TakeAway({"d1"});
  DeviceRequest request = Request(3);
  request.reusable = {"d1"};

  EXPECT_THAT(Choose(request),
              ElementsAre("requested number of devices unavailable for domain2.com/resource2. "
                          "Requested: 2, Available: 0"));
}

TEST_F(SelectionTest, AsksThePluginForTheWholeQuantityWithWhatIsTakenInIt) {
  List({"d1", "d2", "d3", "d4"}, {"d5"});
  TakeAway({"d1"});
  TakeAway({"d2"});
  DeviceRequest request = Request(2);
  request.reusable = {"d2"};
  auto selection = Start(request);

  EXPECT_TRUE((*selection)->incomplete());
  EXPECT_EQ(
      (*selection)->Preference(table_.Find(kResource), pods_),
      (api::PreferredRequest{.available = {"d2", "d3", "d4"}, .must_include = {"d2"}, .size = 2}));
}

TEST_F(SelectionTest, FollowsThePluginsPreference) {
  List({"d1", "d2", "d3", "d4"});

  EXPECT_THAT(Choose(Request(2), {"d4", "d2"}), ElementsAre("d2", "d4"));
}

// TH-03, TestTopologyAlignedAllocation, the cases that need no topology: the next one.
TEST_F(SelectionTest, IgnoresPreferredDevicesThatCannotBeTaken) {
  List({"d1", "d2", "d3"}, {"d5"});
  TakeAway({"d2"});

  EXPECT_THAT(Choose(Request(2), {"bogus", "d2", "d5", "d3", "d3", ""}), ElementsAre("d1", "d3"));
}

TEST_F(SelectionTest, FillsUpATooShortPreference) {
  List({"d1", "d2", "d3"});

  EXPECT_THAT(Choose(Request(3), {"d3"}), ElementsAre("d1", "d2", "d3"));
}

TEST_F(SelectionTest, TakesTheFirstOfATooLongPreference) {
  List({"d1", "d2", "d3"});

  EXPECT_THAT(Choose(Request(1), {"d3", "d2", "d1"}), ElementsAre("d3"));
}

TEST_F(SelectionTest, LooksAgainAtDevicesThatChangedWhileThePluginWasAsked) {
  List({"d1", "d2", "d3"});
  auto selection = Start(Request(2));
  List({"d2", "d3"}, {"d1"});

  auto ids = std::move(**selection).Finish({"d1", "d2"}, table_.Find(kResource), pods_);

  EXPECT_THAT(*ids, ElementsAre("d2", "d3"));
}

TEST_F(SelectionTest, SaysWhenTooFewAreLeftAfterThePluginWasAsked) {
  List({"d1", "d2"});
  auto selection = Start(Request(2));
  List({"d2"});

  auto ids = std::move(**selection).Finish({}, table_.Find(kResource), pods_);

  ASSERT_FALSE(ids);
  EXPECT_EQ(ids.error().message(),
            "unexpectedly allocated less resources than required. Requested: 2, Got: 1");
}

TEST_F(SelectionTest, SaysWhenTheResourceIsRemovedWhileThePluginIsAsked) {
  List({"d1"});
  auto selection = Start(Request(1));
  table_.Remove(kResource);

  EXPECT_THAT((*selection)->Preference(nullptr, pods_).available, IsEmpty());
  EXPECT_FALSE(std::move(**selection).Finish({"d1"}, nullptr, pods_));
}

// TH-03, TestTopologyAlignedAllocation, and DM-10, TestFilterByAffinity: the rest.
TEST_F(SelectionTest, TakesAlignedDevicesFirst) {
  ListAligned({{"a", {}}, {"b", {0}}, {"c", {1}}, {"d", {1}}});

  EXPECT_THAT(Choose(Request(2, 0b10)), ElementsAre("c", "d"));
  EXPECT_THAT(Choose(Request(1, 0b10)), ElementsAre("c"));
  EXPECT_THAT(Choose(Request(3, 0b10)), ElementsAre("b", "c", "d")) << "then unaligned ones";
  EXPECT_THAT(Choose(Request(4, 0b10)), ElementsAre("a", "b", "c", "d"));
}

TEST_F(SelectionTest, WithoutNumaInformationAllDevicesAreAlike) {
  List({"a", "b", "c"});

  EXPECT_THAT(Choose(Request(2, 0b10)), ElementsAre("a", "b"));
}

TEST_F(SelectionTest, ADeviceOfSeveralNumaNodesIsAlignedWithEach) {
  ListAligned({{"a", {1, 2}}, {"b", {1}}, {"c", {2}}});

  EXPECT_THAT(Choose(Request(2, 0b100)), ElementsAre("a", "c"));
}

TEST_F(SelectionTest, IgnoresPreferredDevicesThatAreNotAlignedWhereAlignedOnesAreEnough) {
  ListAligned({{"a", {0}}, {"b", {0}}, {"c", {0}}, {"d", {1}}});

  EXPECT_THAT(Choose(Request(2, 0b1), {"d", "c"}), ElementsAre("a", "c"));
}

TEST_F(SelectionTest, AsksAboutTheRestWithAllAlignedDevicesInIt) {
  ListAligned({{"a", {0}}, {"b", {1}}, {"c", {1}}, {"d", {}}});
  auto selection = Start(Request(3, 0b1));

  EXPECT_TRUE((*selection)->incomplete());
  EXPECT_EQ(
      (*selection)->Preference(table_.Find(kResource), pods_),
      (api::PreferredRequest{.available = {"a", "b", "c", "d"}, .must_include = {"a"}, .size = 3}));
  EXPECT_THAT(Choose(Request(3, 0b1), {"d", "c"}), ElementsAre("a", "c", "d"));
}

TEST_F(SelectionTest, AsksNobodyWhereTheAlignedDevicesAreJustEnough) {
  ListAligned({{"a", {0}}, {"b", {0}}, {"c", {1}}});

  EXPECT_FALSE((*Start(Request(2, 0b1)))->incomplete());
}

}  // namespace
}  // namespace tenon::manager
