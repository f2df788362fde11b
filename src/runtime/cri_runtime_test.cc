#include "runtime/cri_runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "host/temp_tree.h"
#include "rpc/server.h"
#include "value/value.h"
#include "wire/writer.h"

namespace tenon::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::chrono::seconds kLimit(20);

std::string Field(uint32_t number, std::string_view text) {
  std::string out;
  wire::AddBytes(out, number, text);
  return out;
}
std::string Number(uint32_t number, int64_t value) {
  std::string out;
  wire::PutInt(out, number, value);
  return out;
}

/// A runtime that has one image and one pod, and records what it is asked.
class FakeCri final {
 public:
  FakeCri(loop::EventLoop& loop, base::Log& log, const std::string& path)
      : server_(*rpc::Server::Listen(loop, log, path, {})) {
    Answer(cri::kVersion,
           [this](const std::string&) { return Field(2, "containerd") + Field(3, version); });
    Answer(cri::kImageStatus, [this](const std::string& request) {
      return request.find("busybox") != std::string::npos && has_image ? Field(1, Field(1, "id"))
                                                                       : "";
    });
    Answer(cri::kListPodSandbox, [this](const std::string&) {
      return sandbox.empty() ? "" : Field(1, Field(1, sandbox) + Number(3, sandbox_ready ? 0 : 1));
    });
    Answer(cri::kRunPodSandbox, [this](const std::string&) {
      sandbox = "box";
      sandbox_ready = true;
      return Field(1, sandbox);
    });
    Answer(cri::kStopPodSandbox, [](const std::string&) { return ""; });
    Answer(cri::kRemovePodSandbox, [this](const std::string&) {
      sandbox.clear();
      return "";
    });
    Answer(cri::kCreateContainer, [this](const std::string& request) {
      created = request;
      states["c"] = 0;
      return Field(1, "c");
    });
    Answer(cri::kStartContainer, [this](const std::string&) {
      states["c"] = 1;
      return "";
    });
    Answer(cri::kStopContainer, [this](const std::string& request) {
      stopped = request;
      if (request ==
          "\x0a\x01"
          "c")
        states["c"] = 2;
      return "";
    });
    Answer(cri::kRemoveContainer, [this](const std::string&) {
      states.clear();
      return "";
    });
    Answer(cri::kListContainers, [this](const std::string&) {
      std::string out;
      for (const auto& [id, state] : states)
        out += Field(1, Field(1, id) + Number(6, state));
      return out;
    });
    Answer(cri::kContainerStatus, [this](const std::string& request) {
      return states.empty() || request != cri::EncodeIdRequest("c")
                 ? ""
                 : Field(1, Number(3, states["c"]) + Number(7, 5));
    });
  }

  std::string version = "1.6.20";
  bool has_image = true;
  std::string sandbox;
  bool sandbox_ready = true;
  std::map<std::string, int> states;
  std::string created;
  std::string stopped;
  std::vector<std::string> asked;
  std::string failing;  ///< This method fails.

 private:
  void Answer(std::string_view method, std::function<std::string(const std::string&)> answer) {
    const std::string name(method.substr(method.rfind('/') + 1));
    server_->AddUnary(std::string(method),
                      [this, name, answer](std::string_view request,
                                           const std::unique_ptr<rpc::UnaryCall>& call) {
                        asked.push_back(name);
                        if (name == failing)
                          return call->Fail({rpc::StatusCode::kUnknown, "it broke"});
                        call->Reply(answer(std::string(request)));
                      });
  }

  const std::unique_ptr<rpc::Server> server_;
};

