#include "manager/manager_fixture_for_test.h"

namespace tenon::manager {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

class HealthTest : public ManagerTest {
 protected:
  HealthTest() {
    manager_->OnHealthChange([this](const std::set<std::string>& uids) { told_.push_back(uids); });
  }
  void List(FakePlugin& plugin, const std::map<std::string, std::string>& health) {
    std::vector<api::ListedDevice> list;
    for (const auto& [id, text] : health)
      list.push_back({.id = id, .health = text});
    plugin.SendList(list);
    Settle(timers_);
  }
  std::vector<std::set<std::string>> told_;
};

// DM-21 TestUpdateAllocatedResourcesStatus, E-21.
TEST_F(HealthTest, EachDeviceOfAContainerHasTheHealthThatItsPluginSaidLast) {
  Serve(kRes1, plugin1_, {"a", "b"});
  ASSERT_EQ(Admit(Pod("p", {{kRes1, 2}})), "admitted");
  EXPECT_THAT(manager_->DeviceHealth("p", "con"),
              ElementsAre(Pair(kRes1, ElementsAre(Pair("a", true), Pair("b", true)))));

  List(plugin1_, {{"a", "Unhealthy"}, {"b", "Healthy"}});
  EXPECT_THAT(manager_->DeviceHealth("p", "con"),
              ElementsAre(Pair(kRes1, ElementsAre(Pair("a", false), Pair("b", true)))));
  EXPECT_THAT(manager_->DeviceHealth("p", "other"), IsEmpty());
  EXPECT_THAT(manager_->DeviceHealth("q", "con"), IsEmpty());

  plugin1_.EndStreams();
  EXPECT_THAT(manager_->DeviceHealth("p", "con"),
              ElementsAre(Pair(kRes1, ElementsAre(Pair("a", false), Pair("b", true)))))
      << "a lost plugin says nothing of its devices";
}

TEST_F(HealthTest, ADeviceThatIsNoLongerListedCountsAsHealthy) {
  Serve(kRes1, plugin1_, {"a"});
  ASSERT_EQ(Admit(Pod("p", {{kRes1, 1}})), "admitted");

  List(plugin1_, {{"b", "Healthy"}});

  EXPECT_THAT(manager_->DeviceHealth("p", "con"),
              ElementsAre(Pair(kRes1, ElementsAre(Pair("a", true)))));
}

// DM-22 TestFeatureGateResourceHealthStatus: of the pod whose device it is, by resource and id.
TEST_F(HealthTest, TellsOfThePodsWhoseDevicesChanged) {
  Serve(kRes1, plugin1_, {"a", "b", "c"});
  Serve(kRes2, plugin2_, {"a", "b"});
  ASSERT_EQ(Admit(Pod("p", {{kRes1, 1}})), "admitted");
  ASSERT_EQ(Admit(Pod("q", {{kRes2, 1}})), "admitted");
  EXPECT_THAT(told_, IsEmpty());

  List(plugin1_, {{"a", "Healthy"}, {"b", "Healthy"}, {"c", "Healthy"}});
  EXPECT_THAT(told_, IsEmpty()) << "nothing changed";
  List(plugin1_, {{"a", "Unhealthy"}, {"b", "Healthy"}, {"c", "Unhealthy"}});
  EXPECT_THAT(told_, ElementsAre(ElementsAre("p")));
  List(plugin2_, {{"b", "Healthy"}});
  List(plugin2_, {{"a", "Healthy"}, {"b", "Healthy"}});
  EXPECT_THAT(told_, ElementsAre(ElementsAre("p"), ElementsAre("q"))) << "it is back";
}

// DM-22: the kubelet has a queue for 100 of them and drops the others.
TEST_F(HealthTest, OfManyChangesNoneIsDropped) {
  Serve(kRes1, plugin1_, {"a"});
  ASSERT_EQ(Admit(Pod("p", {{kRes1, 1}})), "admitted");

  for (int i = 0; i < 200; ++i)
    plugin1_.SendList({{.id = "a", .health = i % 2 == 0 ? "Unhealthy" : "Healthy"}});
  Settle(timers_);

  EXPECT_THAT(told_, testing::SizeIs(200));
  EXPECT_THAT(told_, testing::Each(ElementsAre("p")));
}

}  // namespace
}  // namespace tenon::manager
