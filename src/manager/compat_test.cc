#include "manager/manager_fixture_for_test.h"

namespace tenon::manager {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

using enum ContainerKind;

/// --compat=1.36: what the kubelet does where ours differs.
class CompatTest : public ManagerTest {
 protected:
  CompatTest() {
    options_ = CompatibleOptions();
    Restart();
  }
};

// Q15.
TEST_F(CompatTest, AResourceThatIsNotKnownIsLeftToTheScheduler) {
  EXPECT_EQ(Admit(Pod("p", {{kRes1, 1}})), "admitted");
  EXPECT_EQ(Start("p"), "none");
}

TEST_F(CompatTest, ACorruptCheckpointStaysWhereItIs) {
  file_.content = "corrupt";

  Restart();

  EXPECT_TRUE(restored_);
  EXPECT_THAT(file_.set_aside, IsEmpty());
  EXPECT_EQ(file_.content, "corrupt");
}

// Q13.
TEST_F(CompatTest, ALimitOfZeroNeedsAHealthyDevice) {
  Serve(kRes1, plugin1_, {"a"});
  EXPECT_EQ(Admit(Pod("p", {{kRes1, 0}})), "admitted");
  EXPECT_THAT(plugin1_.allocated, IsEmpty());

  plugin1_.SendList({{.id = "a", .health = "Unhealthy"}});
  EXPECT_EQ(Admit(Pod("q", {{kRes1, 0}})),
            Refused("no healthy devices present; cannot allocate unhealthy devices " +
                    std::string(kRes1)));
}

// Q14.
TEST_F(CompatTest, AnInitContainerThatHasEndedCostsARunningPodItsLife) {
  Serve(kRes1, plugin1_, {"a"});
  PodRequest pod = Pod("p", {{"init", kInit, {{kRes1, 1}}}, {"con", kApp, {{kRes1, 1}}}});
  ASSERT_EQ(Admit(pod), "admitted");
  Restart();

  pod.containers[1].running = true;
  EXPECT_EQ(Admit(pod), Refused("no healthy devices present; cannot allocate unhealthy devices " +
                                std::string(kRes1)));
}

// Q16.
TEST_F(CompatTest, EachListIsWritten) {
  ASSERT_EQ(Register(kRes1, plugin1_), "ok");
  for (int i = 0; i < 3; ++i) {
    plugin1_.SendList(HealthyDevices({"a"}));
    Settle(timers_);
  }
  EXPECT_EQ(file_.writes, 3);
}

// Q5.
TEST_F(CompatTest, APluginThatHangsIsWaitedFor) {
  Serve(kRes1, plugin1_, {"a"});
  plugin1_.on_allocate = Reply::kHang;

  BeginAdmit(Pod("p", {{kRes1, 1}}));
  Settle(timers_);
  timers_.Advance(std::chrono::hours(24));
  Settle(timers_);

  EXPECT_THAT(answers_, IsEmpty());
  EXPECT_THAT(plugin1_.allocated, SizeIs(1));
}

}  // namespace
}  // namespace tenon::manager