struct CriRuntimeTest : ::testing::Test {
  CriRuntimeTest() {
    pod.containers.push_back(
        {.name = "main", .image = "busybox", .command = {"sh", "$(A)"}, .env = {{"A", "pod"}}});
    tree.Directory("/etc/cdi");
    ::chmod(tree.Real("/etc/cdi").c_str(), 0755);
    Connect();
  }
  void Connect() {
    runtime = *CriRuntime::Connect(
        *loop, *machine, {.socket = tree.Real("/cri.sock"), .cdi_directories = {"/etc/cdi"}});
    fake.asked.clear();
  }
  template <class T, class Begin>
  Result<T> Await(const Begin& begin) {
    std::optional<Result<T>> result;
    call = begin([&result](Result<T> r) { result.emplace(std::move(r)); });
    if (!loop->RunUntil([&result] { return result.has_value(); }, kLimit))
      return Error(Code::kDeadlineExceeded, "no answer");
    return *std::move(result);
  }
  NewContainer New() {
    return {.id = "u.main",
            .pod = pod,
            .container = pod.containers[0],
            .allocation = allocation,
            .attempt = 2,
            .directory = "/pods/u/main",
            .log_path = "/pods/u/main/output.log"};
  }
  Result<ContainerIdentity> Create() {
    return Await<ContainerIdentity>([this](auto done) { return runtime->Create(New(), done); });
  }
  Result<void> Start() {
    return Await<void>([this](auto done) { return runtime->Start(container, done); });
  }
  ContainerPresence Query() {
    return *Await<ContainerPresence>([this](auto done) { return runtime->Query(container, done); });
  }
  void WriteSpec(const std::string& edits) {
    tree.File("/etc/cdi/v.yaml",
              "cdiVersion: 0.6.0\nkind: v.com/c\ndevices: [{name: a, containerEdits: {" + edits +
                  "}}]\n");
    ::chmod(tree.Real("/etc/cdi/v.yaml").c_str(), 0644);
    allocation.cdi_devices = {"v.com/c=a"};
  }

  base::SystemClock clock;
  base::NullLog log;
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  host::TempTree tree;
  std::unique_ptr<host::PosixHost> machine = *host::PosixHost::Open(tree.root());
  FakeCri fake{*loop, log, tree.Real("/cri.sock")};
  std::unique_ptr<CriRuntime> runtime;
  pod::Pod pod{.name = "camera", .uid = "u"};
  ContainerAllocation allocation;
  const ContainerIdentity container{.name = "containerd://c", .process = {}};
  ContainerRuntime::Call call;
};

TEST_F(CriRuntimeTest, AContainerIsMadeInItsPodsSandboxWithWhatItWasAllocated) {
  allocation.device_nodes = {{"/dev/c", "/dev/h", "rw"}};
  allocation.env = {{"A", "plugin"}, {"B", "plugin"}};

  const auto identity = Create();

  ASSERT_TRUE(identity) << identity.error().message();
  EXPECT_EQ(identity->name, "containerd://c");
  EXPECT_THAT(fake.asked,
              ElementsAre("ImageStatus", "ListPodSandbox", "RunPodSandbox", "CreateContainer"));
  const auto config = *BuildCriConfig(pod, pod.containers[0], allocation, 2, "main/output.log");
  EXPECT_EQ(ToJson(ToValue(config)),
            R"({"metadata":{"name":"main","attempt":2},"image":{"image":"busybox"},)"
            R"("command":["sh","pod"],"args":[],"working_dir":"","envs":[{"key":"B","value":)"
            R"("plugin"},{"key":"A","value":"pod"}],"mounts":[],"devices":[{"container_path":)"
            R"("/dev/c","host_path":"/dev/h","permissions":"rw"}],"labels":)"
            R"({"io.kubernetes.container.name":"main","io.kubernetes.pod.name":"camera",)"
            R"("io.kubernetes.pod.namespace":"default","io.kubernetes.pod.uid":"u"},)"
            R"("annotations":{},"log_path":"main/output.log","CDI_devices":[]})");
  EXPECT_THAT(fake.created, HasSubstr("main/output.log"));
  EXPECT_THAT(fake.created, HasSubstr("/pods/u"));
}

TEST_F(CriRuntimeTest, ASandboxIsSharedAndOneOfAnEarlierLifeIsReplaced) {
  fake.sandbox = "box";
  ASSERT_TRUE(Create());
  EXPECT_THAT(fake.asked, Not(::testing::Contains("RunPodSandbox")));

  fake.sandbox_ready = false;
  fake.asked.clear();
  ASSERT_TRUE(Create());
  EXPECT_THAT(fake.asked, ElementsAre("ImageStatus", "ListPodSandbox", "RemovePodSandbox",
                                      "RunPodSandbox", "CreateContainer"));
}

