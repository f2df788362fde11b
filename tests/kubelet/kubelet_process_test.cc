#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admin/http_client.h"
#include "base/strings.h"
#include "host/temp_tree.h"
#include "loop/event_loop.h"
#include "process/child.h"
#include "runtime/runc.h"
#include "value/value.h"

namespace tenon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::chrono::seconds kPatience(20);

/// A program as a child of the test; killed with the object.
class Program final {
 public:
  Program(loop::EventLoop& loop, std::vector<std::string> argv) : loop_(loop) {
    process::ChildOptions options{.argv = std::move(argv)};
    options.deadline = std::nullopt;
    options.on_output = [this](int, std::string_view bytes) { output_ += bytes; };
    child_ = *process::Child::Start(loop_, std::move(options),
                                    [this](process::ChildExit exit) { exit_ = std::move(exit); });
  }
  void Signal(int signal) { child_->Kill(signal); }
  const process::ChildExit& WaitForExit() {
    loop_.RunUntil([this] { return exit_.has_value(); }, kPatience);
    if (!exit_) exit_ = process::ChildExit{};
    return *exit_;
  }
  bool running() const { return !exit_; }
  const std::string& output() const { return output_; }

 private:
  loop::EventLoop& loop_;
  std::string output_;
  std::optional<process::ChildExit> exit_;
  std::unique_ptr<process::Child> child_;
};

/// The real `tenon kubelet`, the real tenond beside it, and whatever runtime the test says.
struct KubeletProcessTest : ::testing::Test {
  base::SystemClock clock;
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  host::TempTree tree;
  std::unique_ptr<Program> kubelet;
  std::unique_ptr<Program> tenond;
  std::string runtime = "none";

  std::string Directory() const { return tree.Real("/kubelet"); }

  void StartKubelet() {
    kubelet = std::make_unique<Program>(
        *loop,
        std::vector<std::string>{TENON_PATH, "kubelet", "--kubelet-dir", Directory(), "--image-dir",
                                 tree.Real("/images"), "--runtime", runtime, "--node-name", "lab"});
    ASSERT_TRUE(Await([this] { return Get("/healthz").status == 200 || !kubelet->running(); }));
    ASSERT_TRUE(kubelet->running()) << kubelet->output();
  }
  void KillKubelet() {
    kubelet->Signal(SIGKILL);
    EXPECT_EQ(kubelet->WaitForExit().signal, SIGKILL);
  }
  void StartTenond(const std::string& resources) {
    tree.File("/config.yaml", "domain: example.com\nresources:\n" + resources);
    tenond = std::make_unique<Program>(
        *loop, std::vector<std::string>{TENOND_PATH, "--config", tree.Real("/config.yaml"),
                                        "--kubelet-dir", Directory(), "--control",
                                        tree.Real("/tenond.sock")});
  }

  admin::HttpResponse Call(const admin::HttpRequest& request) {
    std::optional<admin::HttpResponse> answer;
    const auto fetch = admin::HttpFetch::Start(
        *loop, base::JoinPath(Directory(), "tenon-kubelet.sock"), request, {.deadline = kPatience},
        [&answer](Result<admin::HttpResponse> response) {
          answer = response ? *std::move(response) : admin::HttpResponse{.status = 0};
        });
    loop->RunUntil([&answer] { return answer.has_value(); }, kPatience);
    return answer.value_or(admin::HttpResponse{.status = 0});
  }
  admin::HttpResponse Get(const std::string& path) { return Call({.path = path}); }
  Value GetJson(const std::string& path) {
    auto value = ParseJson(Get(path).body, path);
    return value ? *std::move(value) : Value();
  }
  std::string TextAt(const Value& value, std::initializer_list<std::string_view> keys) {
    const Value* found = value.At(keys);
    return found ? found->text() : "";
  }
  /// For what the loop is not told of.
  bool Await(const std::function<bool()>& done) {
    const base::MonotonicTime latest = clock.Now() + kPatience;
    while (!done() && clock.Now() < latest)
      loop->RunUntil([] { return false; }, std::chrono::milliseconds(5));
    return done();
  }
  bool AwaitAllocatable(const std::string& resource, const std::string& count) {
    return Await([&] {
      return TextAt(GetJson("/api/v1/node"), {"status", "allocatable", resource}) == count;
    });
  }

