#include "manager/pod_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "manager/reservation.h"

namespace tenon::manager {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

const HoldKey kKey{"pod1", "con1", "domain1.com/resource1"};

HeldDevices Held(IdsByNuma ids) {
  return {.ids = std::move(ids), .allocation = ContainerAllocation()};
}

std::vector<checkpoint::Entry> Entries(PodDevices& pods) {
  auto entries = checkpoint::Decode(pods.text().Encode(), "text")->entries;
  return entries ? *std::move(entries) : std::vector<checkpoint::Entry>();
}

std::vector<std::string> InUse(const PodDevices& pods, const std::string& resource) {
  std::vector<std::string> ids;
  if (const auto* in_use = pods.InUse(resource))
    for (const auto& [id, count] : *in_use)
      ids.push_back(id);
  return ids;
}

Result<ContainerAllocation> DecodeAnything(std::string_view bytes) {
  if (bytes == "broken") return Error(Code::kInvalidArgument, "broken");
  return ContainerAllocation{.env = {{"BYTES", std::string(bytes)}}};
}

// PD-01, TestGetContainerDevices.
TEST(PodDevicesTest, ADeviceOnTwoNumaNodesIsOneDevice) {
  PodDevices pods;
  pods.Insert(kKey, Held({{0, {"dev1"}}, {1, {"dev1"}}}), "");

  EXPECT_THAT(pods.Find(kKey)->AllIds(), ElementsAre("dev1"));
  EXPECT_THAT(InUse(pods, kKey.resource), ElementsAre("dev1"));
  pods.RemovePod("pod1");
  EXPECT_EQ(pods.InUse(kKey.resource), nullptr);
}

TEST(PodDevicesTest, GroupsIdsByNumaNodeAsThePluginListsThem) {
  DeviceRow row{.devices = {{"a", true, {1, 0, 1}}, {"b", true, {}}, {"c", true, {1}}}};

  EXPECT_THAT(GroupByNuma({"c", "a", "b", "gone"}, &row),
              ElementsAre(Pair(-1, ElementsAre("b", "gone")), Pair(0, ElementsAre("a")),
                          Pair(1, ElementsAre("a", "c"))));
  EXPECT_THAT(GroupByNuma({"a"}, nullptr), ElementsAre(Pair(-1, ElementsAre("a"))));
}

// PD-06, TestPodDevicesReservationLifecycle.
TEST(PodDevicesTest, AReservationIsInUseAndInvisible) {
  PodDevices pods;

  auto reservation = pods.Reserve(kKey, {"dev1", "dev2"});

  ASSERT_TRUE(reservation);
  EXPECT_THAT(InUse(pods, kKey.resource), UnorderedElementsAre("dev1", "dev2"));
  EXPECT_EQ(pods.Find(kKey), nullptr);
  EXPECT_THAT(pods.Pods(), IsEmpty());
  EXPECT_THAT(Entries(pods), IsEmpty());
}

TEST(PodDevicesTest, RefusesASecondReservationForTheSameContainerAndResource) {
  PodDevices pods;
  auto first = pods.Reserve(kKey, {"dev1"});

  auto second = pods.Reserve(kKey, {"dev2"});

  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), Code::kFailedPrecondition);
  EXPECT_THAT(InUse(pods, kKey.resource), ElementsAre("dev1"));
}

TEST(PodDevicesTest, AReservationSurvivesTheRemovalOfItsPodsOtherDevices) {
  PodDevices pods;
  pods.Insert({"pod1", "init", kKey.resource}, Held({{-1, {"dev1"}}}), "");
  auto reservation = pods.Reserve(kKey, {"dev1", "dev2"});

  EXPECT_TRUE(pods.RemovePod("pod1"));

  EXPECT_THAT(InUse(pods, kKey.resource), UnorderedElementsAre("dev1", "dev2"));
}

TEST(PodDevicesTest, ACommittedReservationCannotBeRolledBack) {
  PodDevices pods;
  {
    auto reservation = pods.Reserve(kKey, {"dev1"});
    (*reservation)->Commit(Held({{0, {"dev1"}}}), "bytes");
  }

  EXPECT_THAT(InUse(pods, kKey.resource), ElementsAre("dev1"));
  EXPECT_EQ(Entries(pods)[0].alloc_resp, "bytes");
  EXPECT_THAT(pods.Pods(), ElementsAre("pod1"));
  EXPECT_TRUE(pods.Reserve(kKey, {"dev2"}));
}

// PD-07, TestPodDevicesRollbackReservation.
TEST(PodDevicesTest, ADestroyedReservationLeavesNothing) {
  PodDevices pods;
  pods.Reserve(kKey, {"dev1"}).value().reset();

  EXPECT_EQ(pods.InUse(kKey.resource), nullptr);
  EXPECT_TRUE(pods.Reserve(kKey, {"dev1"}));
}

TEST(PodDevicesTest, ADeviceThatTwoContainersHoldIsFreeOnlyAfterBoth) {
  PodDevices pods;
  HoldKey app{"pod1", "app", kKey.resource};
  pods.Insert(kKey, Held({{-1, {"dev1"}}}), "");
  pods.Insert(app, Held({{-1, {"dev1"}}}), "");

  pods.Remove(kKey);
  EXPECT_THAT(InUse(pods, kKey.resource), ElementsAre("dev1"));
  pods.Remove(app);
  EXPECT_EQ(pods.InUse(kKey.resource), nullptr);
  EXPECT_THAT(pods.Pods(), IsEmpty());
}

