#include "runtime/runc.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/unique_fd.h"
#include "host/host.h"
#include "host/temp_tree.h"

namespace tenon::runtime {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

constexpr std::chrono::seconds kLimit(20);

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Runs a scripted program in the place of runc.
struct ScriptedRuncTest : ::testing::Test {
  base::SystemClock clock;
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  host::TempTree tree;
  std::unique_ptr<host::Host> machine = *host::PosixHost::Open("/");

  std::string Program(const std::string& script) {
    tree.File("/runc", "#!/bin/sh\n" + script);
    std::filesystem::permissions(tree.Real("/runc"), std::filesystem::perms::owner_all);
    return tree.Real("/runc");
  }
  std::string CheckError(const std::string& program) {
    const auto checked = CheckRunc(*loop, program);
    return checked ? "" : checked.error().message();
  }
};

TEST_F(ScriptedRuncTest, ACommandThatAKilledKubeletLeftIsWaitedFor) {
  const std::string program = Program("read gone\n");
  const std::string state_dir = tree.Real("/state");
  std::array<int, 2> pipe{};
  ASSERT_EQ(0, ::pipe2(pipe.data(), O_CLOEXEC));
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(pipe[0], 0);
    ::execl(program.c_str(), program.c_str(), "--root", state_dir.c_str(), "delete", "x", nullptr);
    ::_exit(127);
  }
  base::UniqueFd rest(pipe[1]);
  ::close(pipe[0]);
  // Until it has become the program.
  while (ReadAll("/proc/" + std::to_string(pid) + "/cmdline").find("--root") == std::string::npos)
    loop->RunUntil([] { return false; }, std::chrono::milliseconds(1));

  auto late = AwaitOtherCommands(*loop, state_dir, std::chrono::milliseconds(20));
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().message(), HasSubstr("process " + std::to_string(pid)));
  EXPECT_TRUE(AwaitOtherCommands(*loop, tree.Real("/other"), std::chrono::milliseconds(20)));
  loop::TimerHandle end =
      loop->timers().After(std::chrono::milliseconds(50), [&] { rest.Reset(); });
  EXPECT_TRUE(AwaitOtherCommands(*loop, state_dir, kLimit));
  EXPECT_EQ(pid, ::waitpid(pid, nullptr, 0));
}

TEST_F(ScriptedRuncTest, ARuncThatIsMissingOldOrNoneIsRefusedWithThePackage) {
  EXPECT_THAT(CheckError("/nowhere/runc"),
              AllOf(HasSubstr("exec /nowhere/runc: No such file or directory"),
                    HasSubstr("install the package runc, 1.1 or newer")));
  EXPECT_THAT(CheckError(Program("echo runc version 1.0.3+ds1")),
              AllOf(HasSubstr("is version 1.0"), HasSubstr("install the package runc")));
  EXPECT_THAT(CheckError(Program("echo something else")), HasSubstr("is no runc that works"));
  EXPECT_THAT(CheckError(Program("exit 3")), HasSubstr("is no runc that works"));
}

TEST_F(ScriptedRuncTest, TheVersionsOfDebian12And13AreTaken) {
  EXPECT_EQ(CheckError(Program("echo runc version 1.1.5+ds1; echo commit: x")), "");
  EXPECT_EQ(CheckError(Program("echo runc version 1.1.15+ds1")), "");
  EXPECT_EQ(CheckError(Program("echo runc version 1.3.0")), "");
}

TEST_F(ScriptedRuncTest, AProgramThatCannotBeStartedIsToldInALaterTurn) {
  Runc runc(*loop, *machine, {.program = "/nowhere/runc", .state_dir = tree.Real("/state")});
  std::optional<std::string> why;

  const auto call = runc.Start({.name = "runc://x", .process = {}},
                               [&](const Result<void>& r) { why = r.error().message(); });

  EXPECT_FALSE(why);
  ASSERT_TRUE(loop->RunUntil([&] { return why.has_value(); }, kLimit));
  EXPECT_EQ(*why, "exec /nowhere/runc: No such file or directory");
}