  /// Submits a pod with one container; returns its phase and, if it was refused, why.
  std::string Submit(const std::string& name, const std::string& script,
                     const std::string& limits) {
    const std::string manifest =
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
        R"("},"spec":{"restartPolicy":"Never","containers":[{"name":"main","image":"busybox",)" +
        R"("command":["/bin/sh","-c",)" + ToJson(Value::String(script)) +
        R"(],"resources":{"limits":{)" + limits + "}}}]}}";
    const admin::HttpResponse response =
        Call({.method = "POST", .path = "/api/v1/pods", .body = manifest});
    auto body = ParseJson(response.body, "answer");
    if (response.status != 201 || !body) return response.body;
    const Value& pod = body->Find("items")->items().front();
    return TextAt(pod, {"status", "phase"}) + " " + TextAt(pod, {"status", "message"});
  }
  Value Pod(const std::string& name) { return GetJson("/api/v1/pods/default/" + name); }
  std::string Phase(const std::string& name) { return TextAt(Pod(name), {"status", "phase"}); }
  bool AwaitPhase(const std::string& name, const std::string& phase) {
    return Await([&] { return Phase(name) == phase; });
  }
  Value State(const std::string& name) {
    const Value pod = Pod(name);
    const Value* statuses = pod.At({"status", "containerStatuses"});
    return statuses && !statuses->items().empty() ? *statuses->items()[0].Find("state") : Value();
  }
  std::string Output(const std::string& name) {
    return Get("/api/v1/pods/default/" + name + "/log").body;
  }
  int Delete(const std::string& name) {
    return Call({.method = "DELETE",
                 .path = "/api/v1/pods/default/" + name,
                 .query = {{"grace", "0"}}})
        .status;
  }
};

TEST_F(KubeletProcessTest, WithoutARuntimePodsGetDevicesUntilTheyAreUsedUp) {
  StartKubelet();
  StartTenond("  - name: dongle\n    devices: [{virtual: {count: 2}}]\n");
  ASSERT_TRUE(AwaitAllocatable("example.com/dongle", "2")) << tenond->output();

  EXPECT_EQ(Submit("first", "true", R"("example.com/dongle":2)"), "Pending ");
  EXPECT_EQ(Submit("second", "true", R"("example.com/dongle":1)"),
            "Failed Pod was rejected: Allocate failed due to requested number of devices "
            "unavailable for example.com/dongle. Requested: 1, Available: 0, which is unexpected");
  EXPECT_EQ(Delete("first"), 200);
  EXPECT_EQ(Submit("third", "true", R"("example.com/dongle":1)"), "Pending ");
  EXPECT_EQ(TextAt(GetJson("/api/v1/node"), {"status", "capacity", "example.com/dongle"}), "2");
}

TEST_F(KubeletProcessTest, AtItsEndItsSocketsAreGone) {
  StartKubelet();

  kubelet->Signal(SIGTERM);

  EXPECT_EQ(kubelet->WaitForExit().code, 0) << kubelet->output();
  for (const auto& entry : std::filesystem::recursive_directory_iterator(Directory())) {
    EXPECT_FALSE(entry.is_socket()) << entry.path();
  }
}

TEST_F(KubeletProcessTest, ASecondOneInTheSameDirectoryIsRefusedAndHarmsNothing) {
  StartKubelet();

  Program second(*loop, {TENON_PATH, "kubelet", "--kubelet-dir", Directory(), "--runtime", "none"});

  EXPECT_EQ(second.WaitForExit().code, 1);
  EXPECT_THAT(second.output(), HasSubstr("is in use by another tenon kubelet"));
  EXPECT_EQ(Get("/healthz").status, 200);
}

TEST_F(KubeletProcessTest, ARuncThatIsMissingIsNamedWithItsPackage) {
  Program broken(*loop, {TENON_PATH, "kubelet", "--kubelet-dir", Directory(), "--runtime",
                         "runc:/nowhere/runc"});

  EXPECT_EQ(broken.WaitForExit().code, 1);
  EXPECT_THAT(broken.output(), HasSubstr("install the package runc"));
}

/// The same with runc, busybox and a device node of this machine.
struct ContainerTest : KubeletProcessTest {
  std::string device;

  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    if (::access("/bin/busybox", X_OK) != 0) GTEST_SKIP() << "needs the package busybox-static";
    if (auto found = runtime::CheckRunc(*loop, "/usr/sbin/runc"); !found) {
      GTEST_SKIP() << found.error().message();
    }
    // None of them is in the list that runc allows every container.
    for (const char* path : {"/dev/fuse", "/dev/loop-control", "/dev/vhost-net", "/dev/hwrng"}) {
      if (::access(path, F_OK) == 0) device = path;
      if (!device.empty()) break;
    }
    if (device.empty()) GTEST_SKIP() << "needs a device node such as /dev/fuse";
    for (const char* directory : {"proc", "dev", "sys", "tmp", "run", "bin"}) {
      tree.Directory("/images/busybox/" + std::string(directory));
    }
    std::filesystem::copy("/bin/busybox", tree.Real("/images/busybox/bin/busybox"));
    tree.Link("/images/busybox/bin/sh", "busybox");
    runtime = "runc";
    StartKubelet();
    StartTenond("  - name: device\n    devices: [{path: " + device + "}]\n");
    ASSERT_TRUE(AwaitAllocatable("example.com/device", "1")) << tenond->output();
  }
  void TearDown() override {
    if (!kubelet) return;
    if (!kubelet->running()) StartKubelet();
    const Value list = GetJson("/api/v1/pods");
    std::vector<std::string> uids;
    for (const Value& pod : list.Find("items")->items()) {
      uids.push_back(TextAt(pod, {"metadata", "uid"}));
      EXPECT_EQ(Delete(TextAt(pod, {"metadata", "name"})), 200);
    }
    kubelet->Signal(SIGTERM);
    EXPECT_EQ(kubelet->WaitForExit().code, 0) << kubelet->output();
    ExpectNothingLeft(uids);
  }
  void ExpectNothingLeft(const std::vector<std::string>& uids) const {
    for (const std::string& uid : uids) {
      for (const char* hierarchy : {"", "/devices", "/pids", "/memory", "/unified"}) {
        EXPECT_FALSE(
            std::filesystem::exists(std::string("/sys/fs/cgroup") + hierarchy + "/tenon/" + uid));
      }
    }
    EXPECT_THAT(LinesWith("/proc/self/mountinfo", tree.root()), IsEmpty());
    EXPECT_TRUE(std::filesystem::is_empty(Directory() + "/pods"));
    EXPECT_TRUE(std::filesystem::is_empty(Directory() + "/runc"));
  }
  static std::string LinesWith(const std::string& path, const std::string& text) {
    std::ifstream file(path);
    std::string out;
    for (std::string line; std::getline(file, line);) {
      if (line.find(text) != std::string::npos) out += line + "\n";
    }
    return out;
  }
  bool AwaitOutput(const std::string& name, const std::string& text) {
    return Await([&] { return Output(name).find(text) != std::string::npos; });
  }
  /// Until the pod's record on disk has this text.
  bool AwaitRecord(const std::string& name, const std::string& text) {
    const std::string uid = TextAt(Pod(name), {"metadata", "uid"});
    return Await(
        [&] { return !LinesWith(Directory() + "/pods/" + uid + "/record.json", text).empty(); });
  }
  static constexpr const char* kLimit = R"("example.com/device":1)";
};

