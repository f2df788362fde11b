#include "kubelet_service/kubelet_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/skipping_clock_for_test.h"
#include "base/strings.h"
#include "kubelet_service/scripted_plugin_for_test.h"
#include "rpc/channel.h"
#include "wire/pod_resources.h"

namespace tenon::kubelet_service {
namespace {

namespace fs = std::filesystem;
using manager::AdmitResult;
using manager::PodRequest;
using manager::ResourceCapacity;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using Reply = ScriptedPlugin::Reply;

constexpr char kResource[] = "example.com/serial";
constexpr base::Duration kLong = std::chrono::hours(10);

PodRequest Pod(const std::string& uid, int64_t quantity, const std::string& resource = kResource) {
  return {.uid = uid,
          .name = "name-" + uid,
          .namespace_name = "default",
          .containers = {{.name = "con", .limits = {{resource, quantity}}}}};
}

class KubeletServiceTest : public testing::Test {
 protected:
  KubeletServiceTest() { Start(); }
  ~KubeletServiceTest() override {
    plugin_.Die();
    other_.Die();
    service_.reset();
    fs::remove_all(root_);
  }

  static std::string MakeRoot() {
    std::string pattern = testing::TempDir() + "kubelet.XXXXXX";
    return ::mkdtemp(pattern.data());
  }
  void Start() {
    service_.reset();
    service_ =
        *KubeletService::Start(*loop_, log_, *KubeletDirectory::Open(root_, false), options_);
  }
  void StartWith(const std::function<void(KubeletService::Options&)>& change) {
    change(options_);
    Start();
  }
  std::string Path(const std::string& name) const { return root_ + "/device-plugins/" + name; }
  bool RunUntil(const std::function<bool()>& done) { return loop_->RunUntil(done, seconds(25)); }
  /// For what ends by a deadline.
  bool SkipUntil(const std::function<bool()>& done) {
    for (int i = 0; i < 1000 && !loop_->RunUntil(done, milliseconds(1)); ++i)
      clock_.Skip(seconds(1));
    return done();
  }

  /// Registers; `answer_` is then "ok", or the status as grpc-go prints it.
  void BeginRegister(const api::RegisterRequest& request) {
    answer_.clear();
    call_.reset();
    channel_ = rpc::Channel::Connect(*loop_, Path("kubelet.sock"), {});
    call_ = channel_->Unary(wire::kRegister, wire::EncodeRegisterRequest(request), kLong,
                            [this](const rpc::Status& status, const std::string&) {
                              answer_ = status.ok() ? "ok" : rpc::ToString(status);
                            });
  }
  bool answered() const { return !answer_.empty(); }
  std::string Register(const api::RegisterRequest& request) {
    BeginRegister(request);
    EXPECT_TRUE(RunUntil([this] { return answered(); }));
    return answer_;
  }
  std::string Register(const std::string& endpoint) {
    return Register({"v1beta1", endpoint, kResource, {}});
  }
  static std::string Unknown(const std::string& text) {
    return "rpc error: code = Unknown desc = " + text;
  }
  /// Registers the plugin and waits for its devices.
  void Serve(ScriptedPlugin& plugin, const std::string& socket,
             const std::vector<std::string>& devices) {
    plugin.SendHealthy(devices);
    plugin.Listen();
    ASSERT_EQ(Register(socket), "ok");
    ASSERT_TRUE(WaitForCapacity(devices.size(), devices.size()));
  }
  bool WaitForCapacity(size_t capacity, size_t allocatable) {
    return RunUntil([&] {
      return service_->manager().Capacity() ==
             std::vector{ResourceCapacity{kResource, capacity, allocatable}};
    });
  }
  /// Waits for the plugin to be asked, and then for what it makes of it.
  bool FinishCall(ScriptedPlugin& plugin, std::string_view method,
                  const std::function<bool()>& done) {
    auto& asked = plugin.asked;
    if (plugin.on[std::string(method)] != Reply::kHang) return RunUntil(done);
    return RunUntil([&] { return !asked.empty() && asked.back() == method; }) && SkipUntil(done);
  }
  /// "admitted", or the message. `method` is what may hang.
  std::string Admit(const PodRequest& pod, std::string_view method = "") {
    std::optional<AdmitResult> result;
    service_->manager().AdmitPod(pod, [&](const AdmitResult& r) { result = r; });
    EXPECT_TRUE(FinishCall(plugin_, method, [&] { return result.has_value(); }));
    return result->admitted ? "admitted" : result->message;
  }
  static std::string Refused(const std::string& why) {
    return "Allocate failed due to " + why + ", which is unexpected";
  }
  Result<ContainerAllocation> PrepareStart(const std::string& uid) {
    std::optional<Result<ContainerAllocation>> options;
    service_->manager().PrepareStart(
        uid, "con", [&](const Result<ContainerAllocation>& result) { options = result; });
    EXPECT_TRUE(FinishCall(plugin_, wire::kPreStartContainer, [&] { return options.has_value(); }));
    return *options;
  }

