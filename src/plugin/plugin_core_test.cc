#include "plugin/plugin_core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::plugin {
namespace {

using ::testing::ElementsAre;

DeviceSetPtr Set(std::vector<std::string> ids) {
  auto set = std::make_shared<DeviceSet>();
  for (std::string& id : ids)
    set->devices.push_back({.id = {std::move(id)}});
  return set;
}

struct PluginCoreTest : ::testing::Test {
  PluginCore Core(PluginHooks with) {
    return {*ResourceName::Parse("example.com/serial"), std::move(with),
            [this](const std::vector<Device>& devices) {
              ++encodings;
              std::string text;
              for (const Device& device : devices)
                text += device.id.value + (device.healthy() ? " " : "! ");
              return text;
            }};
  }
  PluginHooks hooks{.resolve = [](const Device&) { return DeviceParts{}; }};
  int encodings = 0;
  PluginCore core = Core(hooks);
  std::vector<std::string> written;
  WatchSession::WriteFn write = [this](const ListBytes& list) { written.push_back(*list); };
};

TEST_F(PluginCoreTest, AStreamStartsWithThePresentList) {
  ASSERT_TRUE(core.Publish(Set({"a", "b"})));

  auto subscription = core.Watch(write);

  EXPECT_THAT(written, ElementsAre("a b "));
}

TEST_F(PluginCoreTest, AStreamOpenedBeforeAnythingIsKnownGetsAnEmptyList) {
  auto subscription = core.Watch(write);

  EXPECT_THAT(written, ElementsAre(""));
}

TEST_F(PluginCoreTest, AChangeIsEncodedOnceForAllStreams) {
  auto first = core.Watch(write);
  auto second = core.Watch(write);
  first->OnWritten();
  second->OnWritten();
  encodings = 0;

  ASSERT_TRUE(core.Publish(Set({"a"})));

  EXPECT_THAT(written, ElementsAre("", "", "a ", "a "));
  EXPECT_EQ(1, encodings);
}

TEST_F(PluginCoreTest, AStreamThatEndedIsNotServedAnyMore) {
  core.Watch(write).reset();

  ASSERT_TRUE(core.Publish(Set({"a"})));

  EXPECT_THAT(written, ElementsAre(""));
}

TEST_F(PluginCoreTest, AListThatAKubeletWouldDropIsRefusedAndTheFormerOneStays) {
  ASSERT_TRUE(core.Publish(Set({"a"})));

  auto result = core.Publish(Set({std::string(kMaxListBytes, 'x')}));

  ASSERT_FALSE(result);
  EXPECT_EQ(Code::kResourceExhausted, result.error().code());
  EXPECT_EQ(
      "the list of 1 devices takes 4194305 bytes and a kubelet accepts 4194304: offer fewer "
      "devices or shorter ids",
      result.error().message());
  EXPECT_EQ(1U, core.devices()->devices.size());
  auto subscription = core.Watch(write);
  EXPECT_THAT(written, ElementsAre("a "));
}

TEST_F(PluginCoreTest, AllocateKnowsThePublishedDevicesOnly) {
  ASSERT_TRUE(core.Publish(Set({"a"})));

  EXPECT_TRUE(core.Allocate({{{"a"}}}));
  auto refused = core.Allocate({{{"b"}}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(Code::kNotFound, refused.error().code());
}

TEST_F(PluginCoreTest, PreStartRefusesIdsThatAreNotOffered) {
  ASSERT_TRUE(core.Publish(Set({"a"})));

  EXPECT_TRUE(core.CheckIds({"a"}));
  auto refused = core.CheckIds({"b"});
  ASSERT_FALSE(refused);
  EXPECT_EQ("device b: not offered by this plugin", refused.error().message());
}

TEST_F(PluginCoreTest, OffersPreferredAllocationOnlyIfThereIsAHookForIt) {
  EXPECT_EQ((api::PluginOptions{}), core.options());

  hooks.preferred = [](const DeviceSet&, const api::PreferredRequest&) {
    return std::vector<std::string>{"z"};
  };
  PluginCore with_hook = Core(hooks);

  EXPECT_TRUE(with_hook.options().preferred_allocation_available);
  EXPECT_THAT(*with_hook.Prefer({{{"z"}, {}, 1}}), ElementsAre(ElementsAre("z")));
}

TEST_F(PluginCoreTest, WithoutAHookItAnswersInNaturalOrder) {
  auto answer = core.Prefer({{{"tty10", "tty2", "tty1"}, {}, 2}, {{"b", "a"}, {"b"}, 1}});

  ASSERT_TRUE(answer);
  EXPECT_THAT(*answer, ElementsAre(ElementsAre("tty1", "tty2"), ElementsAre("b")));
}

TEST_F(PluginCoreTest, ARequestThatCannotBeMetFailsAsAWhole) {
  auto answer = core.Prefer({{{"a"}, {}, 1}, {{"a"}, {}, 2}});

  ASSERT_FALSE(answer);
  EXPECT_EQ(Code::kInvalidArgument, answer.error().code());
}

}  // namespace
}  // namespace tenon::plugin