TEST_F(ScriptedRuncTest, EverythingOfOneContainerIsDeletedAndNothingOfOthers) {
  for (const char* id : {"u.main", "u.main.1", "u.main.2", "u.main2.1", "w.main.1"})
    tree.Directory("/state/" + std::string(id));
  Runc runc(*loop, *machine,
            {.program = Program("rmdir \"$2/$7\""), .state_dir = tree.Real("/state")});
  std::optional<Result<void>> result;

  const auto call = runc.Delete("u.main", [&](const Result<void>& r) { result.emplace(r); });
  ASSERT_TRUE(loop->RunUntil([&] { return result.has_value(); }, kLimit));

  EXPECT_TRUE(*result);
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(tree.Real("/state")))
    left.push_back(entry.path().filename());
  EXPECT_THAT(left, UnorderedElementsAre("u.main2.1", "w.main.1"));
}

TEST_F(ScriptedRuncTest, ADeletionThatFailsIsNotGoneOnWith) {
  for (const char* id : {"u.main.1", "u.main.2"})
    tree.Directory("/state/" + std::string(id));
  Runc runc(*loop, *machine,
            {.program = Program("echo it broke >&2; exit 1"), .state_dir = tree.Real("/state")});
  std::optional<std::string> why;

  const auto call =
      runc.Delete("u.main", [&](const Result<void>& r) { why = r ? "" : r.error().message(); });

  ASSERT_TRUE(loop->RunUntil([&] { return why.has_value(); }, kLimit));
  EXPECT_EQ(*why, "runc delete: it broke");
}

TEST_F(ScriptedRuncTest, WhatCannotBeUnderstoodIsAnError) {
  Runc runc(*loop, *machine,
            {.program = Program("echo '{\"status\":\"odd\"}'"), .state_dir = "/s"});
  std::optional<std::string> why;

  const auto call =
      runc.Query({.name = "runc://x", .process = {}},
                 [&](const Result<ContainerPresence>& r) { why = r.error().message(); });

  ASSERT_TRUE(loop->RunUntil([&] { return why.has_value(); }, kLimit));
  EXPECT_EQ(*why, "runc state: unknown status \"odd\"");
}

