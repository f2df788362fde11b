// A device plugin on grpc++, as those in the field are, at the sockets of our kubelet: first one
// that does as the Kubernetes sample plugin, then one that does everything wrong.

#include <gmock/gmock.h>
#include <grpc/grpc.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/byte_buffer.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>

#include "base/skipping_clock_for_test.h"
#include "base/strings.h"
#include "host/temp_tree.h"
#include "kubelet_service/kubelet_service.h"
#include "rpc/grpcpp_bytes.h"
#include "wire/messages.h"

namespace tenon {
namespace {

using manager::AdmitResult;
using manager::ResourceCapacity;
using rpc::ToBuffer;
using rpc::ToBytes;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr char kResource[] = "resource.com/sample";

std::string ListOf(const std::vector<std::string>& healthy) {
  std::vector<Device> devices;
  for (const std::string& id : healthy)
    devices.push_back({.id = {id}});
  return wire::EncodeDeviceList(devices);
}

/// What it does when it is asked.
enum class Manner {
  kGood,
  kHang,
  kFail,
  kDie,    ///< The whole server ends.
  kEmpty,  ///< An empty message.
  kGarbage,
  kFlood,  ///< Of the list: a thousand times, as fast as it goes.
};

class GrpcppPlugin final {
 public:
  explicit GrpcppPlugin(std::string socket) : socket_(std::move(socket)) {}
  ~GrpcppPlugin() { Stop(); }

  // Set before Start(), read on grpc++'s threads.
  std::map<std::string, Manner> manners;  ///< By method, "Allocate" and the like.
  std::string list = ListOf({"Dev-1", "Dev-2"});
  api::PluginOptions options;
  std::atomic<int> allocations = 0;
  std::atomic<int> pre_starts = 0;

  void Start() {
    std::filesystem::remove(socket_);
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket_, grpc::InsecureServerCredentials());
    service_ = std::make_unique<Service>(*this);
    builder.RegisterCallbackGenericService(service_.get());
    server_ = builder.BuildAndStart();
  }
  /// Returns when all that its peers have of it is gone, too: not for the thread of such a peer.
  void Stop() {
    if (dying_.joinable()) dying_.join();
    if (server_) server_->Shutdown(std::chrono::system_clock::now());
    server_.reset();
  }

 private:
  /// For a call, which the server's end would wait for.
  void Die() {
    dying_ = std::thread([this] { server_->Shutdown(std::chrono::system_clock::now()); });
  }

  class Call final : public grpc::ServerGenericBidiReactor {
   public:
    Call(GrpcppPlugin& plugin, const std::string& method)
        : plugin_(plugin), method_(method.substr(method.rfind('/') + 1)) {
      auto manner = plugin_.manners.find(method_);
      if (manner != plugin_.manners.end()) manner_ = manner->second;
      StartRead(&request_);
    }
    void OnReadDone(bool ok) override {
      if (!ok) return Finish(grpc::Status::CANCELLED);
      switch (manner_) {
        case Manner::kHang:
          return Wait();
        case Manner::kDie:
          plugin_.Die();
          return Wait();
        case Manner::kFail:
          return Finish({grpc::StatusCode::INTERNAL, "it broke"});
        case Manner::kEmpty:
          return Send("", 1);
        case Manner::kGarbage:
          return Send("\xff\xff\xff", 1);
        case Manner::kFlood:
          return Send(plugin_.list, 1000);
        case Manner::kGood:
          return Send(plugin_.Answer(method_, ToBytes(request_)), 1);
      }
    }
    void OnWriteDone(bool ok) override {
      if (!ok) return Finish(grpc::Status::CANCELLED);
      if (--left_ > 0) return StartWrite(&response_);
      if (method_ != "ListAndWatch") return Finish(grpc::Status::OK);
      Wait();
    }
    void OnCancel() override {
      if (state_.exchange(State::kCancelled) == State::kWaiting) Finish(grpc::Status::CANCELLED);
    }
    void OnDone() override { delete this; }

   private:
    enum class State { kBusy, kWaiting, kCancelled };

    /// For the client to cancel.
    void Wait() {
      if (state_.exchange(State::kWaiting) == State::kCancelled) Finish(grpc::Status::CANCELLED);
    }
    void Send(const std::string& bytes, int times) {
      response_ = ToBuffer(bytes);
      left_ = times;
      StartWrite(&response_);
    }
    GrpcppPlugin& plugin_;
    const std::string method_;
    Manner manner_ = Manner::kGood;
    grpc::ByteBuffer request_;
    grpc::ByteBuffer response_;
    int left_ = 0;
    std::atomic<State> state_ = State::kBusy;
  };

  class Service final : public grpc::CallbackGenericService {
   public:
    explicit Service(GrpcppPlugin& plugin) : plugin_(plugin) {}

