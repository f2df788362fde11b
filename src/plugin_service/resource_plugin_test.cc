#include "plugin_service/resource_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "plugin/socket_name.h"
#include "plugin_service/pod_resources_client.h"
#include "rpc/channel.h"
#include "wire/messages.h"
#include "wire/pod_resources.h"

namespace tenon::plugin_service {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

DeviceSetPtr Set(uint64_t revision, std::vector<std::string> ids) {
  auto set = std::make_shared<DeviceSet>();
  set->revision = revision;
  for (std::string& id : ids)
    set->devices.push_back({.id = {std::move(id)}});
  return set;
}

/// A plugin on a real socket, and the kubelet's two halves played by hand.
struct ResourcePluginTest : ::testing::Test {
  ResourcePluginTest() {
    std::string pattern = ::testing::TempDir() + "tenon-plugin-XXXXXX";
    path = ::mkdtemp(pattern.data());
    hooks.resolve = [](const Device& device) -> Result<plugin::DeviceParts> {
      plugin::DeviceParts gets;
      const std::string node = "/dev/" + device.id.value;
      if (device.id.value == "gone") return Error(Code::kNotFound, node + ": no such file");
      gets.allocation.device_nodes.push_back({node, node, "rw"});
      return gets;
    };
    directory.emplace(plugin::PluginDirectory::Options{}, loop->timers(), nullptr, path);
    plugin.emplace(context, *directory, events,
                   ResourcePlugin::Options{.resource = *ResourceName::Parse("example.com/serial"),
                                           .process_token = "abc"},
                   hooks);
    plugin->Publish(Set(1, {"tty1", "tty2"}));
  }
  ~ResourcePluginTest() override {
    plugin.reset();
    std::filesystem::remove_all(path);
  }

  bool RunUntil(const std::function<bool()>& done) { return loop->RunUntil(done, seconds(5)); }

  /// A kubelet that answers Register with `answer`.
  void ServeKubelet(rpc::Status answer = {}) {
    kubelet = *rpc::Server::Listen(*loop, log, path + "/kubelet.sock", {});
    kubelet->AddUnary(std::string(wire::kRegister),
                      [this, answer](std::string_view request, std::unique_ptr<rpc::UnaryCall> c) {
                        registered.push_back(*wire::DecodeRegisterRequest(request));
                        if (answer.ok())
                          c->Reply("");
                        else
                          c->Fail(answer);
                      });
  }
  void OpenStream() {
    channel = rpc::Channel::Connect(*loop, path + "/" + registered.back().endpoint, {});
    stream = channel->Stream(
        wire::kListAndWatch, "",
        [this](std::string_view message) {
          const std::vector<api::ListedDevice> devices = *wire::DecodeDeviceList(message);
          std::vector<std::string> ids;
          for (const api::ListedDevice& device : devices)
            ids.push_back(device.id);
          lists.push_back(std::move(ids));
        },
        [this](rpc::Status status) { stream_end = std::move(status); });
  }
  void BringUp() {
    ServeKubelet();
    plugin->Start();
    ASSERT_TRUE(RunUntil([this] { return !registered.empty(); }));
    OpenStream();
    ASSERT_TRUE(RunUntil([this] { return plugin->ready() && !lists.empty(); }));
  }
  std::pair<rpc::Status, std::string> Call(std::string_view method, std::string request) {
    std::optional<std::pair<rpc::Status, std::string>> answer;
    auto call = channel->Unary(method, std::move(request), seconds(5),
                               [&answer](rpc::Status status, std::string response) {
                                 answer.emplace(std::move(status), std::move(response));
                               });
    EXPECT_TRUE(RunUntil([&answer] { return answer.has_value(); }));
    return *answer;
  }

