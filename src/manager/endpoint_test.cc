#include "manager/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "manager/fakes_for_test.h"

namespace tenon::manager {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr base::Duration kDeadline = std::chrono::seconds(30);

class EndpointTest : public testing::Test {
 protected:
  std::unique_ptr<PluginClient> Connect() {
    return std::make_unique<FakePlugin::Client>(timers_, plugin_);
  }
  void Watch(Endpoint& endpoint) {
    endpoint.Watch(
        [this](const std::vector<api::ListedDevice>& devices) { lists_.push_back(devices); },
        [this](const Error& why) { ends_.push_back(why.message()); });
  }
  PluginClient::Call Allocate(Endpoint& endpoint) {
    auto call = endpoint.Allocate({{"d1"}}, kDeadline, [this](const auto& answer) {
      answers_.push_back(answer ? (*answer)->encoded : answer.error().message());
    });
    if (call) return *std::move(call);
    answers_.push_back(call.error().message());
    return nullptr;
  }

  loop::TimerQueue timers_{base::MonotonicTime(std::chrono::hours(1))};
  FakePlugin plugin_;
  EndpointTable table_{timers_};
  std::vector<std::vector<api::ListedDevice>> lists_;
  std::vector<std::string> ends_;
  std::vector<std::string> answers_;
};

// EP-02, TestRun.
TEST_F(EndpointTest, DeliversEachListAsItCame) {
  Watch(table_.Install("r", "x.sock", Connect(), {}));
  std::vector<api::ListedDevice> first = {{"a", "Healthy", {0}, true}, {"a", "odd", {}, true}};
  std::vector<api::ListedDevice> second = {{"a", "Unhealthy", {0}, true}};

  plugin_.SendList(first);
  plugin_.SendList(second);

  EXPECT_THAT(lists_, ElementsAre(first, second));
  EXPECT_THAT(ends_, IsEmpty());
}

// EP-03, TestAllocate.
TEST_F(EndpointTest, PassesAllocateThrough) {
  auto call = Allocate(table_.Install("r", "x.sock", Connect(), {}));
  Settle(timers_);

  EXPECT_THAT(plugin_.allocated, ElementsAre(ElementsAre("d1")));
  EXPECT_THAT(answers_, ElementsAre("encoded:d1"));
}

// EP-04, TestGetPreferredAllocation.
TEST_F(EndpointTest, PassesGetPreferredAllocationThrough) {
  plugin_.preference = [](const auto&) { return std::vector<std::string>{"x", "x"}; };
  Endpoint& endpoint = table_.Install("r", "x.sock", Connect(), {});
  std::vector<std::string> preferred;

  auto call = endpoint.GetPreferredAllocation(
      {.available = {"a"}, .must_include = {}, .size = -1}, kDeadline,
      [&](const Result<std::vector<std::string>>& answer) { preferred = *answer; });
  Settle(timers_);

  EXPECT_THAT(plugin_.preferred, ElementsAre(api::PreferredRequest{
                                     .available = {"a"}, .must_include = {}, .size = -1}));
  EXPECT_THAT(preferred, ElementsAre("x", "x"));
}

TEST_F(EndpointTest, RefusesCallsOnceStopped) {
  Endpoint& endpoint = table_.Install("vendor.com/gpu", "x.sock", Connect(), {});

  endpoint.Stop();
  Allocate(endpoint);

  EXPECT_THAT(answers_, ElementsAre("endpoint vendor.com/gpu has been stopped"));
  EXPECT_FALSE(endpoint.GetPreferredAllocation({}, kDeadline, [](const auto&) {}));
  EXPECT_FALSE(endpoint.PreStartContainer({}, kDeadline, [](const auto&) {}));
  EXPECT_THAT(plugin_.allocated, IsEmpty());
}

TEST_F(EndpointTest, ClosesTheConnectionOfAStoppedPlugin) {
  Endpoint& endpoint = table_.Install("r", "x.sock", Connect(), {});
  Watch(endpoint);

  endpoint.Stop();
  Settle(timers_);

  EXPECT_FALSE(plugin_.connected());
  EXPECT_TRUE(endpoint.closed());
}

TEST_F(EndpointTest, LetsCallsUnderWayEndBeforeItCloses) {
  plugin_.on_allocate = Reply::kHold;
  Endpoint& endpoint = table_.Install("r", "x.sock", Connect(), {});
  Watch(endpoint);
  auto call = Allocate(endpoint);

  endpoint.Stop();
  Settle(timers_);
  EXPECT_TRUE(plugin_.connected());
  plugin_.Release();
  call.reset();
  Settle(timers_);

  EXPECT_THAT(answers_, ElementsAre("encoded:d1"));
  EXPECT_FALSE(plugin_.connected());
}

TEST_F(EndpointTest, HearsNothingOfAReplacedPlugin) {
  Watch(table_.Install("r", "x.sock", Connect(), {}));
  FakePlugin successor;
  Watch(
      table_.Install("r", "x.sock", std::make_unique<FakePlugin::Client>(timers_, successor), {}));

  plugin_.SendList({});
  plugin_.EndStreams();
  Settle(timers_);

  EXPECT_THAT(lists_, IsEmpty());
  EXPECT_THAT(ends_, IsEmpty());
  EXPECT_FALSE(plugin_.connected());
  EXPECT_TRUE(successor.connected());
  table_.Remove("r");
  Settle(timers_);
  EXPECT_FALSE(successor.connected());
  EXPECT_EQ(table_.Find("r"), nullptr);
}

TEST_F(EndpointTest, AReplacedPluginMayStillAnswer) {
  plugin_.on_allocate = Reply::kHold;
  auto call = Allocate(table_.Install("r", "x.sock", Connect(), {}));

  table_.InstallPlaceholder("r");
  table_.InstallPlaceholder("r");
  Settle(timers_);
  plugin_.Release();

  EXPECT_THAT(answers_, ElementsAre("encoded:d1"));
  call.reset();
  Settle(timers_);
  EXPECT_FALSE(plugin_.connected());
}

TEST_F(EndpointTest, APlaceholderIsStoppedFromBirth) {
  Endpoint& endpoint = table_.InstallPlaceholder("r");

  Allocate(endpoint);

  EXPECT_TRUE(endpoint.closed());
  EXPECT_EQ(endpoint.options(), api::PluginOptions());
  EXPECT_THAT(answers_, ElementsAre("endpoint r has been stopped"));
}

}  // namespace
}  // namespace tenon::manager