   private:
    grpc::ServerGenericBidiReactor* CreateReactor(
        grpc::GenericCallbackServerContext* context) override {
      return new Call(plugin_, context->method());
    }
    GrpcppPlugin& plugin_;
  };

  std::string Answer(const std::string& method, const std::string& request) {
    if (method == "GetDevicePluginOptions") return wire::EncodePluginOptions(options);
    if (method == "ListAndWatch") return list;
    if (method == "PreStartContainer") ++pre_starts;
    if (method == "GetPreferredAllocation")
      return wire::EncodePreferredResponse({{"Dev-2", "Dev-2", "bogus"}});
    if (method != "Allocate") return "";
    ++allocations;
    std::vector<ContainerAllocation> answers;
    const auto containers = *wire::DecodeAllocateRequest(request);
    for (const api::AllocateRequest& container : containers) {
      ContainerAllocation& answer = answers.emplace_back();
      for (const std::string& id : container.device_ids) {
        answer.device_nodes.push_back({"/tmp/" + id, "/dev/null", "rwm"});
        answer.mounts.push_back({"/tmp/" + id, "/tmp/" + id, false});
      }
    }
    return wire::EncodeAllocateResponse(answers);
  }

  const std::string socket_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<grpc::Server> server_;
  std::thread dying_;
};

class GrpcppPluginTest : public testing::Test {
 protected:
  /// grpc++ clears up when its last object goes, and may take 10 s for that: not before the end.
  static void SetUpTestSuite() { grpc_init(); }
  void TearDown() override { StopPlugin(); }

