#include "manager/manager_fixture_for_test.h"

namespace tenon::manager {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class PluginsTest : public ManagerTest {};

// DM-04, TestDevicePluginReRegistration.
TEST_F(PluginsTest, ThePluginThatRegistersLastSaysWhichDevicesThereAre) {
  FakePlugin a;
  FakePlugin b;
  FakePlugin c;
  Serve(kRes1, a, {"Dev1", "Dev2"});
  EXPECT_THAT(manager_->Capacity(), ElementsAre(ResourceCapacity{kRes1, 2, 2}));

  EXPECT_EQ(Register(kRes1, b, "b.sock"), "ok");
  EXPECT_THAT(manager_->Capacity(), ElementsAre(ResourceCapacity{kRes1, 2, 2}));
  b.SendList(HealthyDevices({"Dev1", "Dev2"}));
  EXPECT_THAT(manager_->Capacity(), ElementsAre(ResourceCapacity{kRes1, 2, 2}));

  EXPECT_EQ(Register(kRes1, c, "c.sock"), "ok");
  c.SendList(HealthyDevices({"Dev3"}));
  EXPECT_THAT(manager_->Capacity(), ElementsAre(ResourceCapacity{kRes1, 1, 1}));
}

// DM-26 TestPluginConnected_SameResourceDifferentSocketsCoexist: a rolling update with a surge.
TEST_F(PluginsTest, AnInstanceAtAnotherSocketStandsByAndTakesOver) {
  FakePlugin old;
  FakePlugin young;
  ASSERT_EQ(Register(kRes1, old, "old.sock"), "ok");
  old.SendList(HealthyDevices({"a", "b"}));
  ASSERT_EQ(Register(kRes1, young, "young.sock"), "ok");
  young.SendList(HealthyDevices({"a", "b", "c"}));
  Settle(timers_);
  EXPECT_TRUE(old.connected());
  EXPECT_EQ(Admit(Pod("p", {{kRes1, 1}})), "admitted");
  EXPECT_THAT(old.allocated, IsEmpty());
  EXPECT_THAT(young.allocated, testing::SizeIs(1));

  old.SendList(HealthyDevices({"b"}));
  EXPECT_THAT(manager_->Capacity(), ElementsAre(ResourceCapacity{kRes1, 3, 3}))
      << "who stands by says nothing";
  young.EndStreams();
  Settle(timers_);

  // DM-28 TestPluginDisconnected_PromotesSurvivor.
  EXPECT_THAT(manager_->Capacity(), ElementsAre(ResourceCapacity{kRes1, 1, 1}));
  EXPECT_FALSE(young.connected());
  EXPECT_EQ(Admit(Pod("q", {{kRes1, 1}})), "admitted");
  EXPECT_THAT(old.allocated, ElementsAre(ElementsAre("b")));
  timers_.Advance(std::chrono::minutes(6));
  Settle(timers_);
  EXPECT_THAT(manager_->Capacity(), ElementsAre(ResourceCapacity{kRes1, 1, 1}));

  // DM-29 TestPluginDisconnected_LastEndpointMarksUnhealthy.
  old.EndStreams();
  EXPECT_THAT(manager_->Capacity(), ElementsAre(ResourceCapacity{kRes1, 1, 0}));
}

// E-28: the second instance is slow to list; the first one goes on until then, and beyond.
TEST_F(PluginsTest, ASuccessorThatNeverListsCostsNothing) {
  FakePlugin slow;
  Serve(kRes1, plugin1_, {"a", "b"});
  ASSERT_EQ(Register(kRes1, slow, "slow.sock"), "ok");
  EXPECT_THAT(manager_->Capacity(), ElementsAre(ResourceCapacity{kRes1, 2, 2}));

  slow.EndStreams();
  Settle(timers_);

  EXPECT_THAT(manager_->Capacity(), ElementsAre(ResourceCapacity{kRes1, 2, 2}));
  EXPECT_EQ(Admit(Pod("p", {{kRes1, 1}})), "admitted");
}

TEST_F(PluginsTest, TheEndOfOneThatStandsByChangesNothing) {
  FakePlugin young;
  Serve(kRes1, plugin1_, {"a"});
  ASSERT_EQ(Register(kRes1, young, "young.sock"), "ok");
  young.SendList(HealthyDevices({"b"}));

  plugin1_.EndStreams();
  Settle(timers_);

  EXPECT_THAT(manager_->Capacity(), ElementsAre(ResourceCapacity{kRes1, 1, 1}));
  EXPECT_FALSE(plugin1_.connected());
  EXPECT_EQ(Admit(Pod("p", {{kRes1, 1}})), "admitted");
  EXPECT_THAT(young.allocated, testing::SizeIs(1));
}

TEST_F(PluginsTest, OneThatTakesOverWithoutHavingListedHasNothing) {
  FakePlugin young;
  ASSERT_EQ(Register(kRes1, plugin1_, "old.sock"), "ok");
  ASSERT_EQ(Register(kRes1, young, "young.sock"), "ok");
  young.SendList(HealthyDevices({"a"}));

  young.EndStreams();
  EXPECT_THAT(manager_->Capacity(), ElementsAre(ResourceCapacity{kRes1, 1, 0}));
  plugin1_.SendList(HealthyDevices({"a"}));
  EXPECT_THAT(manager_->Capacity(), ElementsAre(ResourceCapacity{kRes1, 1, 1}));
}

// DM-25, DM-31, DM-32: the kubelet refuses this, and then for ever; here the newcomer has come to
// stay. EP-05 TestDuplicateRegistration: and nothing of the one before is left.
TEST_F(PluginsTest, RegisteringAgainAtTheSameSocketReplaces) {
  for (int i = 0; i < 3; ++i)
    Serve(kRes1, plugin1_, {"a"});

  EXPECT_THAT(plugin1_.clients, testing::SizeIs(1));
  EXPECT_THAT(manager_->Capacity(), ElementsAre(ResourceCapacity{kRes1, 1, 1}));
}

TEST_F(PluginsTest, APluginThatLeaksItsConnectionsLosesTheOldOnes) {
  for (int i = 0; i < 20; ++i)
    ASSERT_EQ(Register(kRes1, plugin1_, "x" + std::to_string(i)), "ok");
  Settle(timers_);

  EXPECT_THAT(plugin1_.clients, testing::SizeIs(5));
}

// ---- Plugins that are found at their socket
class FoundPluginTest : public ManagerTest {
 protected:
  std::string Find(const FoundPlugin& found) {
    dialer_.sockets[found.socket] = &plugin1_;
    std::string answer;
    auto registration = manager_->RegisterFound(found, dialer_, [&](const Result<void>& result) {
      answer = result ? "ok" : result.error().message();
    });
    if (!registration) return registration.error().message();
    Settle(timers_);
    return answer;
  }
};

// DM-03 TestNewManagerImplStartProbeMode, DM-05 TestDevicePluginReRegistrationProbeMode.
TEST_F(FoundPluginTest, ServesItsResourceUntilItsSocketIsRemoved) {
  EXPECT_EQ(Find({kRes1, {"v1beta1"}, "/reg/a.sock"}), "ok");
  plugin1_.SendList(HealthyDevices({"a"}));
  EXPECT_THAT(manager_->Capacity(), ElementsAre(ResourceCapacity{kRes1, 1, 1}));

  manager_->Disconnect(kRes1, "/reg/other.sock");
  manager_->Disconnect(kRes2, "/reg/a.sock");
  EXPECT_THAT(manager_->Capacity(), ElementsAre(ResourceCapacity{kRes1, 1, 1}));
  manager_->Disconnect(kRes1, "/reg/a.sock");
  Settle(timers_);

  EXPECT_THAT(manager_->Capacity(), ElementsAre(ResourceCapacity{kRes1, 1, 0}));
  EXPECT_FALSE(plugin1_.connected());
}

TEST_F(FoundPluginTest, IsCheckedAsTheKubeletDoes) {
  EXPECT_EQ(Find({kRes1, {"v1", "v2"}, "/reg/a.sock"}),
            "manager version, v1beta1, is not among plugin supported versions [v1 v2]");
  EXPECT_EQ(Find({"gpu", {"v1", "v1beta1"}, "/reg/a.sock"}),
            "invalid name of device plugin socket: the ResourceName \"gpu\" is invalid");
  EXPECT_FALSE(plugin1_.connected());
}

// DM-06, TestUpdateCapacityAllocatable; DM-08, TestGetAllocatableDevicesHealthTransition.
TEST_F(PluginsTest, CapacityFollowsTheLists) {
  ASSERT_EQ(Register(kRes1, plugin1_), "ok");
  EXPECT_THAT(manager_->Capacity(), IsEmpty());
  auto list = HealthyDevices({"d1", "d2", "d3"});
  list[2].health = "Unhealthy";
  plugin1_.SendList(list);
  EXPECT_THAT(manager_->Capacity(), ElementsAre(ResourceCapacity{kRes1, 3, 2}));
  list.pop_back();
  plugin1_.SendList(list);
  EXPECT_THAT(manager_->Capacity(), ElementsAre(ResourceCapacity{kRes1, 2, 2}));
  list[0].health = "Unhealthy";
  plugin1_.SendList(list);
  EXPECT_THAT(manager_->Capacity(), ElementsAre(ResourceCapacity{kRes1, 2, 1}));
  list[0].health = "Healthy";
  plugin1_.SendList(list);
  EXPECT_THAT(manager_->Capacity(), ElementsAre(ResourceCapacity{kRes1, 2, 2}));

  Serve(kRes2, plugin2_, {"d1"});
  EXPECT_THAT(manager_->Capacity(),
              ElementsAre(ResourceCapacity{kRes1, 2, 2}, ResourceCapacity{kRes2, 1, 1}));
}

// DM-24, TestEndpointSyncOnDisconnect; the end of DM-06.
TEST_F(PluginsTest, ALostPluginLeavesItsDevicesUnhealthyForTheGracePeriod) {
  Serve(kRes1, plugin1_, {"d1", "d2"});

  plugin1_.EndStreams();
  Settle(timers_);
  EXPECT_THAT(manager_->Capacity(), ElementsAre(ResourceCapacity{kRes1, 2, 0}));
  EXPECT_FALSE(plugin1_.connected());
  EXPECT_EQ(Admit(Pod("p", {{kRes1, 1}})),
            Refused("no healthy devices present; cannot allocate unhealthy devices " +
                    std::string(kRes1)));

  timers_.Advance(std::chrono::minutes(5));
  Settle(timers_);
  EXPECT_THAT(manager_->Capacity(), ElementsAre(ResourceCapacity{kRes1, 0, 0}));
  EXPECT_EQ(Admit(Pod("p", {{kRes1, 1}})),
            "OutOfdomain1.com/resource1: Node didn't have enough resource: "
            "domain1.com/resource1, requested: 1, used: 0, capacity: 0");
}

TEST_F(PluginsTest, APluginThatComesBackInTimeIsKept) {
  Serve(kRes1, plugin1_, {"d1"});
  plugin1_.EndStreams();
  timers_.Advance(std::chrono::minutes(4));
  FakePlugin again;

  Serve(kRes1, again, {"d1"});
  timers_.Advance(std::chrono::minutes(10));

  EXPECT_THAT(manager_->Capacity(), ElementsAre(ResourceCapacity{kRes1, 1, 1}));
  EXPECT_EQ(Admit(Pod("p", {{kRes1, 1}})), "admitted");
}

// DM-27 TestPluginDisconnected_WrongSocketIsNoop, DM-30 TestSameSocketRace: ours does better.
TEST_F(PluginsTest, TheEndOfAReplacedPluginHarmsNothing) {
  FakePlugin old;
  Serve(kRes1, old, {"d1"});
  FakePlugin::Client* old_client = old.clients[0];
  Serve(kRes1, plugin1_, {"d1", "d2"});

  EXPECT_THAT(old.clients, Not(Contains(old_client)));
  old.EndStreams();
  Settle(timers_);

  EXPECT_THAT(manager_->Capacity(), ElementsAre(ResourceCapacity{kRes1, 2, 2}));
  EXPECT_TRUE(plugin1_.connected());
}

TEST_F(PluginsTest, AFailedReRegistrationHarmsNothing) {
  Serve(kRes1, plugin1_, {"d1"});
  FakePlugin bad;
  bad.on_options = Reply::kFail;

  EXPECT_THAT(Register(kRes1, bad, "bad.sock"), HasSubstr("it broke"));

  EXPECT_FALSE(bad.connected());
  EXPECT_EQ(Admit(Pod("p", {{kRes1, 1}})), "admitted");
  plugin1_.EndStreams();
  EXPECT_THAT(manager_->Capacity(), ElementsAre(ResourceCapacity{kRes1, 1, 0}));
}

TEST_F(PluginsTest, AFailedFirstRegistrationLeavesNothing) {
  plugin1_.on_options = Reply::kFail;

  Register(kRes1, plugin1_, "x.sock");

  EXPECT_THAT(manager_->Capacity(), IsEmpty());
  EXPECT_FALSE(plugin1_.connected());
}

TEST_F(PluginsTest, ARegistrationThatHangsHoldsUpNoOther) {
  plugin1_.on_options = Reply::kHang;
  dialer_.sockets["slow.sock"] = &plugin1_;
  std::string slow;
  auto registration = manager_->Register(
      {"v1beta1", "slow.sock", kRes1, {}},
      [&](const Result<void>& result) { slow = result ? "ok" : result.error().message(); });
  Settle(timers_);

  EXPECT_EQ(Register(kRes2, plugin2_), "ok");
  EXPECT_EQ(slow, "");
  timers_.Advance(std::chrono::seconds(10));
  Settle(timers_);
  EXPECT_THAT(slow, HasSubstr("code = DeadlineExceeded"));
}

// E-18: the resource appears with nothing, and nobody opens the stream again.
TEST_F(PluginsTest, AStreamThatFailsAtOnceLeavesAnEmptyResource) {
  ASSERT_EQ(Register(kRes1, plugin1_), "ok");
  plugin1_.EndStreams();
  Settle(timers_);

  EXPECT_THAT(manager_->Capacity(), ElementsAre(ResourceCapacity{kRes1, 0, 0}));
  EXPECT_FALSE(plugin1_.connected());
}

TEST_F(PluginsTest, AListOverTheReceiveLimitIsLoggedAsAnError) {
  Serve(kRes1, plugin1_, {"d1"});

  plugin1_.EndStreams("rpc error: code = ResourceExhausted desc = too large",
                      Code::kResourceExhausted);

  EXPECT_THAT(log_.lines(), Contains(testing::AllOf(testing::StartsWith("ERROR"), HasSubstr(kRes1),
                                                    HasSubstr("too large"))));
}

TEST_F(PluginsTest, WarnsOfDuplicatesInAList) {
  ASSERT_EQ(Register(kRes1, plugin1_), "ok");

  plugin1_.SendList(HealthyDevices({"a", "b", "a", "c", "b"}));

  EXPECT_THAT(manager_->Capacity(), ElementsAre(ResourceCapacity{kRes1, 3, 3}));
  EXPECT_THAT(log_.lines(), Contains(HasSubstr("a, b")));
}

TEST_F(PluginsTest, TellsOfEachChangeOfCapacity) {
  int changes = 0;
  manager_->OnCapacityChange([&] { ++changes; });
  ASSERT_EQ(Register(kRes1, plugin1_), "ok");
  EXPECT_EQ(changes, 0);

  plugin1_.SendList(HealthyDevices({"a"}));
  Settle(timers_);
  EXPECT_EQ(changes, 1);
  plugin1_.EndStreams();
  Settle(timers_);
  EXPECT_EQ(changes, 2);
  timers_.Advance(std::chrono::minutes(5));
  Settle(timers_);
  EXPECT_EQ(changes, 3);
}

}  // namespace
}  // namespace tenon::manager
