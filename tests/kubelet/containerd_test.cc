// `tenon kubelet` with a containerd of the test's own: its images, its sandboxes, its cgroups.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "kubelet_process_fixture.h"

namespace tenon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kImage = "tenon.local/busybox:test";
constexpr const char* kPauseImage = "tenon.local/pause:test";

struct ContainerdTest : KubeletProcessTest {
  std::unique_ptr<Program> containerd;
  std::string device;

  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    for (const char* program :
         {"/usr/bin/containerd", "/usr/bin/ctr", "/usr/bin/python3", "/bin/busybox"}) {
      if (::access(program, X_OK) != 0) GTEST_SKIP() << "needs " << program;
    }
    // None of them is in the list that runc allows every container.
    for (const char* path : {"/dev/fuse", "/dev/loop-control", "/dev/vhost-net", "/dev/hwrng"}) {
      if (device.empty() && ::access(path, F_OK) == 0) device = path;
    }
    if (device.empty()) GTEST_SKIP() << "needs a device node such as /dev/fuse";
    ASSERT_NO_FATAL_FAILURE(StartContainerd());
    ASSERT_NO_FATAL_FAILURE(ImportImages());
    runtime = "cri:" + Socket();
    image = kImage;
    StartKubelet();
    StartTenond("  - name: device\n    devices: [{path: " + device + "}]\n");
    ASSERT_TRUE(AwaitAllocatable("example.com/device", "1")) << tenond->output();
  }

  void TearDown() override {
    if (kubelet) {
      const std::vector<std::string> uids = DeleteAllPods();
      // A pod that had just ended may be gone before its sandbox is.
      EXPECT_TRUE(Await([this] {
        return Ctr({"-n", "k8s.io", "containers", "list", "-q"}).empty();
      }));
      for (const std::string& uid : uids)
        EXPECT_TRUE(Await([&uid] {
          return !std::filesystem::exists("/sys/fs/cgroup/devices/tenon/" + uid);
        })) << uid;
    }
    if (containerd) {
      containerd->Signal(SIGTERM);
      containerd->WaitForExit();
    }
  }

  std::string Socket() const { return tree.Real("/containerd.sock"); }
  std::string Ctr(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"/usr/bin/ctr", "-a", Socket()});
    Program ctr(*loop, std::move(arguments));
    EXPECT_EQ(ctr.WaitForExit().code, 0) << ctr.output();
    return ctr.output();
  }
  void StartContainerd() {
    // The native snapshotter needs no support of the kernel's; lowering an OOM score needs a
    // capability that a test in a container lacks.
    tree.File("/containerd.toml", "version = 2\nroot = \"" + tree.Real("/root") + "\"\nstate = \"" +
                                      tree.Real("/state") + "\"\n[grpc]\naddress = \"" + Socket() +
                                      "\"\n[plugins.\"io.containerd.grpc.v1.cri\"]\n"
                                      "sandbox_image = \"" +
                                      kPauseImage +
                                      "\"\nrestrict_oom_score_adj = true\n"
                                      "[plugins.\"io.containerd.grpc.v1.cri\".containerd]\n"
                                      "snapshotter = \"native\"\n");
    containerd = std::make_unique<Program>(
        *loop, std::vector<std::string>{"/usr/bin/containerd", "--config",
                                        tree.Real("/containerd.toml"), "--log-level", "warn"});
    ASSERT_TRUE(Await([this] { return ::access(Socket().c_str(), F_OK) == 0; }))
        << containerd->output();
  }
  void ImportImages() {
    for (const char* directory : {"bin", "proc", "dev", "sys", "tmp", "run"})
      tree.Directory("/busybox/" + std::string(directory));
    std::filesystem::copy("/bin/busybox", tree.Real("/busybox/bin/busybox"));
    tree.Link("/busybox/bin/sh", "busybox");
    tree.Directory("/pause");
    std::filesystem::copy(TENON_PAUSE_PATH, tree.Real("/pause/pause"));
    Import("/busybox", kImage, {});
    Import("/pause", kPauseImage, {"/pause"});
  }
  void Import(const std::string& rootfs, const std::string& name,
              const std::vector<std::string>& entrypoint) {
    std::vector<std::string> argv = {"/usr/bin/python3", OCI_IMAGE_PATH, tree.Real(rootfs), name,
                                     tree.Real("/image.tar")};
    argv.insert(argv.end(), entrypoint.begin(), entrypoint.end());
    Program pack(*loop, argv);
    ASSERT_EQ(pack.WaitForExit().code, 0) << pack.output();
    Ctr({"-n", "k8s.io", "images", "import", tree.Real("/image.tar")});
  }
  bool AwaitOutput(const std::string& name, const std::string& text) {
    return Await([&] { return Output(name).find(text) != std::string::npos; });
  }
  static constexpr const char* kLimit = R"("example.com/device":1)";
};

