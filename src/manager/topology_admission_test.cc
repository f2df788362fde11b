#include "manager/manager_fixture_for_test.h"

namespace tenon::manager {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using enum ContainerKind;
using enum TopologyPolicy;

constexpr char kNotAligned[] =
    "TopologyAffinityError: Resources cannot be allocated with Topology locality";

class TopologyAdmissionTest : public ManagerTest {
 protected:
  void Use(TopologyPolicy policy, TopologyScope scope = TopologyScope::kContainer) {
    options_.topology = {.policy = policy, .scope = scope};
    options_.numa.distances = {{0, {{0, 10}, {1, 20}}}, {1, {{0, 20}, {1, 10}}}};
    Restart();
  }
  /// Ids by NUMA node.
  void ServeAligned(const std::string& resource, FakePlugin& plugin,
                    const std::map<int64_t, std::vector<std::string>>& ids) {
    ASSERT_EQ(Register(resource, plugin), "ok");
    std::vector<api::ListedDevice> list;
    for (const auto& [numa, some] : ids)
      for (const std::string& id : some)
        list.push_back({.id = id, .health = "Healthy", .numa_nodes = {numa}});
    plugin.SendList(list);
    Settle(timers_);
  }
};

TEST_F(TopologyAdmissionTest, WithoutAPolicyNumaNodesDoNotMatter) {
  Use(kNone);
  ServeAligned(kRes1, plugin1_, {{0, {"a"}}, {1, {"b"}}});

  EXPECT_EQ(Admit(Pod("p", {{kRes1, 2}})), "admitted");
}

TEST_F(TopologyAdmissionTest, DevicesOfTwoResourcesComeFromOneNumaNode) {
  Use(kSingleNumaNode);
  ServeAligned(kRes1, plugin1_, {{0, {"a"}}, {1, {"b"}}});
  ServeAligned(kRes2, plugin2_, {{1, {"x", "y"}}});

  EXPECT_EQ(Admit(Pod("p", {{kRes1, 1}, {kRes2, 2}})), "admitted");

  EXPECT_THAT(plugin1_.allocated, ElementsAre(ElementsAre("b")));
  EXPECT_THAT(plugin2_.allocated, ElementsAre(ElementsAre("x", "y")));
}

// DM-20 TestGetTopologyHintsWithUpdates: what is a race there is a matter of order here.
TEST_F(TopologyAdmissionTest, LongListsThatChangeWhileAPodIsAdmittedDoNoHarm) {
  Use(kSingleNumaNode);
  plugin1_.options.preferred_allocation_available = true;
  std::vector<std::string> ids;
  for (int i = 0; i < 1000; ++i)
    ids.push_back(std::to_string(i));
  ServeAligned(kRes1, plugin1_, {{0, ids}});
  for (int round = 0; round < 20; ++round) {
    SCOPED_TRACE(round);
    plugin1_.on_preferred = plugin1_.on_allocate = Reply::kHold;
    BeginAdmit(Pod("p", {{kRes1, 3}}));
    // All devices move to the other NUMA node while the plugin is asked, first this, then that.
    for (int asked = 0; asked < 3; ++asked) {
      ServeAligned(kRes1, plugin1_, {{(round + asked) % 2, ids}});
      plugin1_.Release();
      Settle(timers_);
    }
    plugin1_.on_preferred = plugin1_.on_allocate = Reply::kAnswer;
    Settle(timers_);

    const std::string& answer = answers_["p"];
    EXPECT_TRUE(answer == "admitted" || answer.starts_with("UnexpectedAdmissionError")) << answer;
    EXPECT_THAT(Held("p", "con"), SizeIs(answer == "admitted" ? 3 : 0));
    manager_->RemovePod("p");
    Settle(timers_);
  }
  EXPECT_EQ(Admit(Pod("all", {{kRes1, 1000}})), "admitted");
}

TEST_F(TopologyAdmissionTest, RefusesWhatCannotBeAlignedWithoutAskingAnyPlugin) {
  for (TopologyPolicy policy : {kRestricted, kSingleNumaNode}) {
    Use(policy);
    plugin1_.allocated.clear();
    ServeAligned(kRes1, plugin1_, {{0, {"a"}}});
    ServeAligned(kRes2, plugin2_, {{1, {"x"}}});

    EXPECT_EQ(Admit(Pod("p", {{kRes1, 1}, {kRes2, 1}})), kNotAligned);
    EXPECT_THAT(plugin1_.allocated, IsEmpty());
  }
}

TEST_F(TopologyAdmissionTest, BestEffortTakesWhatIsThere) {
  Use(kBestEffort);
  ServeAligned(kRes1, plugin1_, {{0, {"a"}}});
  ServeAligned(kRes2, plugin2_, {{1, {"x"}}});

  EXPECT_EQ(Admit(Pod("p", {{kRes1, 1}, {kRes2, 1}})), "admitted");
}

TEST_F(TopologyAdmissionTest, RestrictedTakesTwoNumaNodesWhereOneCouldNeverDo) {
  Use(kRestricted);
  ServeAligned(kRes1, plugin1_, {{0, {"a"}}, {1, {"b"}}});
  EXPECT_EQ(Admit(Pod("p", {{kRes1, 2}})), "admitted");

  Use(kSingleNumaNode);
  manager_->RemovePod("p");
  ServeAligned(kRes1, plugin1_, {{0, {"a"}}, {1, {"b"}}});
  EXPECT_EQ(Admit(Pod("q", {{kRes1, 2}})), kNotAligned);
}

TEST_F(TopologyAdmissionTest, ARefusedPodLeavesTheDevicesOfItsFirstContainers) {
  Use(kRestricted);
  ServeAligned(kRes1, plugin1_, {{0, {"a", "b"}}, {1, {"c"}}});
  EXPECT_EQ(Admit(Pod("first", {{kRes1, 1}})), "admitted");

  EXPECT_EQ(Admit(Pod("p", {{"c1", kApp, {{kRes1, 1}}}, {"c2", kApp, {{kRes1, 2}}}})), kNotAligned);
  EXPECT_EQ(Admit(Pod("q", {{kRes1, 1}})), "admitted");
}

TEST_F(TopologyAdmissionTest, WithPodScopeAllContainersShareTheNumaNodes) {
  Use(kRestricted, TopologyScope::kPod);
  ServeAligned(kRes1, plugin1_, {{0, {"a", "b"}}, {1, {"c", "d"}}});
  EXPECT_EQ(Admit(Pod("first", {{kRes1, 1}})), "admitted");

  EXPECT_EQ(Admit(Pod("p", {{"c1", kApp, {{kRes1, 1}}}, {"c2", kApp, {{kRes1, 1}}}})), "admitted");

  EXPECT_THAT(plugin1_.allocated, ElementsAre(ElementsAre("a"), ElementsAre("c"), ElementsAre("d")))
      << "both on NUMA node 1, as NUMA node 0 has only one left";
}

TEST_F(TopologyAdmissionTest, WithContainerScopeEachContainerIsAlignedByItself) {
  Use(kRestricted);
  ServeAligned(kRes1, plugin1_, {{0, {"a"}}, {1, {"c"}}});

  EXPECT_EQ(Admit(Pod("p", {{"c1", kApp, {{kRes1, 1}}}, {"c2", kApp, {{kRes1, 1}}}})), "admitted");

  Use(kSingleNumaNode, TopologyScope::kPod);
  manager_->RemovePod("p");
  ServeAligned(kRes1, plugin1_, {{0, {"a"}}, {1, {"c"}}});
  EXPECT_EQ(Admit(Pod("q", {{"c1", kApp, {{kRes1, 1}}}, {"c2", kApp, {{kRes1, 1}}}})), kNotAligned);
}

TEST_F(TopologyAdmissionTest, AnAppContainerTakesOverItsInitContainersDevicesAligned) {
  Use(kSingleNumaNode);
  ServeAligned(kRes1, plugin1_, {{0, {"a"}}, {1, {"b", "c"}}});

  EXPECT_EQ(Admit(Pod("p", {{"i", kInit, {{kRes1, 2}}}, {"c", kApp, {{kRes1, 1}}}})), "admitted");

  EXPECT_THAT(plugin1_.allocated, ElementsAre(ElementsAre("b", "c"), ElementsAre("b")));
}

TEST_F(TopologyAdmissionTest, ThePluginIsAskedOnlyAboutAlignedDevicesWhereThereAreEnough) {
  Use(kBestEffort);
  plugin1_.options.preferred_allocation_available = true;
  ServeAligned(kRes1, plugin1_, {{0, {"a", "b"}}, {1, {"c"}}});

  EXPECT_EQ(Admit(Pod("p", {{kRes1, 1}})), "admitted");

  ASSERT_THAT(plugin1_.preferred, SizeIs(1));
  EXPECT_THAT(plugin1_.preferred[0].available, ElementsAre("a", "b"));
}

TEST_F(TopologyAdmissionTest, AnAdmittedPodIsAdmittedAgainWhereItIs) {
  Use(kSingleNumaNode);
  ServeAligned(kRes1, plugin1_, {{0, {"a"}}, {1, {"b"}}});
  EXPECT_EQ(Admit(Pod("p", {{kRes1, 1}})), "admitted");
  Restart();
  ServeAligned(kRes1, plugin1_, {{0, {"a"}}, {1, {"b"}}});

  EXPECT_EQ(Admit(Pod("p", {{kRes1, 1}})), "admitted");
  EXPECT_THAT(Held("p", "con"), ElementsAre("a"));
}

}  // namespace
}  // namespace tenon::manager