TEST_F(ContainerTest, ThePodOpensItsDeviceAndNoOther) {
  ASSERT_EQ(Submit("first",
                   "exec 3<>" + device +
                       " && echo opened; busybox mknod /dev/other c 10 232; (: </dev/other); "
                       "exec busybox sleep 1000",
                   kLimit),
            "Pending ");

  // 10:232 is not in the list that runc allows every container.
  ASSERT_TRUE(AwaitOutput("first", "/dev/other")) << kubelet->output();
  EXPECT_THAT(Output("first"), AllOf(HasSubstr("opened\n"), HasSubstr("Operation not permitted")));
  EXPECT_TRUE(AwaitPhase("first", "Running"));
}

TEST_F(ContainerTest, ADeviceIsFreeAgainWhenItsPodHasEnded) {
  ASSERT_EQ(Submit("first", "exit 3", kLimit), "Pending ");
  ASSERT_TRUE(AwaitPhase("first", "Failed"));
  EXPECT_EQ(TextAt(State("first"), {"terminated", "exitCode"}), "3");

  EXPECT_EQ(Submit("second", "exec busybox sleep 1000", kLimit), "Pending ");
  ASSERT_TRUE(AwaitPhase("second", "Running"));
  EXPECT_THAT(Submit("third", "true", kLimit), HasSubstr("Requested: 1, Available: 0"));
  EXPECT_EQ(Delete("second"), 200);
  EXPECT_EQ(Submit("fourth", "true", kLimit), "Pending ");
  EXPECT_TRUE(AwaitPhase("fourth", "Succeeded"));
}