TEST(PodDevicesTest, InsertReplacesWhatWasHeldUnderTheKey) {
  PodDevices pods;
  pods.Insert(kKey, Held({{-1, {"dev1", "dev2"}}}), "");

  pods.Insert(kKey, Held({{-1, {"dev2", "dev3"}}}), "");

  EXPECT_THAT(InUse(pods, kKey.resource), UnorderedElementsAre("dev2", "dev3"));
}

TEST(PodDevicesTest, RemovingWhatIsNotHeldDoesNothing) {
  PodDevices pods;
  pods.Insert(kKey, Held({{-1, {"dev1"}}}), "");

  pods.Remove({"pod1", "con1", "other"});
  pods.Remove({"pod1", "other", kKey.resource});
  pods.Remove({"other", "con1", kKey.resource});
  EXPECT_FALSE(pods.RemovePod("other"));

  EXPECT_THAT(InUse(pods, kKey.resource), ElementsAre("dev1"));
}

TEST(PodDevicesTest, EntriesStandInTheOrderInWhichPodsCame) {
  PodDevices pods;
  pods.Insert({"z", "c", "r"}, Held({{-1, {"2"}}}), "b");
  pods.Insert({"a", "c", "r"}, Held({{0, {"1"}}, {1, {"1"}}}), "a");

  auto entries = Entries(pods);

  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].pod_uid, "z");
  EXPECT_EQ(entries[1].pod_uid, "a");
  EXPECT_EQ(entries[1].alloc_resp, "a");
  EXPECT_THAT(*entries[1].device_ids, ElementsAre(Pair(0, testing::Optional(ElementsAre("1"))),
                                                  Pair(1, testing::Optional(ElementsAre("1")))));
}

// The pod devices part of DM-09, TestCheckpoint.
TEST(PodDevicesTest, RestoresWhatItSaved) {
  PodDevices before;
  before.Insert({"pod1", "con1", "r1"}, Held({{0, {"dev1"}}, {1, {"dev2"}}}), "x");
  before.Insert({"pod1", "con2", "r1"}, Held({{-1, {"dev3"}}}), "y");
  before.Insert({"pod2", "con1", "r2"}, Held({{0, {"dev1"}}}), "z");

  PodDevices after;
  auto undecodable = after.Restore(Entries(before), DecodeAnything);

  EXPECT_THAT(undecodable, IsEmpty());
  EXPECT_EQ(Entries(after), Entries(before));
  EXPECT_THAT(InUse(after, "r1"), UnorderedElementsAre("dev1", "dev2", "dev3"));
  EXPECT_EQ(after.Find({"pod2", "con1", "r2"})->allocation->env.at("BYTES"), "z");
}

TEST(PodDevicesTest, KeepsDevicesWhoseAnswerCannotBeDecoded) {
  PodDevices pods;

  auto undecodable = pods.Restore({{.pod_uid = "pod1",
                                    .container_name = "con1",
                                    .resource_name = "r",
                                    .device_ids = {{{0, checkpoint::Ids({"dev1"})}}},
                                    .alloc_resp = "broken"}},
                                  DecodeAnything);

  EXPECT_THAT(undecodable, ElementsAre(HoldKey{"pod1", "con1", "r"}));
  EXPECT_THAT(InUse(pods, "r"), ElementsAre("dev1"));
  EXPECT_FALSE(pods.Find({"pod1", "con1", "r"})->allocation);
  EXPECT_EQ(Entries(pods)[0].alloc_resp, "broken");
}

TEST(PodDevicesTest, RestoresNullsAsNothing) {
  PodDevices pods;

  pods.Restore({{.pod_uid = "pod1", .container_name = "c", .resource_name = "r"},
                {.pod_uid = "pod2",
                 .container_name = "c",
                 .resource_name = "r",
                 .device_ids = {{{0, std::nullopt}}},
                 .alloc_resp = ""}},
               DecodeAnything);

  EXPECT_EQ(pods.InUse("r"), nullptr);
  EXPECT_THAT(pods.Pods(), ElementsAre("pod1", "pod2"));
}

// PD-04, TestGetPodAndContainerForDevice.
TEST(PodDevicesTest, KnowsThePodOfADeviceByResourceAndId) {
  PodDevices pods;
  pods.Insert({"pod1", "con1", "r1"}, Held({{-1, {"dev"}}}), "");
  pods.Insert({"pod2", "con1", "r2"}, Held({{-1, {"dev"}}}), "");
  auto reserved = pods.Reserve({"pod3", "con1", "r1"}, {"taken"});

  EXPECT_EQ(*pods.FindOwner("r1", "dev"), "pod1");
  EXPECT_EQ(*pods.FindOwner("r2", "dev"), "pod2");
  EXPECT_EQ(pods.FindOwner("r1", "taken"), nullptr);
  EXPECT_EQ(pods.FindOwner("r1", "other"), nullptr);
  EXPECT_EQ(pods.FindOwner("r3", "dev"), nullptr);
  pods.RemovePod("pod1");
  EXPECT_EQ(pods.FindOwner("r1", "dev"), nullptr);
  EXPECT_EQ(*pods.FindOwner("r2", "dev"), "pod2");
}

}  // namespace
}  // namespace tenon::manager
