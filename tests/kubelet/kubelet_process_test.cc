#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "kubelet_process_fixture.h"
#include "runtime/runc.h"

namespace tenon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

TEST_F(KubeletProcessTest, APluginThatKnowsOnlyTheKubeletsDirectoryFindsOursThere) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const char* const socket = "/var/lib/kubelet/device-plugins/kubelet.sock";
  const bool machine_has_one = std::filesystem::exists(socket);
  StartKubelet();
  tree.File(
      "/config.yaml",
      "domain: example.com\nresources:\n  - {name: dongle, devices: [{virtual: {count: 3}}]}\n");

  // tenond, as most plugins, takes /var/lib/kubelet unless told otherwise.
  tenond = std::make_unique<Program>(
      *loop, std::vector<std::string>{TENON_PATH, "plugin", "--kubelet-dir", Directory(), "--",
                                      TENOND_PATH, "--config", tree.Real("/config.yaml"),
                                      "--control", tree.Real("/tenond.sock")});

  EXPECT_TRUE(AwaitAllocatable("example.com/dongle", "3")) << tenond->output();
  EXPECT_EQ(std::filesystem::exists(socket), machine_has_one);
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
    if (const std::string why = UseRunc(); !why.empty()) GTEST_SKIP() << why;
    // None of them is in the list that runc allows every container.
    for (const char* path : {"/dev/fuse", "/dev/loop-control", "/dev/vhost-net", "/dev/hwrng"}) {
      if (::access(path, F_OK) == 0) device = path;
      if (!device.empty()) break;
    }
    if (device.empty()) GTEST_SKIP() << "needs a device node such as /dev/fuse";
    StartKubelet();
    StartTenond("  - name: device\n    devices: [{path: " + device + "}]\n");
    ASSERT_TRUE(AwaitAllocatable("example.com/device", "1")) << tenond->output();
  }
  void TearDown() override {
    if (!kubelet) return;
    const std::vector<std::string> uids = DeleteAllPods();
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
  /// What runc calls the pod's container.
  std::string IdOf(const std::string& name) {
    const Value pod = Pod(name);
    return TextAt(pod.At({"status", "containerStatuses"})->items()[0], {"containerID"})
        .substr(std::string("runc://").size());
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

TEST_F(ContainerTest, ADeviceThatComesByCdiOnlyIsOpenedAndNoOther) {
  tenond->Signal(SIGKILL);
  tenond->WaitForExit();
  StartTenond("  - name: cdi\n    cdi: only\n    devices: [{path: " + device +
              ", mountPath: /dev/by-cdi}]\n");
  ASSERT_TRUE(AwaitAllocatable("example.com/cdi", "1")) << tenond->output();

  ASSERT_EQ(Submit("first",
                   "exec 3<>/dev/by-cdi && echo opened $TENON_EXAMPLE_COM_CDI_PATHS; "
                   "busybox mknod /dev/other c 10 232; (: </dev/other); exec busybox sleep 1000",
                   R"("example.com/cdi":1)"),
            "Pending ");

  ASSERT_TRUE(AwaitOutput("first", "/dev/other")) << kubelet->output();
  EXPECT_THAT(Output("first"),
              AllOf(HasSubstr("opened /dev/by-cdi\n"), HasSubstr("Operation not permitted")));
  EXPECT_THAT(LinesWith(tree.Real("/cdi/tenon-example.com_cdi.json"), "hostPath"),
              HasSubstr(device));
}

TEST_F(ContainerTest, RunBringsItsPluginAlong) {
  tree.File(
      "/extra.yaml",
      "domain: extra.com\nresources:\n  - {name: dongle, devices: [{virtual: {count: 1}}]}\n");

  Program run(*loop, {TENON_PATH, "run", "--kubelet-dir", Directory(), "--image", "busybox",
                      "--limits", "extra.com/dongle=1", "--plugin",
                      std::string(TENOND_PATH) + " --config " + tree.Real("/extra.yaml") +
                          " --control " + tree.Real("/extra.sock"),
                      "--", "/bin/sh", "-c", "echo ids $TENON_EXTRA_COM_DONGLE_IDS; exit 4"});

  EXPECT_EQ(run.WaitForExit().code, 4) << run.output();
  EXPECT_THAT(run.output(), HasSubstr("ids v-0\n"));
  EXPECT_TRUE(AwaitAllocatable("extra.com/dongle", "0"));
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

TEST_F(ContainerTest, ASidecarKeepsItsDeviceOverARestartAndEndsAfterTheOthers) {
  ASSERT_EQ(SubmitWithSidecar("first",
                              "trap 'echo told; exit 0' TERM; exec 3<>" + device +
                                  "; echo opened; while :; do busybox sleep 0.02; done",
                              "while ! [ -e /tmp/end ]; do busybox sleep 0.02; done", kLimit),
            "Pending ");
  ASSERT_TRUE(AwaitPhase("first", "Running")) << kubelet->output();
  ASSERT_TRUE(Await([this] { return Output("first", "side") == "opened\n"; }));
  const std::string before = TextAt(SidecarState("first"), {"running", "startedAt"});
  ASSERT_TRUE(AwaitRecord("first", before));

  KillKubelet();
  StartKubelet();
  ASSERT_TRUE(AwaitAllocatable("example.com/device", "1")) << tenond->output();
  ASSERT_TRUE(AwaitPhase("first", "Running"));
  EXPECT_EQ(TextAt(SidecarState("first"), {"running", "startedAt"}), before);
  EXPECT_THAT(Submit("second", "true", kLimit), HasSubstr("Requested: 1, Available: 0"));

  Program end(*loop, {"/usr/sbin/runc", "--root", Directory() + "/runc", "exec", IdOf("first"),
                      "/bin/busybox", "touch", "/tmp/end"});
  EXPECT_EQ(end.WaitForExit().code, 0) << end.output();
  // No kubelet but the one that started them sees their exit codes.
  EXPECT_TRUE(AwaitPhase("first", "Failed")) << ToJson(Pod("first"));
  EXPECT_EQ(Output("first", "side"), "opened\ntold\n");
  EXPECT_EQ(Submit("third", "true", kLimit), "Pending ");
  EXPECT_TRUE(AwaitPhase("third", "Succeeded"));
}

TEST_F(ContainerTest, AContainerThatEndsWhileItIsDownIsNoted) {
  ASSERT_EQ(Submit("first", "exec busybox sleep 1000", kLimit), "Pending ");
  ASSERT_TRUE(AwaitPhase("first", "Running"));
  const std::string id = IdOf("first");

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