/// Runs the real one, in containers of busybox.
struct RuncTest : ::testing::Test {
  base::SystemClock clock;
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  host::TempTree tree;
  std::unique_ptr<host::Host> machine = *host::PosixHost::Open("/");
  std::unique_ptr<Runc> runc;
  pod::Container container{.name = "main", .image = "image"};
  ContainerAllocation allocation;
  const std::string uid = "tenon-test-" + std::to_string(::getpid());
  ContainerRuntime::Call call;
  ContainerIdentity last{.name = "runc://none", .process = {}};  ///< That Create() made.
  std::unique_ptr<ContainerWatch> watch;
  std::optional<ContainerExit> exit;

  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    if (::access("/bin/busybox", X_OK) != 0) GTEST_SKIP() << "needs the package busybox-static";
    if (auto found = CheckRunc(*loop, "/usr/sbin/runc"); !found) {
      GTEST_SKIP() << found.error().message();
    }
    ASSERT_TRUE(AdoptOrphans());
    for (const char* directory : {"/image/proc", "/image/dev", "/image/sys", "/image/tmp",
                                  "/image/run", "/image/bin", "/bundle"}) {
      tree.Directory(directory);
    }
    std::filesystem::copy("/bin/busybox", tree.Real("/image/bin/busybox"));
    tree.Link("/image/bin/sh", "busybox");
    runc = std::make_unique<Runc>(
        *loop, *machine, Runc::Options{.state_dir = tree.Real("/state"), .image_dir = tree.root()});
  }
  void TearDown() override {
    if (!runc) return;
    EXPECT_TRUE(Delete());
    RemoveEmptyCgroups("/tenon/" + uid);
    EXPECT_FALSE(std::filesystem::exists("/sys/fs/cgroup/devices/tenon/" + uid));
    EXPECT_FALSE(std::filesystem::exists("/sys/fs/cgroup/tenon/" + uid));
    ::prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
  }

  template <class T, class Begin>
  Result<T> Await(const Begin& begin) {
    std::optional<Result<T>> result;
    call = begin([&result](Result<T> r) { result.emplace(std::move(r)); });
    if (!loop->RunUntil([&result] { return result.has_value(); }, kLimit)) {
      return Error(Code::kDeadlineExceeded, "no answer");
    }
    return *std::move(result);
  }
  Result<ContainerIdentity> Create(const std::string& script) {
    container.command = {"/bin/sh", "-c", script};
    const pod::Pod pod{.name = "test", .uid = uid};
    auto created = Await<ContainerIdentity>([&](auto done) {
      return runc->Create({.id = uid + ".main",
                           .pod = pod,
                           .container = container,
                           .allocation = allocation,
                           .directory = tree.Real("/bundle"),
                           .log_path = tree.Real("/output")},
                          done);
    });
    if (created) last = *created;
    return created;
  }
  void Watch(const ContainerIdentity& identity) {
    watch = *runc->Watch(identity, [this](const ContainerExit& e) { exit = e; });
  }
  Result<void> Start() {
    return Await<void>([this](auto done) { return runc->Start(last, done); });
  }
  Result<void> Delete() {
    return Await<void>([this](auto done) { return runc->Delete(uid + ".main", done); });
  }
  ContainerPresence Query() {
    return *Await<ContainerPresence>([this](auto done) { return runc->Query(last, done); });
  }
  /// Runs `script` to its end; returns what it wrote.
  std::string Run(const std::string& script) {
    const auto identity = Create(script);
    EXPECT_TRUE(identity) << identity.error().message();
    if (!identity) return "";
    Watch(*identity);
    EXPECT_TRUE(Start());
    EXPECT_TRUE(loop->RunUntil([this] { return exit.has_value(); }, kLimit));
    return ReadAll(tree.Real("/output"));
  }
};

TEST_F(RuncTest, AContainerRunsAndItsExitCodeAndOutputAreSeen) {
  EXPECT_EQ(Run("echo out; echo err >&2; exit 7"), "out\nerr\n");

  EXPECT_EQ(exit->exit_code, 7);
  EXPECT_EQ(Query(), ContainerPresence::kStopped);
  EXPECT_TRUE(Delete());
  EXPECT_EQ(Query(), ContainerPresence::kAbsent);
}

TEST_F(RuncTest, PresenceFollowsTheContainer) {
  EXPECT_EQ(Query(), ContainerPresence::kAbsent);
  const auto identity = Create("exec busybox sleep 1000");
  ASSERT_TRUE(identity) << identity.error().message();
  EXPECT_THAT(identity->name, MatchesRegex("runc://" + uid + "\\.main\\.[0-9a-f]{8}"));
  Watch(*identity);
  EXPECT_EQ(Query(), ContainerPresence::kCreated);

  ASSERT_TRUE(Start());
  EXPECT_EQ(Query(), ContainerPresence::kRunning);

  watch->Kill();
  ASSERT_TRUE(loop->RunUntil([this] { return exit.has_value(); }, kLimit));
  EXPECT_EQ(exit->exit_code, 137);
}

