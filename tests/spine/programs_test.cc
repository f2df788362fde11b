// The programs of a configuration around a device: who runs when, and what their failure means.

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "base/unique_fd.h"
#include "checkpoint/checkpoint.h"
#include "program/script_for_test.h"
#include "spine/spine_fixture.h"
#include "wire/messages.h"

namespace tenon::spine {
namespace {

using ::testing::HasSubstr;

struct ProgramsTest : SpineTest {
  /// A program that writes down when it ran and for what, and fails if there is a file NAME.fails.
  std::string Logging(const std::string& name) {
    return program::Script(tree, name,
                           "echo " + name + " $TENON_EVENT $TENON_DEVICE_ID >> " +
                               tree.Real("/log") + "\ntest ! -e " + tree.Real("/" + name) +
                               ".fails || { echo no luck >&2; exit 7; }");
  }
  void Start(const std::string& resources) {
    WriteConfig(resources);
    kubelet.ServePodResources(tree.Real("/pods.sock"), {});
    kubelet.Start();
    std::vector<std::string> arguments = Arguments();
    arguments.insert(arguments.end(), {"--allow-exec", tree.Real("/bin")});
    tenond = std::make_unique<TenondProcess>(*loop, arguments, tree.Real("/run/tenond.sock"));
  }
  /// PodResources lists a pod that has this device.
  void Hold(const std::string& id) {
    kubelet.ServePodResources(tree.Real("/pods.sock"),
                              {{"web", "shop", {{"main", {{kCounter, {id}, {}}}}}}});
  }
  std::string Log() const {
    std::ifstream file(tree.Real("/log"));
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  /// The error, or nothing.
  std::string Allocate(const std::string& id) {
    std::optional<rpc::Status> status;
    kubelet.Allocate(kCounter, {api::AllocateRequest{{id}}},
                     [&](rpc::Status s, const auto&) { status = std::move(s); });
    EXPECT_TRUE(RunUntil([&status] { return status.has_value(); }));
    return status->ok() ? "" : status->message;
  }
  std::string PreStart(const std::string& id) {
    std::optional<rpc::Status> status;
    kubelet.PreStart(kCounter, {id}, [&](rpc::Status s) { status = std::move(s); });
    EXPECT_TRUE(RunUntil([&status] { return status.has_value(); }));
    return status->ok() ? "" : status->message;
  }
  bool WaitForUnhealthy(size_t count) {
    return RunUntil([&] {
      const FakeKubelet::Plugin* plugin = kubelet.Find(kCounter);
      return plugin != nullptr && count == static_cast<size_t>(std::ranges::count(
                                               plugin->devices, std::string(api::kUnhealthy),
                                               &api::ListedDevice::health));
    });
  }
  std::string Counter(const std::string& more) {
    return "  - {name: counter, devices: [{virtual: {count: 2}}], " + more + "}\n";
  }

  std::unique_ptr<TenondProcess> tenond;
};

TEST_F(ProgramsTest, ADeviceIsCleanedAndInitialisedOnceForEachAllocation) {
  Start(Counter("onAllocate: [" + Logging("seed") + "], onRelease: [" + Logging("clean") + "]"));
  ASSERT_TRUE(WaitFor(kCounter, 2)) << tenond->log();

  // Nothing is known of it yet, so it is cleaned first.
  EXPECT_EQ("", Allocate("v-0")) << tenond->log();
  EXPECT_EQ("clean release v-0\nseed allocate v-0\n", Log());
  Hold("v-0");
  EXPECT_EQ("", Allocate("v-0"));
  EXPECT_EQ("clean release v-0\nseed allocate v-0\n", Log());

  // Its container has ended, and before that was seen it is asked for again.
  kubelet.ServePodResources(tree.Real("/pods.sock"), {});
  EXPECT_EQ("", Allocate("v-0"));
  EXPECT_EQ("clean release v-0\nseed allocate v-0\nclean release v-0\nseed allocate v-0\n", Log());
}

TEST_F(ProgramsTest, AReleaseIsSeenAndTheDeviceComesBackClean) {
  const checkpoint::Ids ids(std::vector<std::string>{"v-1"});
  checkpoint::Checkpoint books;
  books.entries =
      std::vector<checkpoint::Entry>{{.pod_uid = "1234",
                                      .container_name = "main",
                                      .resource_name = kCounter,
                                      .device_ids = std::map<int64_t, checkpoint::Ids>{{-1, ids}},
                                      .alloc_resp = wire::EncodeContainerAllocation({})}};
  tree.File("/plugins/kubelet_internal_checkpoint", checkpoint::Encode(books));
  tree.File("/clean.fails", "");

  // The pod of the checkpoint ended while tenond was not there.
  Start(Counter("onRelease: [" + Logging("clean") + "]"));
  ASSERT_TRUE(WaitForUnhealthy(1)) << tenond->log();
  // Before that it is being cleaned.
  const std::string reason =
      "not clean: device v-1: release: " + tree.Real("/bin/clean") + ": exit status 7: no luck";
  EXPECT_TRUE(RunUntil([&] {
    return tenond->Get("/api/v1/status").body.find(reason) != std::string::npos;
  })) << tenond->log();

  tree.Remove("/clean.fails");
  EXPECT_EQ("", Allocate("v-1"));
  EXPECT_TRUE(WaitForUnhealthy(0)) << tenond->log();
}

TEST_F(ProgramsTest, AFailureFailsTheAllocateByName) {
  Start(Counter("onAllocate: [" + Logging("seed") + "], onRelease: [" + Logging("clean") + "]"));
  ASSERT_TRUE(WaitFor(kCounter, 2)) << tenond->log();
  tree.File("/seed.fails", "");
  EXPECT_THAT(Allocate("v-0"), HasSubstr("device v-0: allocate: " + tree.Real("/bin/seed") +
                                         ": exit status 7: no luck"));

  tree.File("/clean.fails", "");
  EXPECT_THAT(Allocate("v-0"), HasSubstr("device v-0: release: "));
  EXPECT_EQ("clean release v-0\nseed allocate v-0\nclean release v-0\n", Log());
  EXPECT_THAT(Allocate("none"), HasSubstr("not offered"));
}

TEST_F(ProgramsTest, WhereHoldersCannotBeAskedNothingIsGivenAway) {
  WriteConfig(Counter("onRelease: [" + Logging("clean") + "]"));
  kubelet.Start();
  std::vector<std::string> arguments = Arguments();
  arguments.insert(arguments.end(), {"--allow-exec", tree.Real("/bin")});
  tenond = std::make_unique<TenondProcess>(*loop, arguments, tree.Real("/run/tenond.sock"));
  ASSERT_TRUE(WaitFor(kCounter, 2)) << tenond->log();

  EXPECT_THAT(Allocate("v-0"), HasSubstr("whether the devices are still held is not known"));
  EXPECT_EQ("", Log());
}

TEST_F(ProgramsTest, PreStartRunsBeforeTheContainerAndItsErrorReachesThePod) {
  Start(Counter("preStart: [" + Logging("start") + "]"));
  ASSERT_TRUE(WaitFor(kCounter, 2)) << tenond->log();
  EXPECT_TRUE(kubelet.Find(kCounter)->options.pre_start_required);

  EXPECT_EQ("", PreStart("v-1"));
  EXPECT_EQ("start prestart v-1\n", Log());
  tree.File("/start.fails", "");
  EXPECT_THAT(PreStart("v-1"), HasSubstr("exit status 7: no luck"));

  WriteConfig(Counter("prefer: packed"));
  EXPECT_TRUE(RunUntil([&] {
    return kubelet.Has(kCounter, 2) && !kubelet.Find(kCounter)->options.pre_start_required;
  })) << tenond->log();
}

TEST_F(ProgramsTest, AHealthProgramMakesDevicesUnhealthyAndHealthyAgain) {
  Start(Counter("health: {run: [" + Logging("ok") + "], every: 1}"));
  tree.File("/ok.fails", "");
  ASSERT_TRUE(WaitForUnhealthy(2)) << tenond->log();
  EXPECT_THAT(tenond->Get("/api/v1/status").body, HasSubstr("exit status 7: no luck"));

  tree.Remove("/ok.fails");

  EXPECT_TRUE(WaitForUnhealthy(0)) << tenond->log();
}

TEST_F(ProgramsTest, AProgramDoesNotOutliveADaemonThatIsKilled) {
  const std::string slow = program::Script(
      tree, "slow",
      "echo $$ > " + tree.Real("/pid.new") + "; mv " + tree.Real("/pid.new") + " " +
          tree.Real("/pid") + "; while :; do read line < " + tree.Real("/fifo") + "; done");
  ASSERT_EQ(0, ::mkfifo(tree.Real("/fifo").c_str(), 0600));
  Start(Counter("health: {run: [" + slow + "], timeout: 600}"));
  ASSERT_TRUE(RunUntil([this] { return std::filesystem::exists(tree.Real("/pid")); }));
  pid_t program = -1;
  std::ifstream(tree.Real("/pid")) >> program;
  // Its pidfd is readable when it has ended, whoever reaps it.
  base::UniqueFd ended(static_cast<int>(::syscall(SYS_pidfd_open, program, 0)));
  ASSERT_TRUE(ended.valid()) << program;
  bool has_ended = false;
  loop->WhenReadable(std::move(ended), [&has_ended](int) { has_ended = true; });

  // Not by Signal(), which reaches the group of the daemon.
  ::kill(tenond->pid(), SIGKILL);

  EXPECT_TRUE(RunUntil([&has_ended] { return has_ended; }));
  ::kill(program, SIGKILL);  // Should it live.
}

TEST_F(ProgramsTest, AHelperProgramTellsOfDevices) {
  const std::string list = program::Script(
      tree, "list", "echo '{\"tenon\": 1}'; echo '{\"id\": \"a\", \"paths\": [\"/dev/null\"]}'");

  Start("  - {name: counter, devices: [{command: [" + list + "]}]}\n");

  EXPECT_TRUE(WaitFor(kCounter, 1)) << tenond->log();
}

}  // namespace
}  // namespace tenon::spine