TEST_F(ContainerdTest, ThePodOpensItsDeviceAndNoOther) {
  ASSERT_EQ(Submit("first",
                   "exec 3<>" + device +
                       " && echo opened; busybox mknod /dev/other c 10 232; (: </dev/other); "
                       "exec busybox sleep 1000",
                   kLimit),
            "Pending ");

  // 10:232 is not in the list that runc allows every container.
  ASSERT_TRUE(AwaitOutput("first", "/dev/other")) << kubelet->output() << containerd->output();
  EXPECT_THAT(Output("first"), AllOf(HasSubstr("opened\n"), HasSubstr("Operation not permitted")));
  ASSERT_TRUE(AwaitPhase("first", "Running"));
  const Value pod = Pod("first");
  EXPECT_THAT(TextAt(pod.At({"status", "containerStatuses"})->items()[0], {"containerID"}),
              StartsWith("containerd://"));
  EXPECT_THAT(Submit("second", "true", kLimit), HasSubstr("Requested: 1, Available: 0"));
}

TEST_F(ContainerdTest, ExitCodesAndOutputAreTheRuntimesAndDevicesAreFreeAfterwards) {
  ASSERT_EQ(Submit("first", "echo out; echo err >&2; exit 3", kLimit), "Pending ");

  ASSERT_TRUE(AwaitPhase("first", "Failed")) << kubelet->output();
  EXPECT_EQ(TextAt(State("first"), {"terminated", "exitCode"}), "3");
  EXPECT_EQ(TextAt(State("first"), {"terminated", "reason"}), "Error");
  Program logs(*loop, {TENON_PATH, "pod", "logs", "--kubelet-dir", Directory(), "first"});
  logs.WaitForExit();
  EXPECT_THAT(logs.output(), AllOf(HasSubstr("out\n"), HasSubstr("err\n")));
  EXPECT_EQ(Submit("second", "true", kLimit), "Pending ");
  EXPECT_TRUE(AwaitPhase("second", "Succeeded"));
}

TEST_F(ContainerdTest, ASidecarHasItsDeviceIsStartedAgainAndEndsAfterTheOthers) {
  ASSERT_EQ(SubmitWithSidecar("first", "(: <>" + device + ") && echo opened; exit 3",
                              "busybox sleep 2; exit 4", kLimit),
            "Pending ");
  ASSERT_TRUE(Await([this] { return Output("first", "side").find("opened") != std::string::npos; }))
      << kubelet->output() << containerd->output();
  EXPECT_TRUE(Await([this] {
    const Value pod = Pod("first");
    return TextAt(pod.At({"status", "initContainerStatuses"})->items()[0], {"restartCount"}) == "1";
  }));
  EXPECT_THAT(Submit("second", "true", kLimit), HasSubstr("Requested: 1, Available: 0"));
  EXPECT_TRUE(AwaitPhase("first", "Failed"));
  EXPECT_EQ(TextAt(State("first"), {"terminated", "exitCode"}), "4");
  EXPECT_EQ(Submit("third", "true", kLimit), "Pending ");
}

TEST_F(ContainerdTest, AnImageThatItLacksIsWaitedFor) {
  image = "tenon.local/none:1";
  ASSERT_EQ(Submit("first", "true", kLimit), "Pending ");

  EXPECT_TRUE(Await([this] {
    return TextAt(State("first"), {"waiting", "reason"}) == "ErrImageNeverPull";
  })) << kubelet->output();
}

TEST_F(ContainerdTest, KilledItFindsItsContainersAgainAndLearnsHowTheyEnded) {
  ASSERT_EQ(Submit("first", "echo started; exec busybox sleep 1000", kLimit), "Pending ");
  ASSERT_TRUE(AwaitOutput("first", "started"));
  ASSERT_TRUE(AwaitPhase("first", "Running"));
  ASSERT_EQ(Submit("second", "busybox sleep 1; exit 9", ""), "Pending ");
  ASSERT_TRUE(AwaitPhase("second", "Running"));

  KillKubelet();
  StartKubelet();

  ASSERT_TRUE(AwaitPhase("second", "Failed"));
  EXPECT_EQ(TextAt(State("second"), {"terminated", "exitCode"}), "9");
  EXPECT_TRUE(AwaitPhase("first", "Running"));
  ASSERT_TRUE(AwaitAllocatable("example.com/device", "1")) << tenond->output();
  EXPECT_THAT(Submit("third", "true", kLimit), HasSubstr("Requested: 1, Available: 0"));
}

}  // namespace
}  // namespace tenon
