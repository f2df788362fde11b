#include "manager/manager_fixture_for_test.h"

namespace tenon::manager {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

using enum ContainerKind;

class AdmissionTest : public ManagerTest {};

// DM-11, TestPodContainerDeviceAllocation.
TEST_F(AdmissionTest, AllocatesOnceAndRefusesWhatIsNotFree) {
  plugin1_.allocation = [](const auto& ids) {
    ContainerAllocation allocation;
    for (const std::string& id : ids)
      allocation.device_nodes.push_back({"/dev/" + id, "/dev/" + id, "rw"});
    allocation.mounts = {{"/c/lib", "/h/lib", true}, {"/c/bin", "/h/bin", false}};
    return allocation;
  };
  plugin2_.allocation = [](const auto& ids) {
    return ContainerAllocation{.env = {{"KEY", "value"}},
                               .device_nodes = {{"/dev/" + ids[0], "/dev/" + ids[0], "r"}}};
  };
  Serve(kRes1, plugin1_, {"dev1", "dev2"});
  Serve(kRes2, plugin2_, {"dev3", "dev4"});

  EXPECT_EQ(Admit(Pod("p1", {{kRes1, 2}, {kRes2, 1}})), "admitted");
  std::optional<ContainerAllocation> options;
  manager_->PrepareStart("p1", "con",
                         [&](const Result<ContainerAllocation>& result) { options = *result; });
  Settle(timers_);
  ASSERT_TRUE(options);
  EXPECT_EQ(options->device_nodes.size(), 3U);
  EXPECT_EQ(options->mounts.size(), 2U);
  EXPECT_EQ(options->env.size(), 2U);
  EXPECT_THAT(log_.lines(), Contains(HasSubstr("DEVICES has conflicting setting")));

  EXPECT_EQ(Admit(Pod("p2", {{kRes1, 1}})),
            Refused("requested number of devices unavailable for domain1.com/resource1. "
                    "Requested: 1, Available: 0"));
  EXPECT_EQ(Admit(Pod("p3", {{kRes2, 1}})), "admitted");
  EXPECT_THAT(Held("p3", "con"), ElementsAre("dev4"));
}

TEST_F(AdmissionTest, RemovingAPodFreesItsDevices) {
  Serve(kRes1, plugin1_, {"dev1"});
  EXPECT_EQ(Admit(Pod("p1", {{kRes1, 1}})), "admitted");

  manager_->RemovePod("p1");

  EXPECT_EQ(Admit(Pod("p2", {{kRes1, 1}})), "admitted");
  EXPECT_THAT(manager_->ListPodResources(), testing::SizeIs(1));
}

// DM-15, TestInitContainerDeviceAllocation.
TEST_F(AdmissionTest, DevicesOfInitContainersPassToThoseThatFollow) {
  Serve(kRes1, plugin1_, {"a", "b", "c"});

  EXPECT_EQ(Admit(Pod("p", {{"init1", kInit, {{kRes1, 1}}},
                            {"init2", kInit, {{kRes1, 2}}},
                            {"app1", kApp, {{kRes1, 1}}},
                            {"app2", kApp, {{kRes1, 1}}}})),
            "admitted");

  EXPECT_THAT(plugin1_.allocated, ElementsAre(ElementsAre("a"), ElementsAre("a", "b"),
                                              ElementsAre("a"), ElementsAre("b")));
}

// DM-16, TestRestartableInitContainerDeviceAllocation.
TEST_F(AdmissionTest, SidecarsKeepTheirDevices) {
  Serve(kRes1, plugin1_, {"1", "2", "3", "4", "5", "6"});

  EXPECT_EQ(Admit(Pod("p", {{"init", kInit, {{kRes1, 3}}},
                            {"side1", kSidecar, {{kRes1, 1}}},
                            {"side2", kSidecar, {{kRes1, 2}}},
                            {"app1", kApp, {{kRes1, 1}}},
                            {"app2", kApp, {{kRes1, 2}}}})),
            "admitted");

  EXPECT_THAT(Held("p", "init"), IsEmpty()) << "regular init containers are not listed";
  EXPECT_THAT(Held("p", "side1"), ElementsAre("1"));
  EXPECT_THAT(Held("p", "side2"), UnorderedElementsAre("2", "3"));
  EXPECT_THAT(Held("p", "app1"), ElementsAre("4"));
  EXPECT_THAT(Held("p", "app2"), UnorderedElementsAre("5", "6"));
}

TEST_F(AdmissionTest, ReusedDevicesAreHeldUntilThePodIsGone) {
  Serve(kRes1, plugin1_, {"a"});
  EXPECT_EQ(Admit(Pod("p", {{"init", kInit, {{kRes1, 1}}}, {"app", kApp, {{kRes1, 1}}}})),
            "admitted");
  EXPECT_THAT(Admit(Pod("q", {{kRes1, 1}})), HasSubstr("Available: 0"));

  manager_->RemovePod("p");

  EXPECT_EQ(Admit(Pod("q", {{kRes1, 1}})), "admitted");
}

TEST_F(AdmissionTest, AsksForThePreferenceOnlyIfThePluginOffersIt) {
  plugin1_.preference = [](const auto&) { return std::vector<std::string>{"c"}; };
  Serve(kRes1, plugin1_, {"a", "b", "c"});
  EXPECT_EQ(Admit(Pod("p", {{kRes1, 1}})), "admitted");
  EXPECT_THAT(plugin1_.preferred, IsEmpty());
  manager_->RemovePod("p");

  plugin1_.options.preferred_allocation_available = true;
  Serve(kRes1, plugin1_, {"a", "b", "c"});
  EXPECT_EQ(Admit(Pod("p", {{kRes1, 1}})), "admitted");

  EXPECT_THAT(plugin1_.preferred, testing::SizeIs(1));
  EXPECT_THAT(Held("p", "con"), ElementsAre("c"));
}

TEST_F(AdmissionTest, DoesNotAskForThePreferenceWhenReuseIsEnough) {
  plugin1_.options.preferred_allocation_available = true;
  Serve(kRes1, plugin1_, {"a", "b"});

  Admit(Pod("p", {{"init", kInit, {{kRes1, 2}}}, {"app", kApp, {{kRes1, 2}}}}));

  EXPECT_THAT(plugin1_.preferred, testing::SizeIs(1));
}

TEST_F(AdmissionTest, AFailedPreferenceLeavesNothingReserved) {
  plugin1_.options.preferred_allocation_available = true;
  plugin1_.on_preferred = Reply::kFail;
  Serve(kRes1, plugin1_, {"a"});

  EXPECT_EQ(Admit(Pod("p", {{kRes1, 1}})),
            Refused("device plugin GetPreferredAllocation rpc failed with err: rpc error: code = "
                    "Internal desc = it broke"));
  plugin1_.on_preferred = Reply::kAnswer;
  EXPECT_EQ(Admit(Pod("p", {{kRes1, 1}})), "admitted");
}

TEST_F(AdmissionTest, AFailedAllocateLeavesNothingReserved) {
  Serve(kRes1, plugin1_, {"a"});
  Serve(kRes2, plugin2_, {"b"});
  plugin2_.on_allocate = Reply::kFail;
  PodRequest pod = Pod("p", {{"one", kApp, {{kRes1, 1}}}, {"two", kApp, {{kRes2, 1}}}});

  EXPECT_EQ(Admit(pod), Refused("rpc error: code = Internal desc = it broke"));
  EXPECT_THAT(manager_->ListPodResources(), IsEmpty());
  EXPECT_EQ(Admit(Pod("q", {{kRes1, 1}})), "admitted");
  manager_->RemovePod("q");
  plugin2_.on_allocate = Reply::kAnswer;
  EXPECT_EQ(Admit(pod), "admitted");
}

TEST_F(AdmissionTest, AnAnswerWithoutContainersLeavesNothingReserved) {
  Serve(kRes1, plugin1_, {"a"});
  plugin1_.empty_answer = true;

  EXPECT_THAT(Admit(Pod("p", {{kRes1, 1}})),
              HasSubstr("no containers return in allocation response"));
  plugin1_.empty_answer = false;
  EXPECT_EQ(Admit(Pod("p", {{kRes1, 1}})), "admitted");
}

TEST_F(AdmissionTest, APluginThatHangsCostsItsDeadlineAndNoMore) {
  Serve(kRes1, plugin1_, {"a"});
  Serve(kRes2, plugin2_, {"b"});
  plugin1_.on_allocate = Reply::kHang;
  BeginAdmit(Pod("p", {{kRes1, 1}}));
  BeginAdmit(Pod("q", {{kRes2, 1}}));
  Settle(timers_);
  EXPECT_THAT(answers_, IsEmpty());

  timers_.Advance(std::chrono::seconds(30));
  Settle(timers_);

  EXPECT_EQ(answers_["p"],
            Refused("rpc error: code = DeadlineExceeded desc = context deadline exceeded"));
  EXPECT_EQ(answers_["q"], "admitted");
}

TEST_F(AdmissionTest, AResourceThatNobodyRegisteredIsRefusedByName) {
  EXPECT_EQ(Admit(Pod("p", {{kRes1, 1}})),
            Refused("unknown resource domain1.com/resource1: no device plugin has registered it "
                    "(registered: none)"));
  Serve(kRes2, plugin2_, {"a"});
  EXPECT_EQ(Admit(Pod("p", {{kRes1, 1}})),
            Refused("unknown resource domain1.com/resource1: no device plugin has registered it "
                    "(registered: domain2.com/resource2)"));
}

TEST_F(AdmissionTest, AResourceWhosePluginHasNotListedYetIsRefused) {
  ASSERT_EQ(Register(kRes1, plugin1_), "ok");

  EXPECT_EQ(Admit(Pod("p", {{kRes1, 1}})),
            Refused("cannot allocate unregistered device domain1.com/resource1"));
}

TEST_F(AdmissionTest, OtherResourcesAreNoneOfItsBusiness) {
  EXPECT_EQ(Admit(Pod("p", {{"cpu", 2}, {"memory", 1 << 30}, {"hugepages-2Mi", 1}})), "admitted");
  EXPECT_EQ(Admit(Pod("q", std::vector<ContainerRequest>())), "admitted");
  EXPECT_EQ(Start("p"), "none");
  EXPECT_EQ(file_.writes, 0);
}

// The second half of DM-18.
TEST_F(AdmissionTest, ALimitOfZeroAsksForNothing) {
  Serve(kRes1, plugin1_, {});

  EXPECT_EQ(Admit(Pod("p", {{kRes1, 0}, {kRes2, 0}})), "admitted");
  EXPECT_EQ(Start("p"), "none");
  EXPECT_THAT(plugin1_.allocated, IsEmpty());
}

// DM-33, TestDeviceAllocateParallel.
TEST_F(AdmissionTest, PodsThatComeTogetherShareNoDevice) {
  Serve(kRes1, plugin1_, {"a", "b"});
  for (const char* uid : {"p1", "p2", "p3"})
    BeginAdmit(Pod(uid, {{kRes1, 1}}));
  Settle(timers_);

  EXPECT_THAT(Held("p1", "con"), ElementsAre("a"));
  EXPECT_THAT(Held("p2", "con"), ElementsAre("b"));
  EXPECT_THAT(answers_["p3"], HasSubstr("Requested: 1, Available: 0"));
}

TEST_F(AdmissionTest, APodIsNotAdmittedTwiceAtOnce) {
  Serve(kRes1, plugin1_, {"a", "b"});
  std::vector<AdmitResult> results;
  for (int i = 0; i < 2; ++i)
    manager_->AdmitPod(Pod("p", {{kRes1, 1}}),
                       [&](const AdmitResult& result) { results.push_back(result); });
  Settle(timers_);

  ASSERT_EQ(results.size(), 2U);
  EXPECT_THAT(results[0].message, HasSubstr("pod p is being admitted already"));
  EXPECT_TRUE(results[1].admitted);
}

TEST_F(AdmissionTest, AChangedRequestOfAnAdmittedPodIsRefused) {
  Serve(kRes1, plugin1_, {"a", "b"});
  Admit(Pod("p", {{kRes1, 1}}));

  EXPECT_EQ(Admit(Pod("p", {{kRes1, 2}})),
            Refused(R"(pod "p" container "con" changed request for resource )"
                    R"("domain1.com/resource1" from 1 to 2)"));
  EXPECT_THAT(Held("p", "con"), ElementsAre("a"));
}

// DM-13, TestDevicesToAllocateConflictWithUpdateAllocatedDevices.
TEST_F(AdmissionTest, GarbageCollectionDuringAPreferenceCallHarmsNothing) {
  plugin1_.options.preferred_allocation_available = true;
  plugin1_.on_preferred = Reply::kHold;
  Serve(kRes1, plugin1_, {"a"});
  BeginAdmit(Pod("p", {{kRes1, 1}}));
  Settle(timers_);

  manager_->RetainPods({"p"});
  plugin1_.Release();
  Settle(timers_);

  EXPECT_EQ(answers_["p"], "admitted");
  EXPECT_THAT(Held("p", "con"), ElementsAre("a"));
}

// DM-34: a device whose Allocate is under way is not given to another pod.
TEST_F(AdmissionTest, GarbageCollectionDuringAllocateFreesNothingOfIt) {
  Serve(kRes1, plugin1_, {"a", "b"});
  Admit(Pod("gone", {{kRes1, 1}}));
  plugin1_.on_allocate = Reply::kHold;
  BeginAdmit(Pod("p", {{kRes1, 1}}));
  BeginAdmit(Pod("q", {{kRes1, 1}}));
  Settle(timers_);

  manager_->RetainPods({"p", "q"});
  plugin1_.Release();
  Settle(timers_);
  plugin1_.Release();
  Settle(timers_);

  EXPECT_THAT(Held("p", "con"), ElementsAre("b"));
  EXPECT_THAT(Held("q", "con"), ElementsAre("a"));
}

TEST_F(AdmissionTest, ALostPluginDuringAllocateRefusesThePodWhenItsCallFails) {
  Serve(kRes1, plugin1_, {"a"});
  plugin1_.on_allocate = Reply::kHang;
  BeginAdmit(Pod("p", {{kRes1, 1}}));
  Settle(timers_);

  plugin1_.EndStreams();
  Settle(timers_);
  EXPECT_TRUE(plugin1_.connected()) << "the call is not over";
  timers_.Advance(std::chrono::seconds(30));
  Settle(timers_);

  EXPECT_THAT(answers_["p"], HasSubstr("code = DeadlineExceeded"));
  EXPECT_FALSE(plugin1_.connected());
}

TEST_F(AdmissionTest, APluginThatComesBackAfterItsTurnDoesNotLetThePodStartWithout) {
  Serve(kRes1, plugin1_, {"a"});
  plugin1_.EndStreams();
  timers_.Advance(std::chrono::minutes(5));
  Settle(timers_);
  Serve(kRes2, plugin2_, {"b"});
  plugin2_.on_allocate = Reply::kHold;
  BeginAdmit(Pod("p", {{kRes1, 1}, {kRes2, 1}}));
  Settle(timers_);

  Serve(kRes1, plugin1_, {"a"});
  plugin2_.Release();
  Settle(timers_);

  EXPECT_EQ(answers_["p"], Refused("device plugin of " + std::string(kRes1) +
                                   " came back only while the pod was being admitted"));
  plugin2_.on_allocate = Reply::kAnswer;
  EXPECT_EQ(Admit(Pod("q", {{kRes1, 1}, {kRes2, 1}})), "admitted") << "nothing of p's is kept";
}

TEST_F(AdmissionTest, ALostPluginDuringAPreferenceCallRefusesThePod) {
  plugin1_.options.preferred_allocation_available = true;
  plugin1_.on_preferred = Reply::kHold;
  Serve(kRes1, plugin1_, {"a"});
  BeginAdmit(Pod("p", {{kRes1, 1}}));
  Settle(timers_);

  plugin1_.EndStreams();
  plugin1_.Release();
  Settle(timers_);

  EXPECT_EQ(answers_["p"], Refused("unexpectedly allocated less resources than required. "
                                   "Requested: 1, Got: 0"));
}

TEST_F(AdmissionTest, APluginThatIsReplacedDuringAllocateMayStillAnswer) {
  Serve(kRes1, plugin1_, {"a"});
  plugin1_.on_allocate = Reply::kHold;
  BeginAdmit(Pod("p", {{kRes1, 1}}));
  Settle(timers_);
  FakePlugin successor;
  Serve(kRes1, successor, {"a"});

  plugin1_.Release();
  Settle(timers_);

  EXPECT_EQ(answers_["p"], "admitted");
  EXPECT_THAT(successor.allocated, IsEmpty());
  EXPECT_FALSE(plugin1_.connected());
  EXPECT_THAT(Admit(Pod("q", {{kRes1, 1}})), HasSubstr("Available: 0"));
}

TEST_F(AdmissionTest, RemovingAPodWhileItsPluginIsAskedFreesItsDevices) {
  Serve(kRes1, plugin1_, {"a"});
  plugin1_.on_allocate = Reply::kHold;
  BeginAdmit(Pod("p", {{kRes1, 1}}));
  BeginAdmit(Pod("q", {{kRes1, 1}}));
  Settle(timers_);

  manager_->RemovePod("p");
  plugin1_.Release();
  Settle(timers_);

  EXPECT_EQ(answers_["p"], Refused("pod p was removed while it was being admitted"));
  EXPECT_THAT(plugin1_.allocated, ElementsAre(ElementsAre("a"), ElementsAre("a")));
  EXPECT_EQ(answers_["q"], "admitted");
}

TEST_F(AdmissionTest, RemovingAPodThatWaitsForAdmissionAnswersIt) {
  Serve(kRes1, plugin1_, {"a", "b"});
  plugin1_.on_allocate = Reply::kHold;
  BeginAdmit(Pod("p", {{kRes1, 1}}));
  BeginAdmit(Pod("q", {{kRes1, 1}}));

  manager_->RemovePod("q");
  plugin1_.Release();
  Settle(timers_);

  EXPECT_EQ(answers_["q"], Refused("pod q was removed while it was being admitted"));
  EXPECT_EQ(answers_["p"], "admitted");
}

}  // namespace
}  // namespace tenon::manager
