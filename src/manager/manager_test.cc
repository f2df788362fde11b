#include "manager/manager_fixture_for_test.h"

namespace tenon::manager {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using enum ContainerKind;

TEST_F(ManagerTest, MayBeDestroyedInAnyCallback) {
  Serve(kRes1, plugin1_, {"a", "b", "c"});
  bool other_answered = false;
  manager_->AdmitPod(Pod("p", {{kRes1, 1}}), [&](const AdmitResult&) { manager_.reset(); });
  manager_->AdmitPod(Pod("q", {{kRes1, 1}}), [&](const AdmitResult&) { other_answered = true; });
  Settle(timers_);
  EXPECT_EQ(manager_, nullptr);
  EXPECT_FALSE(other_answered);
  EXPECT_FALSE(plugin1_.connected());

  Restart();
  Serve(kRes1, plugin1_, {"a", "b", "c"});
  Admit(Pod("p", {{kRes1, 1}}));
  manager_->PrepareStart("p", "con", [&](const auto&) { manager_.reset(); });
  Settle(timers_);
  EXPECT_EQ(manager_, nullptr);

  Restart();
  ASSERT_EQ(Register(kRes1, plugin1_), "ok");
  manager_->OnCapacityChange([&] { manager_.reset(); });
  plugin1_.SendList(HealthyDevices({"a"}));
  Settle(timers_);
  EXPECT_EQ(manager_, nullptr);
}

TEST_F(ManagerTest, AnswersOnlyWhenTheCheckpointIsWritten) {
  Serve(kRes1, plugin1_, {"a"});
  file_.hold = true;

  EXPECT_EQ(Admit(Pod("p", {{kRes1, 1}})), "no answer");
  file_.Release();
  Settle(timers_);

  EXPECT_EQ(answers_["p"], "admitted");
  EXPECT_THAT(*file_.content, HasSubstr(R"("PodUID":"p")"));
}

TEST_F(ManagerTest, PodsThatWaitForTheDiskShareOneWrite) {
  Serve(kRes1, plugin1_, {"a", "b", "c", "d"});
  file_.hold = true;
  file_.writes = 0;
  for (const char* uid : {"p1", "p2", "p3", "p4"})
    BeginAdmit(Pod(uid, {{kRes1, 1}}));
  Settle(timers_);
  EXPECT_THAT(plugin1_.allocated, testing::SizeIs(4));

  file_.Release();
  Settle(timers_);
  EXPECT_EQ(answers_.size(), 1U);
  file_.Release();
  Settle(timers_);

  EXPECT_EQ(answers_.size(), 4U);
  EXPECT_EQ(file_.writes, 2);
}

TEST_F(ManagerTest, AFailedWriteRefusesThePodAndFreesItsDevices) {
  Serve(kRes1, plugin1_, {"a"});
  file_.write_error = Error(Code::kResourceExhausted, "write f: No space left on device", 28);

  EXPECT_EQ(Admit(Pod("p", {{kRes1, 1}})),
            Refused("failed to write checkpoint file \"kubelet_internal_checkpoint\": write f: No "
                    "space left on device"));
  EXPECT_THAT(manager_->ListPodResources(), IsEmpty());
  EXPECT_EQ(Start("p"), "no container con of pod p is admitted");
  file_.write_error.reset();
  EXPECT_EQ(Admit(Pod("p", {{kRes1, 1}})), "admitted");
}

TEST_F(ManagerTest, RemovingAPodDuringItsWriteFreesItsDevicesOnDiskToo) {
  Serve(kRes1, plugin1_, {"a"});
  file_.hold = true;
  Admit(Pod("p", {{kRes1, 1}}));

  manager_->RemovePod("p");
  file_.Release();
  file_.Release();
  Settle(timers_);

  EXPECT_EQ(answers_["p"], Refused("pod p was removed while it was being admitted"));
  EXPECT_THAT(*file_.content, Not(HasSubstr("PodUID")));
  file_.hold = false;
  EXPECT_EQ(Admit(Pod("q", {{kRes1, 1}})), "admitted");
}

TEST_F(ManagerTest, WritesWhenAResourceComesOrGoesAndNotWithEachList) {
  ASSERT_EQ(Register(kRes1, plugin1_), "ok");
  EXPECT_EQ(file_.writes, 0);
  for (const char* id : {"a", "b", "c"}) {
    plugin1_.SendList(HealthyDevices({id}));
    Settle(timers_);
  }
  EXPECT_EQ(file_.writes, 1);
  plugin1_.EndStreams();
  Settle(timers_);
  EXPECT_EQ(file_.writes, 1);
  timers_.Advance(std::chrono::minutes(5));
  Settle(timers_);
  EXPECT_EQ(file_.writes, 2);
  EXPECT_EQ(file_.content,
            R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":3467439661})");
}

// DM-09, TestCheckpoint, and the restart rows of the specification.
TEST_F(ManagerTest, ARestartKeepsWhatPodsHold) {
  Serve(kRes1, plugin1_, {"a", "b"});
  Admit(Pod("p", {{kRes1, 1}}));

  Restart();
  EXPECT_THAT(manager_->Capacity(), ElementsAre(ResourceCapacity{kRes1, 0, 0}));
  EXPECT_EQ(Admit(Pod("new", {{kRes1, 1}})),
            Refused("no healthy devices present; cannot allocate unhealthy devices " +
                    std::string(kRes1)));
  Serve(kRes1, plugin1_, {"a", "b"});

  EXPECT_EQ(Admit(Pod("p", {{kRes1, 1}})), "admitted");
  EXPECT_EQ(Start("p"), "a");
  EXPECT_EQ(Admit(Pod("q", {{kRes1, 1}})), "admitted");
  EXPECT_THAT(Held("q", "con"), ElementsAre("b"));
  EXPECT_THAT(plugin1_.allocated, testing::SizeIs(2)) << "no Allocate for what is held";
}

TEST_F(ManagerTest, ARunningPodSurvivesARestartBeforeItsPluginIsBack) {
  Serve(kRes1, plugin1_, {"a"});
  PodRequest pod = Pod("p", {{"init", kInit, {{kRes1, 1}}}, {"con", kApp, {{kRes1, 1}}}});
  Admit(pod);
  Restart();

  pod.containers[1].running = true;
  EXPECT_EQ(Admit(pod), "admitted");
  EXPECT_EQ(Start("p"), "a");
}

TEST_F(ManagerTest, APodThatDoesNotRunIsRefusedBeforeItsPluginIsBackAndKeepsItsDevices) {
  Serve(kRes1, plugin1_, {"a"});
  Admit(Pod("p", {{kRes1, 1}}));
  Restart();

  EXPECT_THAT(Admit(Pod("p", {{kRes1, 1}})), HasSubstr("no healthy devices present"));
  Serve(kRes1, plugin1_, {"a"});
  EXPECT_THAT(Admit(Pod("q", {{kRes1, 1}})), HasSubstr("Available: 0"));
  manager_->RemovePod("p");
  EXPECT_EQ(Admit(Pod("q", {{kRes1, 1}})), "admitted");
}

TEST_F(ManagerTest, ADeviceThatIsGoneAfterARestartIsNotReplacedByAnother) {
  Serve(kRes1, plugin1_, {"a"});
  Admit(Pod("p", {{kRes1, 1}}));
  Restart();
  Serve(kRes1, plugin1_, {"b"});

  EXPECT_EQ(Admit(Pod("p", {{kRes1, 1}})),
            Refused("previously allocated devices are no longer healthy; cannot allocate unhealthy "
                    "devices " +
                    std::string(kRes1)));
}

TEST_F(ManagerTest, AResourceWhosePluginDoesNotReturnAfterARestartIsRemoved) {
  Serve(kRes1, plugin1_, {"a"});
  Restart();

  timers_.Advance(std::chrono::minutes(5));
  Settle(timers_);

  EXPECT_THAT(manager_->Capacity(), ElementsAre(ResourceCapacity{kRes1, 0, 0}));
  EXPECT_THAT(*file_.content, Not(HasSubstr(kRes1)));
}

// DM-19 TestResetExtendedResource: numbers of an earlier life attract no pods.
TEST_F(ManagerTest, AStartWithoutACheckpointKnowsNoResourceAndOneWithItHasThemAtZero) {
  EXPECT_THAT(manager_->Capacity(), IsEmpty());
  Serve(kRes1, plugin1_, {"a", "b"});

  Restart();
  EXPECT_THAT(manager_->Capacity(), ElementsAre(ResourceCapacity{kRes1, 0, 0}));

  file_.content.reset();
  Restart();
  EXPECT_THAT(manager_->Capacity(), IsEmpty());
}

TEST_F(ManagerTest, ARestartForgetsPodsThatWentAway) {
  Serve(kRes1, plugin1_, {"a", "b"});
  Admit(Pod("p", {{kRes1, 1}}));
  Admit(Pod("q", {{kRes1, 1}}));
  Restart();
  Serve(kRes1, plugin1_, {"a", "b"});

  manager_->RetainPods({"q"});
  Settle(timers_);

  EXPECT_EQ(Admit(Pod("new", {{kRes1, 1}})), "admitted");
  EXPECT_THAT(*file_.content, Not(HasSubstr(R"("PodUID":"p")")));
  EXPECT_THAT(*file_.content, HasSubstr(R"("PodUID":"q")"));
}

TEST_F(ManagerTest, ACorruptCheckpointIsSetAsideAndNothingStartsWithoutItsDevice) {
  file_.content = R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":1})";

  Restart();

  EXPECT_TRUE(restored_);
  EXPECT_THAT(file_.set_aside, testing::SizeIs(1));
  EXPECT_THAT(log_.lines(),
              Contains(testing::AllOf(testing::StartsWith("ERROR"), HasSubstr("aside-1"))));
  EXPECT_THAT(Admit(Pod("p", {{kRes1, 1}})), HasSubstr("unknown resource"));
}

TEST_F(ManagerTest, ACheckpointThatCannotBeReadStopsTheStart) {
  file_.read_error = Error(Code::kPermissionDenied, "open f: Permission denied", 13);

  Restart();

  EXPECT_FALSE(restored_);
}

TEST_F(ManagerTest, AnAllocationThatCannotBeDecodedKeepsItsDevicesAndStartsNothing) {
  Serve(kRes1, plugin1_, {"a"});
  Admit(Pod("p", {{kRes1, 1}}));
  auto checkpoint = *checkpoint::Decode(*file_.content, "file");
  (*checkpoint.entries)[0].alloc_resp = "garbage";
  file_.content = checkpoint::Encode(checkpoint);
  Restart();
  Serve(kRes1, plugin1_, {"a"});

  EXPECT_EQ(Admit(Pod("p", {{kRes1, 1}})), "admitted");
  EXPECT_THAT(Start("p"), HasSubstr("cannot be decoded"));
  EXPECT_THAT(Admit(Pod("q", {{kRes1, 1}})), HasSubstr("Available: 0"));
}

TEST_F(ManagerTest, ListsPodsWithOneEntryForEachDeviceAndNumaNode) {
  ASSERT_EQ(Register(kRes1, plugin1_), "ok");
  auto list = HealthyDevices({"a", "b"});
  list[0].numa_nodes = {0, 1};
  plugin1_.SendList(list);
  Admit(Pod("p", {{"init", kInit, {}}, {"con", kApp, {{kRes1, 2}}}, {"plain", kApp, {}}}));

  EXPECT_THAT(
      manager_->ListPodResources(),
      ElementsAre(PodResources{
          .name = "name-p",
          .namespace_name = "default",
          .containers = {{"con", {{kRes1, {"b"}, {}}, {kRes1, {"a"}, {0}}, {kRes1, {"a"}, {1}}}},
                         {"plain", {}}}}));
}

TEST_F(ManagerTest, OldMonitorsAreNotToldOfSidecars) {
  Serve(kRes1, plugin1_, {"a", "b"});
  Admit(Pod("p", {{"side", ContainerKind::kSidecar, {{kRes1, 1}}}, {"con", kApp, {{kRes1, 1}}}}));

  EXPECT_THAT(manager_->ListAppResources(),
              ElementsAre(PodResources{.name = "name-p",
                                       .namespace_name = "default",
                                       .containers = {{"con", {{kRes1, {"b"}, {}}}}}}));
  EXPECT_EQ(manager_->ListPodResources()[0].containers.size(), 2U);
}

TEST_F(ManagerTest, AllocatableDevicesAreTheHealthyOnesInUseOrNot) {
  ASSERT_EQ(Register(kRes1, plugin1_), "ok");
  plugin1_.SendList({{"a", "Healthy", {0, 1}}, {"b", "Unhealthy", {}}, {"c", "Healthy", {}}});
  Serve(kRes2, plugin2_, {"a"});
  Admit(Pod("p", {{"con", kApp, {{kRes1, 1}}}}));

  EXPECT_THAT(manager_->AllocatableDevices(),
              ElementsAre(ContainerDevices{kRes1, {"a"}, {0}}, ContainerDevices{kRes1, {"a"}, {1}},
                          ContainerDevices{kRes1, {"c"}, {}}, ContainerDevices{kRes2, {"a"}, {}}));

  plugin1_.EndStreams();
  Settle(timers_);
  EXPECT_THAT(manager_->AllocatableDevices(), ElementsAre(ContainerDevices{kRes2, {"a"}, {}}));
}

}  // namespace
}  // namespace tenon::manager