TEST_F(CriRuntimeTest, TwoContainersOfOnePodAtOnceMakeOneSandbox) {
  int made = 0;
  const auto count = [&made](const Result<ContainerIdentity>& r) { made += r ? 1 : 0; };

  const auto first = runtime->Create(New(), count);
  const auto second = runtime->Create(New(), count);
  ASSERT_TRUE(loop->RunUntil([&made] { return made == 2; }, kLimit));

  EXPECT_EQ(std::count(fake.asked.begin(), fake.asked.end(), "RunPodSandbox"), 1);
}

TEST_F(CriRuntimeTest, WhatSomebodyCanMendIsToldApart) {
  fake.has_image = false;
  EXPECT_EQ(Create().error().code(), Code::kNotFound);
  fake.has_image = true;
  fake.failing = "RunPodSandbox";
  EXPECT_EQ(Create().error().code(), Code::kUnavailable);
  EXPECT_EQ(Create().error().message(), "rpc error: code = Unknown desc = it broke");
  fake.failing.clear();
  allocation.annotations = {{"cdi.k8s.io/x", "y"}};
  EXPECT_EQ(Create().error().code(), Code::kInvalidArgument);
}

TEST_F(CriRuntimeTest, AContainerIsSeenStartedRunningAndEnded) {
  EXPECT_EQ(Query(), ContainerPresence::kAbsent);
  ASSERT_EQ(*Create(), container);
  EXPECT_EQ(Query(), ContainerPresence::kCreated);
  std::optional<ContainerExit> exit;
  const auto watch = *runtime->Watch(container, [&exit](const ContainerExit& e) { exit = e; });

  ASSERT_TRUE(Start());
  EXPECT_EQ(Query(), ContainerPresence::kRunning);
  watch->Terminate();
  ASSERT_TRUE(loop->RunUntil([this] { return !fake.stopped.empty(); }, kLimit));
  EXPECT_FALSE(exit);
  watch->Kill();
  ASSERT_TRUE(loop->RunUntil([&exit] { return exit.has_value(); }, kLimit));

  EXPECT_EQ(exit->exit_code, 5);
  EXPECT_EQ(Query(), ContainerPresence::kStopped);
  EXPECT_TRUE(Await<void>([this](auto done) { return runtime->Delete("u.main", done); }));
  EXPECT_EQ(Query(), ContainerPresence::kAbsent);
  EXPECT_TRUE(Await<void>([this](auto done) { return runtime->RemovePod("u", done); }));
  EXPECT_THAT(fake.sandbox, IsEmpty());
}

TEST_F(CriRuntimeTest, ARuntimeThatKnowsNoCdiIsGivenWhatTheSpecSays) {
  WriteSpec(
      "env: [GPU=0], deviceNodes: [{path: /dev/gpu0, permissions: rw}], "
      "mounts: [{hostPath: /lib/a, containerPath: /lib/b, options: [ro]}]");
  ASSERT_TRUE(Create());
  EXPECT_THAT(fake.created, HasSubstr("/dev/gpu0"));
  EXPECT_THAT(fake.created, HasSubstr("GPU"));
  EXPECT_THAT(fake.created, HasSubstr("/lib/b"));
  EXPECT_THAT(fake.created, Not(HasSubstr("v.com/c=a")));

  WriteSpec("hooks: [{hookName: prestart, path: /h}]");
  const auto refused = Create();
  EXPECT_EQ(refused.error().code(), Code::kInvalidArgument);
  EXPECT_THAT(refused.error().message(), HasSubstr("containerd knows no CDI"));
}

TEST_F(CriRuntimeTest, ARuntimeThatKnowsCdiIsGivenTheNames) {
  fake.version = "v2.0.3";
  Connect();
  WriteSpec("hooks: [{hookName: prestart, path: /h}]");

  ASSERT_TRUE(Create());

  EXPECT_THAT(fake.created, HasSubstr("v.com/c=a"));
}

TEST_F(CriRuntimeTest, WhereNobodyAnswersThereIsNoRuntime) {
  const auto none =
      CriRuntime::Connect(*loop, *machine, {.socket = tree.Real("/none"), .cdi_directories = {}});

  EXPECT_EQ(none.error().code(), Code::kFailedPrecondition);
  EXPECT_THAT(none.error().message(), HasSubstr("no CRI runtime at " + tree.Real("/none")));
}

}  // namespace
}  // namespace tenon::runtime