  base::SkippingClock clock_;
  std::unique_ptr<loop::EventLoop> loop_ = *loop::EventLoop::Create(clock_);
  base::RecordingLog log_;
  const std::string root_ = MakeRoot();
  KubeletService::Options options_;
  std::unique_ptr<KubeletService> service_;
  std::unique_ptr<rpc::Channel> channel_;
  std::unique_ptr<rpc::ClientCall> call_;
  std::string answer_;
  ScriptedPlugin plugin_{*loop_, log_, Path("plugin.sock")};
  ScriptedPlugin other_{*loop_, log_, Path("other.sock")};
};

TEST_F(KubeletServiceTest, GivesAPodTheDevicesOfAPlugin) {
  Serve(plugin_, "plugin.sock", {"tty2", "tty10", "tty1"});

  EXPECT_EQ(Admit(Pod("p", 2)), "admitted");

  EXPECT_THAT(plugin_.allocated, ElementsAre(ElementsAre("tty1", "tty2")));
  auto options = PrepareStart("p");
  ASSERT_TRUE(options);
  EXPECT_THAT(options->device_nodes, ElementsAre(DeviceNode{"/dev/tty1", "/dev/host-tty1", "rw"},
                                                 DeviceNode{"/dev/tty2", "/dev/host-tty2", "rw"}));
  EXPECT_EQ(options->env.size(), 2U);
  EXPECT_TRUE(fs::exists(Path("kubelet_internal_checkpoint")));
}

TEST_F(KubeletServiceTest, ChecksWhatPluginsRegister) {
  plugin_.Listen();

  EXPECT_EQ(Register({"v1", "plugin.sock", kResource, {}}),
            Unknown(R"(requested API version "v1" is not supported by kubelet. Supported version )"
                    R"(is ["v1beta1"])"));
  EXPECT_EQ(Register({"v1beta1", "plugin.sock", "serial", {}}),
            Unknown(R"(the ResourceName "serial" is invalid)"));
  EXPECT_THAT(plugin_.asked, IsEmpty());
}

TEST_F(KubeletServiceTest, RefusesEndpointsOutsideItsDirectory) {
  ScriptedPlugin outside(*loop_, log_, root_ + "/x.sock");
  outside.Listen();

  EXPECT_EQ(Register("../x.sock"),
            Unknown(R"(the endpoint "../x.sock" is invalid: it must be the name of a socket )"
                    R"(beside kubelet.sock)"));
  EXPECT_THAT(outside.asked, IsEmpty());

  StartWith([](auto& options) { options.manager.any_endpoint = true; });
  EXPECT_EQ(Register("../x.sock"), "ok");
}

TEST_F(KubeletServiceTest, RefusesASocketThatNobodyListensOnWhenTheDialTimeHasPassed) {
  std::string text = Unknown("failed to dial device plugin: context deadline exceeded");
  BeginRegister({"v1beta1", "absent.sock", kResource, {}});
  EXPECT_TRUE(SkipUntil([this] { return answered(); }));
  EXPECT_EQ(answer_, text);
  EXPECT_THAT(log_.lines(), Contains(AllOf(HasSubstr("device plugin was not registered"),
                                           HasSubstr("No such file"))));

  auto listener = rpc::Server::Listen(*loop_, log_, Path("full.sock"), {});
  fs::rename(Path("full.sock"), Path("stale.sock"));
  listener->reset();
  BeginRegister({"v1beta1", "stale.sock", kResource, {}});
  EXPECT_TRUE(SkipUntil([this] { return answered(); }));
  EXPECT_EQ(answer_, text);
  EXPECT_THAT(log_.lines(), Contains(HasSubstr("Connection refused")));
  EXPECT_THAT(service_->manager().Capacity(), IsEmpty());
}

TEST_F(KubeletServiceTest, RefusesWhatIsNoSocketAtOnce) {
  std::ofstream(Path("file.sock")) << "text";
  fs::create_symlink("kubelet.sock", Path("link.sock"));

  EXPECT_EQ(Register("file.sock"),
            Unknown("failed to dial device plugin: " + Path("file.sock") + " is not a socket"));
  EXPECT_EQ(Register("link.sock"),
            Unknown("failed to dial device plugin: " + Path("link.sock") + " is not a socket"));
}

TEST_F(KubeletServiceTest, RefusesASocketOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a socket away";
  plugin_.Listen();
  ASSERT_EQ(::chown(Path("plugin.sock").c_str(), 12345, 12345), 0);

  EXPECT_THAT(Register("plugin.sock"), HasSubstr("belongs to user 12345"));
  EXPECT_THAT(plugin_.asked, IsEmpty());
}

TEST_F(KubeletServiceTest, WaitsForAPluginThatRegistersBeforeItListens) {
  auto late = loop_->timers().After(milliseconds(20), [&] { plugin_.Listen(); });

  EXPECT_EQ(Register("plugin.sock"), "ok");
}

TEST_F(KubeletServiceTest, RefusesAPluginThatDoesNotGiveItsOptions) {
  const std::string method(wire::kGetDevicePluginOptions);
  plugin_.Listen();

  plugin_.on[method] = Reply::kUnimplemented;
  EXPECT_EQ(Register("plugin.sock"),
            Unknown("failed to get device plugin options: rpc error: code = Unimplemented desc = "
                    "unknown method"));
  plugin_.on[method] = Reply::kHang;
  plugin_.asked.clear();
  BeginRegister({"v1beta1", "plugin.sock", kResource, {}});
  EXPECT_TRUE(FinishCall(plugin_, method, [this] { return answered(); }));
  EXPECT_EQ(answer_,
            Unknown("failed to get device plugin options: rpc error: code = DeadlineExceeded desc "
                    "= context deadline exceeded"));
  plugin_.on[method] = Reply::kGarbage;
  EXPECT_THAT(Register("plugin.sock"),
              HasSubstr("failed to get device plugin options: rpc error: code = Internal desc = "
                        "grpc: failed to unmarshal the received message: "));
  plugin_.on[method] = Reply::kDie;
  EXPECT_THAT(Register("plugin.sock"),
              HasSubstr("failed to get device plugin options: rpc error: code = Unavailable"));
  EXPECT_THAT(service_->manager().Capacity(), IsEmpty());
  EXPECT_THAT(plugin_.asked, testing::Each(method));
}

TEST_F(KubeletServiceTest, GivesUpARegistrationThatItsPluginCancels) {
  plugin_.on[std::string(wire::kGetDevicePluginOptions)] = Reply::kHang;
  plugin_.Listen();
  BeginRegister({"v1beta1", "plugin.sock", kResource, {}});
  ASSERT_TRUE(RunUntil([&] { return !plugin_.asked.empty(); }));

  call_.reset();
  Serve(other_, "other.sock", {"a"});

  EXPECT_EQ(Admit(Pod("p", 1)), "admitted");
  EXPECT_THAT(plugin_.allocated, IsEmpty());
}

TEST_F(KubeletServiceTest, ARegistrationThatHangsHoldsUpNoOther) {
  plugin_.on[std::string(wire::kGetDevicePluginOptions)] = Reply::kHang;
  plugin_.Listen();
  auto channel = rpc::Channel::Connect(*loop_, Path("kubelet.sock"), {});
  auto call = channel->Unary(
      wire::kRegister, wire::EncodeRegisterRequest({"v1beta1", "plugin.sock", "a.b/slow", {}}),
      kLong, [](const auto&, const auto&) {});
  ASSERT_TRUE(RunUntil([&] { return !plugin_.asked.empty(); }));

  Serve(other_, "other.sock", {"a"});

  EXPECT_EQ(Admit(Pod("p", 1)), "admitted");
}

TEST_F(KubeletServiceTest, LosesAPluginThatDies) {
  Serve(plugin_, "plugin.sock", {"a", "b"});

  plugin_.Die();

  EXPECT_TRUE(WaitForCapacity(2, 0));
  EXPECT_THAT(log_.lines(), Contains(AllOf(StartsWith("WARN"), HasSubstr("plugin is lost"))));
}

TEST_F(KubeletServiceTest, LosesAPluginWhoseStreamEnds) {
  for (const rpc::Status& status :
       {rpc::Status{}, rpc::Status{rpc::StatusCode::kInternal, "it broke"}}) {
    Serve(plugin_, "plugin.sock", {"a"});
    plugin_.FinishStreams(status);
    EXPECT_TRUE(WaitForCapacity(1, 0));
    plugin_.Die();
  }
}

TEST_F(KubeletServiceTest, LosesAPluginThatFailsToList) {
  for (Reply reply : {Reply::kFail, Reply::kDie}) {
    plugin_.on[std::string(wire::kListAndWatch)] = reply;
    plugin_.Listen();
    EXPECT_EQ(Register("plugin.sock"), "ok");
    EXPECT_TRUE(WaitForCapacity(0, 0));
    plugin_.Die();
  }
}

TEST_F(KubeletServiceTest, LosesAPluginWhoseListCannotBeRead) {
  Serve(plugin_, "plugin.sock", {"a"});

  plugin_.SendBytes("\x0a\x05\x0a\x03\xff\xfe\xfd");  // An id that is not UTF-8.

  EXPECT_TRUE(WaitForCapacity(1, 0));
  EXPECT_THAT(log_.lines(), Contains(HasSubstr("failed to unmarshal the received message")));
}

TEST_F(KubeletServiceTest, LosesAPluginWhoseListIsTooLongAndSaysSoLoudly) {
  StartWith([](auto& options) { options.max_response_bytes = 1000; });
  Serve(plugin_, "plugin.sock", {"a"});

  plugin_.SendHealthy({std::string(2000, 'x')});

  EXPECT_TRUE(WaitForCapacity(1, 0));
  EXPECT_THAT(log_.lines(), Contains(AllOf(StartsWith("ERROR"), HasSubstr("ResourceExhausted"))));
}

TEST_F(KubeletServiceTest, TakesAListOf5MiB) {
  std::vector<std::string> ids;
  for (int i = 0; i < 50'000; ++i)
    ids.push_back(std::to_string(i) + std::string(90, 'x'));

  Serve(plugin_, "plugin.sock", ids);
}

TEST_F(KubeletServiceTest, TheEndOfAReplacedPluginHarmsNothing) {
  Serve(plugin_, "plugin.sock", {"a"});
  Serve(other_, "other.sock", {"a", "b"});
  EXPECT_EQ(plugin_.streams_closed, 0) << "the old one stands by";

  plugin_.Die();
  EXPECT_EQ(Admit(Pod("p", 2)), "admitted");

  EXPECT_THAT(service_->manager().Capacity(), ElementsAre(ResourceCapacity{kResource, 2, 2}));
  EXPECT_EQ(other_.streams_closed, 0);
  EXPECT_THAT(other_.allocated, ElementsAre(ElementsAre("a", "b")));
}

TEST_F(KubeletServiceTest, APluginMayRegisterAgainOnTheSameSocket) {
  Serve(plugin_, "plugin.sock", {"a"});
  ASSERT_EQ(Register("plugin.sock"), "ok");
  EXPECT_TRUE(RunUntil([&] { return plugin_.streams_closed == 1; }));

  plugin_.SendHealthy({"a", "b"});

  EXPECT_TRUE(WaitForCapacity(2, 2));
}

struct BadCall {
  const char* name;
  std::string_view method;
  Reply reply;
  const char* message;
};

class BadCallTest : public KubeletServiceTest, public testing::WithParamInterface<BadCall> {};

TEST_P(BadCallTest, RefusesThePodAndLeavesNothingBehind) {
  const BadCall& bad = GetParam();
  plugin_.options.preferred_allocation_available = true;
  plugin_.on[std::string(bad.method)] = bad.reply;
  Serve(plugin_, "plugin.sock", {"a"});

  EXPECT_THAT(Admit(Pod("p", 1), bad.method), HasSubstr(bad.message));
  EXPECT_THAT(service_->manager().ListPodResources(), IsEmpty());

  plugin_.Die();
  plugin_.on.clear();
  Serve(plugin_, "plugin.sock", {"a"});
  EXPECT_EQ(Admit(Pod("p", 1)), "admitted");
}

INSTANTIATE_TEST_SUITE_P(
    EachWay, BadCallTest,
    testing::Values(
        BadCall{"AllocateFails", wire::kAllocate, Reply::kFail,
                "Allocate failed due to rpc error: code = Internal desc = it broke, which is "
                "unexpected"},
        BadCall{"AllocateHangs", wire::kAllocate, Reply::kHang,
                "Allocate failed due to rpc error: code = DeadlineExceeded desc = context deadline "
                "exceeded, which is unexpected"},
        BadCall{"AllocateDies", wire::kAllocate, Reply::kDie,
                "Allocate failed due to rpc error: code = Unavailable"},
        BadCall{
            "AllocateGarbage", wire::kAllocate, Reply::kGarbage,
            "Allocate failed due to rpc error: code = Internal desc = grpc: failed to unmarshal"},
        BadCall{"AllocateEmpty", wire::kAllocate, Reply::kEmpty,
                "no containers return in allocation response"},
        BadCall{"PreferredFails", wire::kGetPreferredAllocation, Reply::kFail,
                "Allocate failed due to device plugin GetPreferredAllocation rpc failed with err: "
                "rpc error: code = Internal desc = it broke, which is unexpected"},
        BadCall{"PreferredHangs", wire::kGetPreferredAllocation, Reply::kHang,
                "GetPreferredAllocation rpc failed with err: rpc error: code = DeadlineExceeded"},
        BadCall{"PreferredDies", wire::kGetPreferredAllocation, Reply::kDie,
                "GetPreferredAllocation rpc failed with err: rpc error: code = Unavailable"},
        BadCall{"PreferredGarbage", wire::kGetPreferredAllocation, Reply::kGarbage,
                "GetPreferredAllocation rpc failed with err: rpc error: code = Internal"}),
    [](const auto& param_info) { return param_info.param.name; });

TEST_F(KubeletServiceTest, FollowsAPreferenceAndTakesNoneAsNone) {
  plugin_.options.preferred_allocation_available = true;
  plugin_.preferred = {"c"};
  Serve(plugin_, "plugin.sock", {"a", "b", "c"});

  EXPECT_EQ(Admit(Pod("p", 1)), "admitted");
  plugin_.on[std::string(wire::kGetPreferredAllocation)] = Reply::kEmpty;
  EXPECT_EQ(Admit(Pod("q", 1)), "admitted");

  EXPECT_THAT(plugin_.allocated, ElementsAre(ElementsAre("c"), ElementsAre("a")));
}

TEST_F(KubeletServiceTest, ReportsAPreStartContainerThatGoesWrong) {
  const std::string method(wire::kPreStartContainer);
  const std::string prefix = "device plugin PreStartContainer rpc failed with err: ";
  plugin_.options.pre_start_required = true;
  Serve(plugin_, "plugin.sock", {"a"});
  ASSERT_EQ(Admit(Pod("p", 1)), "admitted");

  plugin_.on[method] = Reply::kFail;
  EXPECT_EQ(PrepareStart("p").error().message(),
            prefix + "rpc error: code = Internal desc = it broke");
  plugin_.on[method] = Reply::kHang;
  EXPECT_EQ(PrepareStart("p").error().message(),
            prefix + "rpc error: code = DeadlineExceeded desc = context deadline exceeded");
  plugin_.on[method] = Reply::kAnswer;
  EXPECT_TRUE(PrepareStart("p"));
  EXPECT_THAT(plugin_.pre_started, ElementsAre(ElementsAre("a")));
  plugin_.on[method] = Reply::kDie;
  EXPECT_THAT(PrepareStart("p").error().message(),
              StartsWith(prefix + "rpc error: code = Unavailable"));
}

TEST_F(KubeletServiceTest, ARestartWipesSocketsAndKeepsAllocations) {
  Serve(plugin_, "plugin.sock", {"a", "b"});
  ASSERT_EQ(Admit(Pod("p", 1)), "admitted");

  Start();

  EXPECT_FALSE(fs::exists(Path("plugin.sock")));
  EXPECT_TRUE(WaitForCapacity(0, 0));
  EXPECT_THAT(Admit(Pod("new", 1)), HasSubstr("no healthy devices present"));
  plugin_.Die();
  Serve(plugin_, "plugin.sock", {"a", "b"});
  EXPECT_EQ(Admit(Pod("p", 1)), "admitted");
  EXPECT_EQ(Admit(Pod("q", 1)), "admitted");
  EXPECT_THAT(plugin_.allocated, ElementsAre(ElementsAre("a"), ElementsAre("b")));
  EXPECT_THAT(PrepareStart("p")->device_nodes,
              ElementsAre(DeviceNode{"/dev/a", "/dev/host-a", "rw"}));
}

struct PodResourcesApiTest : KubeletServiceTest {
  PodResourcesApiTest() {
    plugin_.SendList({{.id = {"a"}, .numa_nodes = {1}}, {.id = {"b"}}});
    plugin_.Listen();
    EXPECT_EQ(Register("plugin.sock"), "ok");
    EXPECT_TRUE(WaitForCapacity(2, 2));
    EXPECT_EQ(Admit(Pod("p", 1)), "admitted");
  }
  /// The answer, or what it failed with.
  std::string Ask(std::string_view method, std::string request = "") {
    std::optional<std::string> answer;
    auto call = monitor_->Unary(method, std::move(request), kLong,
                                [&](const rpc::Status& status, const std::string& response) {
                                  answer = status.ok() ? response : rpc::ToString(status);
                                });
    EXPECT_TRUE(RunUntil([&] { return answer.has_value(); }));
    return *answer;
  }
  std::unique_ptr<rpc::Channel> monitor_ =
      rpc::Channel::Connect(*loop_, root_ + "/pod-resources/kubelet.sock", {});
};

TEST_F(PodResourcesApiTest, TellsMonitorsWhoHoldsWhat) {
  const PodResources pod{.name = "name-p",
                         .namespace_name = "default",
                         .containers = {{"con", {{kResource, {"a"}, {1}}}}}};
  EXPECT_THAT(*wire::DecodePodResources(Ask(wire::kPodResourcesList)), ElementsAre(pod));
  EXPECT_THAT(
      *wire::DecodePodResources(
          Ask(wire::kPodResourcesGet, wire::EncodeGetPodResourcesRequest({"name-p", "default"}))),
      ElementsAre(pod));
}

TEST_F(PodResourcesApiTest, OldMonitorsGetNoTopology) {
  EXPECT_THAT(*wire::DecodePodResources(Ask(wire::kPodResourcesListV1alpha1)),
              ElementsAre(PodResources{.name = "name-p",
                                       .namespace_name = "default",
                                       .containers = {{"con", {{kResource, {"a"}, {}}}}}}));
}

TEST_F(PodResourcesApiTest, AllocatableAreTheHealthyDevicesInUseOrNot) {
  EXPECT_THAT(
      *wire::DecodeAllocatableResources(Ask(wire::kGetAllocatableResources)),
      ElementsAre(ContainerDevices{kResource, {"a"}, {1}}, ContainerDevices{kResource, {"b"}, {}}));
}

TEST_F(PodResourcesApiTest, APodThatIsNotThereIsAnUnknownError) {
  EXPECT_EQ(Ask(wire::kPodResourcesGet, wire::EncodeGetPodResourcesRequest({"x", "lab"})),
            Unknown("pod x in namespace lab not found"));
  EXPECT_THAT(Ask(wire::kPodResourcesGet, "\xff"), StartsWith("rpc error: code = Internal"));
}

TEST_F(PodResourcesApiTest, ManyCallsAtOnceAreRefusedUntilTimePasses) {
  std::vector<std::string> answers;
  std::vector<std::unique_ptr<rpc::ClientCall>> calls;
  for (int i = 0; i < 40; ++i) {
    calls.push_back(monitor_->Unary(wire::kPodResourcesList, "", kLong,
                                    [&](const rpc::Status& status, const std::string&) {
                                      answers.push_back(rpc::ToString(status));
                                    }));
  }
  ASSERT_TRUE(RunUntil([&] { return answers.size() == 40; }));

  EXPECT_THAT(answers,
              Contains("rpc error: code = ResourceExhausted desc = rejected by rate limit"));
  clock_.Skip(seconds(1));
  EXPECT_THAT(Ask(wire::kPodResourcesList), HasSubstr("name-p"));
}

TEST_F(KubeletServiceTest, MayEndWhileEverythingIsUnderWay) {
  plugin_.on[std::string(wire::kAllocate)] = Reply::kHang;
  Serve(plugin_, "plugin.sock", {"a"});
  service_->manager().AdmitPod(Pod("p", 1), [](const AdmitResult&) { FAIL(); });
  other_.on[std::string(wire::kGetDevicePluginOptions)] = Reply::kHang;
  other_.Listen();
  BeginRegister({"v1beta1", "other.sock", "a.b/c", {}});
  ASSERT_TRUE(RunUntil([&] {
    return plugin_.allocated.empty() && !other_.asked.empty() &&
           plugin_.asked.back() == wire::kAllocate;
  }));

  service_.reset();

  EXPECT_TRUE(RunUntil([this] { return answered(); }));
  EXPECT_THAT(answer_, HasSubstr("code = Unavailable"));
  EXPECT_TRUE(RunUntil([&] { return plugin_.streams_closed == 1; }));
}

}  // namespace
}  // namespace tenon::kubelet_service