  base::SystemClock clock;
  base::RecordingLog log;
  base::MetricsRegistry metrics;
  EventRing events{64};
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  const ServiceContext context{*loop, clock, log, metrics};
  std::string path;
  plugin::PluginHooks hooks;
  std::optional<plugin::PluginDirectory> directory;
  std::unique_ptr<rpc::Server> kubelet;
  std::optional<ResourcePlugin> plugin;
  std::vector<api::RegisterRequest> registered;
  std::unique_ptr<rpc::Channel> channel;
  std::unique_ptr<rpc::ClientCall> stream;
  std::vector<std::vector<std::string>> lists;
  std::optional<rpc::Status> stream_end;
};

TEST_F(ResourcePluginTest, RegistersAndSuppliesTheStream) {
  BringUp();

  EXPECT_THAT(registered, ElementsAre(api::RegisterRequest{
                              .version = "v1beta1",
                              .endpoint = plugin::SocketName(plugin->core().resource(), "abc"),
                              .resource_name = "example.com/serial",
                              .options = {}}));
  EXPECT_THAT(lists, ElementsAre(ElementsAre("tty1", "tty2")));

  plugin->Publish(Set(2, {"tty2"}));
  EXPECT_TRUE(RunUntil([this] { return lists.size() == 2; }));
  EXPECT_THAT(lists.back(), ElementsAre("tty2"));
}

TEST_F(ResourcePluginTest, AnswersAllMethods) {
  BringUp();

  auto options = Call(wire::kGetDevicePluginOptions, "");
  EXPECT_EQ((api::PluginOptions{}), *wire::DecodePluginOptions(options.second));

  auto preferred = Call(wire::kGetPreferredAllocation,
                        wire::EncodePreferredRequest({{{"tty2", "tty1"}, {}, 1}}));
  EXPECT_THAT(*wire::DecodePreferredResponse(preferred.second), ElementsAre(ElementsAre("tty1")));

  auto allocated = Call(wire::kAllocate, wire::EncodeAllocateRequest({{{"tty1"}}, {{"tty2"}}}));
  auto containers = *wire::SplitAllocateResponse(allocated.second);
  ASSERT_EQ(2U, containers.size());
  EXPECT_THAT(wire::DecodeContainerAllocation(containers[1])->device_nodes,
              ElementsAre(DeviceNode{"/dev/tty2", "/dev/tty2", "rw"}));

  EXPECT_TRUE(Call(wire::kPreStartContainer, wire::EncodePreStartRequest({"tty1"})).first.ok());
}

TEST_F(ResourcePluginTest, RefusalsNameTheDeviceAndKeepTheirCode) {
  BringUp();
  plugin->Publish(Set(2, {"gone"}));

  EXPECT_EQ((rpc::Status{rpc::StatusCode::kNotFound, "device x: not offered by this plugin"}),
            Call(wire::kAllocate, wire::EncodeAllocateRequest({{{"x"}}})).first);
  EXPECT_EQ((rpc::Status{rpc::StatusCode::kNotFound, "device gone: /dev/gone: no such file"}),
            Call(wire::kAllocate, wire::EncodeAllocateRequest({{{"gone"}}})).first);
  EXPECT_EQ(rpc::StatusCode::kInvalidArgument, Call(wire::kAllocate, "\xff").first.code);
  EXPECT_EQ(rpc::StatusCode::kNotFound,
            Call(wire::kPreStartContainer, wire::EncodePreStartRequest({"x"})).first.code);
  EXPECT_EQ(rpc::StatusCode::kUnimplemented, Call("/v1beta1.DevicePlugin/Nothing", "").first.code);
  EXPECT_THAT(log.lines(), Contains(HasSubstr("allocation refused resource=example.com/serial")));
  EXPECT_THAT(metrics.RenderText(),
              HasSubstr("tenon_plugin_calls_total{resource=\"example.com/serial\","
                        "method=\"Allocate\",code=\"NotFound\"} 2\n"));
}

TEST_F(ResourcePluginTest, ARefusedRegistrationSaysWhyInTheKubeletsWords) {
  ServeKubelet({rpc::StatusCode::kUnknown, "the ResourceName \"x\" is invalid"});

  plugin->Start();
  ASSERT_TRUE(RunUntil([this] { return registered.size() == 3; }));

  EXPECT_FALSE(plugin->ready());
  EXPECT_THAT(log.lines(),
              Contains(HasSubstr("rpc error: code = Unknown desc = the ResourceName")));
  EXPECT_THAT(metrics.RenderText(),
              HasSubstr("tenon_plugin_registrations_total{resource=\"example.com/serial\","
                        "result=\"failed\"}"));
}

TEST_F(ResourcePluginTest, ALostStreamMakesItUnready) {
  BringUp();

  stream.reset();
  channel.reset();

  EXPECT_TRUE(RunUntil([this] { return !plugin->ready(); }));
  EXPECT_THAT(metrics.RenderText(),
              HasSubstr("tenon_plugin_streams_lost_total{resource=\"example.com/serial\"} 1\n"));
}

TEST_F(ResourcePluginTest, DrainEndsTheStreamAndRemovesTheSocket) {
  BringUp();
  bool drained = false;

  plugin->Drain(seconds(5), [&drained] { drained = true; });

  EXPECT_TRUE(RunUntil([&] { return drained && stream_end; }));
  EXPECT_EQ(rpc::StatusCode::kUnavailable, stream_end->code);
  EXPECT_FALSE(std::filesystem::exists(path + "/" + registered.back().endpoint));
  EXPECT_THAT(lists, ElementsAre(ElementsAre("tty1", "tty2")));
}

TEST_F(ResourcePluginTest, RetireSendsAnEmptyListBeforeItEnds) {
  BringUp();
  bool drained = false;

  plugin->Retire(seconds(5), [&drained] { drained = true; });

  EXPECT_TRUE(RunUntil([&] { return drained && stream_end; }));
  EXPECT_THAT(lists, ElementsAre(ElementsAre("tty1", "tty2"), IsEmpty()));
}

TEST_F(ResourcePluginTest, RetireWithoutAKubeletEndsAtOnce) {
  plugin->Start();
  bool drained = false;

  plugin->Retire(seconds(5), [&drained] { drained = true; });

  EXPECT_TRUE(loop->RunUntil([&drained] { return drained; }, seconds(1)));
}

TEST_F(ResourcePluginTest, WhatHappensStandsInTheEvents) {
  BringUp();

  Call(wire::kAllocate, wire::EncodeAllocateRequest({{{"tty1"}}}));
  Call(wire::kAllocate, wire::EncodeAllocateRequest({{{"x"}}}));

  std::vector<std::string> texts;
  for (const DeviceEvent& event : events.events())
    texts.push_back(event.text);
  EXPECT_THAT(texts, Contains("streaming"));
  EXPECT_THAT(texts, Contains("allocated tty1"));
  EXPECT_THAT(texts, Contains("allocation refused: device x: not offered by this plugin"));
}

TEST_F(ResourcePluginTest, AListThatIsTooLargeIsLoggedOnceAndTheFormerOneStays) {
  const DeviceSetPtr huge = Set(2, {std::string(plugin::kMaxListBytes, 'x')});

  plugin->Publish(huge);
  plugin->Publish(huge);

  EXPECT_THAT(plugin->publish_error(), HasSubstr("a kubelet accepts 4194304"));
  EXPECT_EQ(1U, log.lines().size());
  EXPECT_EQ(2U, plugin->core().devices()->devices.size());

  plugin->Publish(Set(3, {}));
  EXPECT_EQ("", plugin->publish_error());
}

TEST_F(ResourcePluginTest, TellsWhichPodHoldsWhat) {
  const std::vector<PodResources> pods = {
      {"pod", "default", {{"main", {{"example.com/serial", {"tty1"}, {}}}}}}};
  auto server = *rpc::Server::Listen(*loop, log, path + "/pods.sock", {});
  server->AddUnary(std::string(wire::kPodResourcesList),
                   [&pods](std::string_view, std::unique_ptr<rpc::UnaryCall> call) {
                     call->Reply(wire::EncodePodResources(pods));
                   });
  std::optional<Result<std::vector<PodResources>>> answer;

  std::unique_ptr<PodResourcesCall> call =
      ListPodResources(*loop, path + "/pods.sock", seconds(5), [&](auto result) {
        answer = std::move(result);
        call.reset();
      });

  ASSERT_TRUE(RunUntil([&answer] { return answer.has_value(); }));
  EXPECT_EQ(pods, **answer);
}

TEST_F(ResourcePluginTest, WithoutAPodResourcesSocketThereIsAnError) {
  std::optional<Result<std::vector<PodResources>>> answer;

  auto call = ListPodResources(*loop, path + "/none.sock", milliseconds(500),
                               [&answer](auto result) { answer = std::move(result); });

  ASSERT_TRUE(RunUntil([&answer] { return answer.has_value(); }));
  ASSERT_FALSE(*answer);
  EXPECT_THAT(answer->error().message(), HasSubstr("none.sock"));
}

}  // namespace
}  // namespace tenon::plugin_service
