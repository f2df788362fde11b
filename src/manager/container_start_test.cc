#include "manager/manager_fixture_for_test.h"

namespace tenon::manager {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ContainerStartTest : public ManagerTest {};

// DM-18, TestDevicePreStartContainer.
TEST_F(ContainerStartTest, CallsPreStartContainerWhenThePluginWantsIt) {
  plugin1_.options.pre_start_required = true;
  Serve(kRes1, plugin1_, {"a", "b"});
  Serve(kRes2, plugin2_, {"c"});
  Admit(Pod("p", {{kRes1, 2}, {kRes2, 1}}));

  EXPECT_EQ(Start("p"), "a,b");
  EXPECT_EQ(Start("p"), "a,b") << "the same at each start";

  EXPECT_THAT(plugin1_.pre_started, ElementsAre(ElementsAre("a", "b"), ElementsAre("a", "b")));
  EXPECT_THAT(plugin2_.pre_started, IsEmpty());
  EXPECT_THAT(plugin1_.allocated, testing::SizeIs(1)) << "Allocate is not repeated";
}

TEST_F(ContainerStartTest, AFailedPreStartContainerIsReportedAndMayBeTriedAgain) {
  plugin1_.options.pre_start_required = true;
  plugin1_.on_pre_start = Reply::kFail;
  Serve(kRes1, plugin1_, {"a"});
  Admit(Pod("p", {{kRes1, 1}}));

  EXPECT_EQ(Start("p"),
            "device plugin PreStartContainer rpc failed with err: rpc error: code = Internal desc "
            "= it broke");
  plugin1_.on_pre_start = Reply::kAnswer;
  EXPECT_EQ(Start("p"), "a");
}

TEST_F(ContainerStartTest, APreStartContainerThatHangsEndsByItsDeadline) {
  plugin1_.options.pre_start_required = true;
  plugin1_.on_pre_start = Reply::kHang;
  Serve(kRes1, plugin1_, {"a"});
  Admit(Pod("p", {{kRes1, 1}}));
  std::string answer;
  manager_->PrepareStart("p", "con",
                         [&](const auto& result) { answer = result.error().message(); });
  Settle(timers_);

  EXPECT_EQ(answer, "");
  timers_.Advance(std::chrono::seconds(30));
  Settle(timers_);

  EXPECT_THAT(answer, HasSubstr("code = DeadlineExceeded"));
}

TEST_F(ContainerStartTest, StartNeedsAPluginThatWantsPreStartContainer) {
  plugin1_.options.pre_start_required = true;
  Serve(kRes1, plugin1_, {"a"});
  Admit(Pod("p", {{kRes1, 1}}));

  plugin1_.EndStreams();
  EXPECT_EQ(Start("p"),
            "device plugin PreStartContainer rpc failed with err: endpoint "
            "domain1.com/resource1 has been stopped");
  timers_.Advance(std::chrono::minutes(5));
  EXPECT_EQ(Start("p"),
            "endpoint not found in cache for a registered resource: domain1.com/resource1");
}

// DM-14, TestGetDeviceRunContainerOptions.
TEST_F(ContainerStartTest, APodThatIsGoneCannotStart) {
  Serve(kRes1, plugin1_, {"a"});
  Admit(Pod("p", {{kRes1, 1}}));
  EXPECT_EQ(Start("p"), "a");

  manager_->RetainPods({});

  EXPECT_EQ(Start("p"), "no container con of pod p is admitted");
  EXPECT_EQ(Start("p", "other"), "no container other of pod p is admitted");
}

TEST_F(ContainerStartTest, RemovingAPodEndsItsStartsUnderWay) {
  plugin1_.options.pre_start_required = true;
  plugin1_.on_pre_start = Reply::kHold;
  Serve(kRes1, plugin1_, {"a"});
  Admit(Pod("p", {{kRes1, 1}}));
  std::string answer;
  manager_->PrepareStart("p", "con",
                         [&](const auto& result) { answer = result.error().message(); });
  Settle(timers_);

  manager_->RemovePod("p");
  plugin1_.Release();
  Settle(timers_);

  EXPECT_EQ(answer, "pod p was removed while a container was being started");
}

/// A pod that runs when we start over a lost checkpoint: it is admitted with nothing.
PodRequest RunningPod() {
  PodRequest pod = Pod("p", {{kRes1, 1}});
  pod.containers[0].running = true;
  return pod;
}

TEST_F(ContainerStartTest, AllocatesOnceWhatTheContainerLacks) {
  plugin1_.options.pre_start_required = true;
  ASSERT_EQ(Admit(RunningPod()), "admitted");
  EXPECT_EQ(Start("p"),
            "no devices found allocated in local cache for pod p, container con, resource "
            "domain1.com/resource1");
  Serve(kRes1, plugin1_, {"a"});

  EXPECT_EQ(Start("p"), "a");
  EXPECT_EQ(Start("p"), "a");

  EXPECT_THAT(plugin1_.allocated, ElementsAre(ElementsAre("a")));
  EXPECT_THAT(plugin1_.pre_started, ElementsAre(ElementsAre("a"), ElementsAre("a")));
  EXPECT_THAT(*file_.content, HasSubstr(R"("PodUID":"p")"));
}

TEST_F(ContainerStartTest, WhatCannotBeAllocatedAtTheStartIsTriedAgain) {
  ASSERT_EQ(Admit(RunningPod()), "admitted");
  Serve(kRes1, plugin1_, {"a", "b"});
  ASSERT_EQ(Admit(Pod("q", {{kRes1, 1}})), "admitted");
  auto list = HealthyDevices({"a", "b"});
  list[1].health = "Unhealthy";
  plugin1_.SendList(list);

  EXPECT_EQ(Start("p"),
            "requested number of devices unavailable for domain1.com/resource1. Requested: 1, "
            "Available: 0");
  plugin1_.SendList(HealthyDevices({"a", "b"}));
  plugin1_.on_allocate = Reply::kFail;
  EXPECT_EQ(Start("p"), "rpc error: code = Internal desc = it broke");
  plugin1_.on_allocate = Reply::kAnswer;
  EXPECT_EQ(Start("p"), "b");
}

TEST_F(ContainerStartTest, RemovingAPodEndsTheAllocationOfItsStart) {
  ASSERT_EQ(Admit(RunningPod()), "admitted");
  Serve(kRes1, plugin1_, {"a"});
  plugin1_.on_allocate = Reply::kHold;
  EXPECT_EQ(Start("p"), "no answer");

  manager_->RemovePod("p");
  plugin1_.Release();
  Settle(timers_);

  plugin1_.on_allocate = Reply::kAnswer;
  EXPECT_EQ(Admit(Pod("q", {{kRes1, 1}})), "admitted") << "the device is free again";
}

}  // namespace
}  // namespace tenon::manager