TEST_F(ContainerTest, KilledItFindsItsContainersAgainAndTheirDevicesAreStillTaken) {
  ASSERT_EQ(Submit("first", "echo started; exec busybox sleep 1000", kLimit), "Pending ");
  ASSERT_TRUE(AwaitPhase("first", "Running"));
  const std::string before = TextAt(State("first"), {"running", "startedAt"});
  ASSERT_TRUE(AwaitRecord("first", before));

  KillKubelet();
  StartKubelet();
  ASSERT_TRUE(AwaitAllocatable("example.com/device", "1")) << tenond->output();

  EXPECT_TRUE(AwaitPhase("first", "Running"));
  EXPECT_EQ(TextAt(State("first"), {"running", "startedAt"}), before);
  EXPECT_EQ(Output("first"), "started\n");
  EXPECT_THAT(Submit("second", "true", kLimit), HasSubstr("Requested: 1, Available: 0"));
  EXPECT_EQ(Delete("first"), 200);
  EXPECT_EQ(Submit("third", "true", kLimit), "Pending ");
  EXPECT_TRUE(AwaitPhase("third", "Succeeded"));
}

TEST_F(ContainerTest, AContainerThatEndsWhileItIsDownIsNoted) {
  ASSERT_EQ(Submit("first", "exec busybox sleep 1000", kLimit), "Pending ");
  ASSERT_TRUE(AwaitPhase("first", "Running"));
  const Value pod = Pod("first");
  const std::string id =
      TextAt(pod.At({"status", "containerStatuses"})->items()[0], {"containerID"})
          .substr(std::string("runc://").size());

  KillKubelet();
  Program kill(*loop, {"/usr/sbin/runc", "--root", Directory() + "/runc", "kill", id, "KILL"});
  EXPECT_EQ(kill.WaitForExit().code, 0) << kill.output();
  StartKubelet();

  ASSERT_TRUE(AwaitPhase("first", "Failed"));
  EXPECT_EQ(TextAt(State("first"), {"terminated", "reason"}), "ContainerStatusUnknown");
  EXPECT_EQ(TextAt(State("first"), {"terminated", "exitCode"}), "137");
  ASSERT_TRUE(AwaitAllocatable("example.com/device", "1")) << tenond->output();
  EXPECT_EQ(Submit("second", "true", kLimit), "Pending ");
}

TEST_F(ContainerTest, ItsEndLeavesContainersRunningForTheNextOne) {
  ASSERT_EQ(Submit("first", "exec busybox sleep 1000", kLimit), "Pending ");
  ASSERT_TRUE(AwaitPhase("first", "Running"));

  kubelet->Signal(SIGTERM);
  EXPECT_EQ(kubelet->WaitForExit().code, 0);
  StartKubelet();

  EXPECT_TRUE(AwaitPhase("first", "Running"));
}

}  // namespace
}  // namespace tenon