TEST_F(RuncTest, ALateCommandForAContainerDoesNotTouchItsSuccessor) {
  ASSERT_TRUE(Create("exec busybox sleep 1000"));
  const ContainerIdentity first = last;
  ASSERT_TRUE(Delete());
  ASSERT_TRUE(Create("exec busybox sleep 1000"));
  ASSERT_TRUE(Start());
  Watch(last);

  std::optional<process::ChildExit> late;
  const auto child =
      process::Child::Start(*loop,
                            {.argv = {"/usr/sbin/runc", "--root", tree.Real("/state"), "delete",
                                      "--force", RuntimeId(first)}},
                            [&late](process::ChildExit e) { late = std::move(e); });
  ASSERT_TRUE(loop->RunUntil([&late] { return late.has_value(); }, kLimit));

  EXPECT_NE(first.name, last.name);
  EXPECT_EQ(Query(), ContainerPresence::kRunning);
  EXPECT_FALSE(exit);
}

TEST_F(RuncTest, WhatAKilledCreateLeftOfAContainerGoesWithIt) {
  ASSERT_TRUE(Create("exec busybox sleep 1000"));
  const ContainerIdentity forgotten = last;
  ASSERT_TRUE(Create("exec busybox sleep 1000"));

  ASSERT_TRUE(Delete());

  EXPECT_EQ(Query(), ContainerPresence::kAbsent);
  last = forgotten;
  EXPECT_EQ(Query(), ContainerPresence::kAbsent);
}

TEST_F(RuncTest, AProgramThatIsNotThereIsAnErrorInRuncsWords) {
  container.args = {};
  ASSERT_TRUE(Create(""));
  ASSERT_TRUE(Delete());
  std::filesystem::remove(tree.Real("/image/bin/sh"));

  const auto missing = Create("");

  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message(), AllOf(StartsWith("runc create failed: "),
                                               HasSubstr("/bin/sh"), HasSubstr("no such file")));
}

TEST_F(RuncTest, WhatSomebodyCanMendIsToldApart) {
  allocation.device_nodes = {{"/dev/x", "/dev/gone", "rw"}};
  EXPECT_EQ(Create("").error().code(), Code::kInvalidArgument);

  container.image = "none";
  EXPECT_EQ(Create("").error().code(), Code::kNotFound);
}

TEST_F(RuncTest, DeletingWhatIsAbsentIsFine) {
  EXPECT_TRUE(Delete());
}

TEST_F(RuncTest, TheImageIsReadOnlyAndTmpAndRunAreNot) {
  EXPECT_EQ(Run("echo x >/x || echo read-only; echo x >/tmp/x && echo x >/run/x && echo written"),
            "/bin/sh: can't create /x: Read-only file system\nread-only\nwritten\n");
}

TEST_F(RuncTest, TheContainerHasTheDeviceThatItWasGivenAndNoOther) {
  struct stat st {};
  if (::stat("/dev/fuse", &st) != 0) GTEST_SKIP() << "needs /dev/fuse";
  allocation.device_nodes = {{"/dev/given", "/dev/fuse", "rw"}};

  // 10:232 is not in the list that runc allows every container.
  const std::string output =
      Run("exec 3<>/dev/given && echo opened; busybox mknod /dev/other c 10 232; : </dev/other");

  EXPECT_THAT(output, AllOf(HasSubstr("opened\n"), HasSubstr("Operation not permitted")));
}

TEST_F(RuncTest, ADeviceGivenForReadingIsNotOpenedForWriting) {
  struct stat st {};
  if (::stat("/dev/fuse", &st) != 0) GTEST_SKIP() << "needs /dev/fuse";
  allocation.device_nodes = {{"/dev/given", "/dev/fuse", "r"}};

  const std::string output = Run(": </dev/given && echo read; : >/dev/given");

  EXPECT_THAT(output, AllOf(HasSubstr("read\n"), HasSubstr("Operation not permitted")));
}

TEST_F(RuncTest, TheContainerSeesNoProcessAndNoNetworkOfTheMachine) {
  const std::string output =
      Run("echo pid $$$$; busybox ls /sys/class/net; busybox hostname; ls /sys/fs/cgroup");

  EXPECT_THAT(output, HasSubstr("pid 1\nlo\ntest\n"));
}

}  // namespace
}  // namespace tenon::runtime