  bool RunUntil(const std::function<bool()>& done) { return loop_->RunUntil(done, seconds(25)); }
  /// For what ends by a deadline.
  bool SkipUntil(const std::function<bool()>& done) {
    for (int i = 0; i < 2000 && !done(); ++i) {
      clock_.Skip(seconds(1));
      loop_->RunUntil(done, std::chrono::milliseconds(2));
    }
    return done();
  }
  void StopPlugin() {
    bool stopped = false;
    std::thread stopping([&] {
      plugin_.Stop();
      loop_->handle().Post([&stopped] { stopped = true; });
    });
    EXPECT_TRUE(RunUntil([&stopped] { return stopped; }));
    stopping.join();
  }
  /// With grpc++ at this end, too. Returns: "ok", or the error's text.
  std::string Register(bool skip = false) {
    plugin_.Start();
    grpc::GenericStub stub(
        grpc::CreateChannel("unix:" + Path("kubelet.sock"), grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    const grpc::ByteBuffer request = ToBuffer(
        wire::EncodeRegisterRequest({std::string(api::kVersion), "sample.sock", kResource, {}}));
    grpc::ByteBuffer response;
    std::string answer;
    stub.UnaryCall(&context, std::string(wire::kRegister), {}, &request, &response,
                   [this, &answer](const grpc::Status& status) {
                     loop_->handle().Post([&answer, status] {
                       answer = status.ok() ? "ok" : status.error_message();
                     });
                   });
    const auto answered = [&answer] { return !answer.empty(); };
    EXPECT_TRUE(skip ? SkipUntil(answered) : RunUntil(answered));
    return answer;
  }
  bool WaitForCapacity(size_t capacity, size_t allocatable) {
    const std::vector<ResourceCapacity> wanted = {{kResource, capacity, allocatable}};
    return RunUntil([&] { return service_->manager().Capacity() == wanted; });
  }
  std::string Admit(const std::string& uid, int64_t quantity = 1, bool skip = false) {
    std::string answer;
    service_->manager().AdmitPod(
        {.uid = uid,
         .name = uid,
         .namespace_name = "default",
         .containers = {{.name = "con", .limits = {{kResource, quantity}}}}},
        [&](const AdmitResult& result) { answer = result.admitted ? "admitted" : result.message; });
    const auto answered = [&] { return !answer.empty(); };
    EXPECT_TRUE(skip ? SkipUntil(answered) : RunUntil(answered));
    return answer;
  }
  std::string Start(const std::string& uid, bool skip = false) {
    std::string answer;
    service_->manager().PrepareStart(uid, "con", [&](const Result<ContainerAllocation>& options) {
      answer = options ? base::Join(Paths(*options), ",") : options.error().message();
    });
    const auto answered = [&] { return !answer.empty(); };
    EXPECT_TRUE(skip ? SkipUntil(answered) : RunUntil(answered));
    return answer;
  }
  static std::vector<std::string> Paths(const ContainerAllocation& options) {
    std::vector<std::string> paths;
    for (const DeviceNode& device : options.device_nodes)
      paths.push_back(device.container_path);
    return paths;
  }
  std::string Path(const std::string& name) const {
    return tree_.root() + "/kubelet/device-plugins/" + name;
  }

  host::TempTree tree_;
  base::SkippingClock clock_;
  base::RecordingLog log_;
  std::unique_ptr<loop::EventLoop> loop_ = *loop::EventLoop::Create(clock_);
  std::unique_ptr<kubelet_service::KubeletService> service_ =
      *kubelet_service::KubeletService::Start(
          *loop_, log_, *kubelet_service::KubeletDirectory::Open(tree_.root() + "/kubelet", false),
          {});
  GrpcppPlugin plugin_{Path("sample.sock")};
};

TEST_F(GrpcppPluginTest, TheSamplePluginServesItsTwoDevices) {
  plugin_.options.pre_start_required = true;

  ASSERT_EQ(Register(), "ok");
  ASSERT_TRUE(WaitForCapacity(2, 2));
  EXPECT_EQ(Admit("p"), "admitted");
  EXPECT_EQ(Admit("q"), "admitted");
  EXPECT_THAT(Admit("r"), HasSubstr("Requested: 1, Available: 0"));
  EXPECT_EQ(Start("p"), "/tmp/Dev-1");
  EXPECT_EQ(Start("q"), "/tmp/Dev-2");
  EXPECT_EQ(plugin_.pre_starts, 2);

  StopPlugin();
  EXPECT_TRUE(WaitForCapacity(2, 0));
  ASSERT_EQ(Register(), "ok");
  EXPECT_TRUE(WaitForCapacity(2, 2));
  EXPECT_EQ(plugin_.allocations, 2);
}

TEST_F(GrpcppPluginTest, OneWhoseOptionsGoWrongIsNotRegistered) {
  plugin_.manners["GetDevicePluginOptions"] = Manner::kFail;
  EXPECT_EQ(Register(),
            "failed to get device plugin options: rpc error: code = Internal desc = it broke");
  StopPlugin();
  plugin_.manners["GetDevicePluginOptions"] = Manner::kHang;
  EXPECT_THAT(Register(/*skip=*/true), HasSubstr("code = DeadlineExceeded"));
  StopPlugin();
  plugin_.manners["GetDevicePluginOptions"] = Manner::kGarbage;
  EXPECT_THAT(Register(), HasSubstr("failed to unmarshal"));
  StopPlugin();
  plugin_.manners["GetDevicePluginOptions"] = Manner::kDie;
  EXPECT_THAT(Register(), HasSubstr("code = Unavailable"));
  EXPECT_THAT(service_->manager().Capacity(), IsEmpty());
}

TEST_F(GrpcppPluginTest, OneThatFailsToListLeavesAnEmptyResource) {
  for (Manner manner : {Manner::kFail, Manner::kGarbage, Manner::kEmpty, Manner::kDie}) {
    plugin_.manners["ListAndWatch"] = manner;
    ASSERT_EQ(Register(), "ok");
    EXPECT_TRUE(WaitForCapacity(0, 0));
    StopPlugin();
  }
}

TEST_F(GrpcppPluginTest, OneThatNeverListsHasNothingAndHoldsUpNobody) {
  plugin_.manners["ListAndWatch"] = Manner::kHang;
  ASSERT_EQ(Register(), "ok");

  EXPECT_THAT(Admit("p"), HasSubstr("cannot allocate unregistered device"));
}

TEST_F(GrpcppPluginTest, OneThatFloodsIsHeardToTheEnd) {
  plugin_.manners["ListAndWatch"] = Manner::kFlood;
  ASSERT_EQ(Register(), "ok");

  EXPECT_TRUE(WaitForCapacity(2, 2));
  EXPECT_EQ(Admit("p"), "admitted");
}

TEST_F(GrpcppPluginTest, AListOf5MiBIsTakenAndOneOf20MiBIsTheEnd) {
  std::vector<std::string> ids;
  for (int i = 0; i < 5000; ++i)
    ids.push_back(std::to_string(i) + std::string(1024, 'x'));
  plugin_.list = ListOf(ids);
  ASSERT_EQ(Register(), "ok");
  EXPECT_TRUE(WaitForCapacity(5000, 5000));
  EXPECT_EQ(Admit("p"), "admitted");
  StopPlugin();
  ASSERT_TRUE(WaitForCapacity(5000, 0));

  plugin_.list = ListOf(std::vector<std::string>(20000, std::string(1024, 'x')));
  ASSERT_EQ(Register(), "ok");
  EXPECT_TRUE(RunUntil([this] {
    return std::ranges::any_of(log_.lines(), [](const std::string& line) {
      return line.starts_with("ERROR") && line.find("larger than max") != std::string::npos;
    });
  }));
}

TEST_F(GrpcppPluginTest, DuplicatesCountOnce) {
  plugin_.list = ListOf({"a", "a", "b", "a"});
  ASSERT_EQ(Register(), "ok");

  EXPECT_TRUE(WaitForCapacity(2, 2));
}

TEST_F(GrpcppPluginTest, APreferenceThatIsNonsenseIsFilledUp) {
  plugin_.options.preferred_allocation_available = true;
  ASSERT_EQ(Register(), "ok");
  ASSERT_TRUE(WaitForCapacity(2, 2));

  EXPECT_EQ(Admit("p", 2), "admitted");
  EXPECT_EQ(Start("p"), "/tmp/Dev-1,/tmp/Dev-2");
}

TEST_F(GrpcppPluginTest, APreferenceThatDoesNotComeRefusesThePodAndBlocksNothing) {
  const std::map<Manner, std::string> messages = {
      {Manner::kFail, "rpc error: code = Internal desc = it broke"},
      {Manner::kHang, "rpc error: code = DeadlineExceeded"},
      {Manner::kGarbage, "failed to unmarshal"},
      {Manner::kDie, "rpc error: code = Unavailable"}};
  plugin_.options.preferred_allocation_available = true;
  for (const auto& [manner, message] : messages) {
    plugin_.manners["GetPreferredAllocation"] = manner;
    ASSERT_EQ(Register(), "ok");
    ASSERT_TRUE(WaitForCapacity(2, 2));
    EXPECT_THAT(Admit("p", 1, manner == Manner::kHang),
                AllOf(HasSubstr("device plugin GetPreferredAllocation rpc failed with err: "),
                      HasSubstr(message)));
    StopPlugin();
    ASSERT_TRUE(WaitForCapacity(2, 0));
  }
  plugin_.manners["GetPreferredAllocation"] = Manner::kEmpty;
  ASSERT_EQ(Register(), "ok");
  ASSERT_TRUE(WaitForCapacity(2, 2));
  EXPECT_EQ(Admit("p"), "admitted");
  EXPECT_EQ(Admit("q"), "admitted");
}

TEST_F(GrpcppPluginTest, AllocateThatGoesWrongRefusesThePodAndBlocksNothing) {
  const std::map<Manner, std::string> messages = {
      {Manner::kFail, "rpc error: code = Internal desc = it broke"},
      {Manner::kHang, "code = DeadlineExceeded"},
      {Manner::kEmpty, "no containers return in allocation response"},
      {Manner::kGarbage, "failed to unmarshal"},
      {Manner::kDie, "code = Unavailable"}};
  for (const auto& [manner, message] : messages) {
    plugin_.manners["Allocate"] = manner;
    ASSERT_EQ(Register(), "ok");
    ASSERT_TRUE(WaitForCapacity(2, 2));
    EXPECT_THAT(Admit("p", 2, manner == Manner::kHang), HasSubstr(message));
    StopPlugin();
    ASSERT_TRUE(WaitForCapacity(2, 0));
  }
  EXPECT_THAT(service_->manager().ListPodResources(), IsEmpty());
}

TEST_F(GrpcppPluginTest, PreStartContainerThatGoesWrongMayBeTriedAgain) {
  const std::map<Manner, std::string> messages = {
      {Manner::kFail, "rpc error: code = Internal desc = it broke"},
      {Manner::kHang, "rpc error: code = DeadlineExceeded"},
      {Manner::kGarbage, "failed to unmarshal"},
      {Manner::kDie, "rpc error: code = Unavailable"}};
  plugin_.options.pre_start_required = true;
  ASSERT_EQ(Register(), "ok");
  ASSERT_TRUE(WaitForCapacity(2, 2));
  ASSERT_EQ(Admit("p"), "admitted");
  StopPlugin();
  ASSERT_TRUE(WaitForCapacity(2, 0));
  EXPECT_EQ(Start("p"),
            "device plugin PreStartContainer rpc failed with err: endpoint resource.com/sample has "
            "been stopped");
  for (const auto& [manner, message] : messages) {
    plugin_.manners["PreStartContainer"] = manner;
    ASSERT_EQ(Register(), "ok");
    ASSERT_TRUE(WaitForCapacity(2, 2));
    EXPECT_THAT(Start("p", manner == Manner::kHang),
                AllOf(StartsWith("device plugin PreStartContainer rpc failed with err: "),
                      HasSubstr(message)));
    StopPlugin();
    ASSERT_TRUE(WaitForCapacity(2, 0));
  }
  EXPECT_EQ(plugin_.pre_starts, 0);

  plugin_.manners.clear();
  ASSERT_EQ(Register(), "ok");
  ASSERT_TRUE(WaitForCapacity(2, 2));
  EXPECT_EQ(Start("p"), "/tmp/Dev-1");
  EXPECT_EQ(Start("p"), "/tmp/Dev-1");
  EXPECT_EQ(plugin_.pre_starts, 2);
  EXPECT_EQ(plugin_.allocations, 1);
}

}  // namespace
}  // namespace tenon
