#include "runtime/process_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace tenon::runtime {
namespace {

using ::testing::HasSubstr;

struct ProcessWatchTest : ::testing::Test {
  base::SystemClock clock;
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  std::optional<ProcessExit> exit;
  pid_t to_reap = 0;

  ~ProcessWatchTest() override {
    if (to_reap == 0) return;
    ::kill(to_reap, SIGKILL);
    ::waitpid(to_reap, nullptr, 0);
  }

  /// A child that waits until it is killed, or exits at once with `code`.
  static pid_t Spawn(std::optional<int> code = std::nullopt) {
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    if (code) ::_exit(*code);
    for (;;)
      ::pause();
  }
  std::unique_ptr<ProcessWatch> Watch(const ProcessIdentity& process) {
    auto watch = ProcessWatch::Open(*loop, process, [this](ProcessExit e) { exit = e; });
    EXPECT_TRUE(watch) << watch.error().message();
    return *std::move(watch);
  }
  bool WaitForExit() {
    return loop->RunUntil([this] { return exit.has_value(); }, std::chrono::seconds(10));
  }
};

TEST_F(ProcessWatchTest, TellsTheExitCodeOfAChildAndReapsIt) {
  const pid_t pid = Spawn(7);
  const auto watch = Watch(*IdentifyProcess(pid));

  ASSERT_TRUE(WaitForExit());

  EXPECT_EQ(exit->exit_code, 7);
  EXPECT_EQ(exit->signal, 0);
  EXPECT_EQ(::waitpid(pid, nullptr, 0), -1);
}

TEST_F(ProcessWatchTest, ASignalBecomesTheCodeThatAShellTells) {
  const pid_t pid = Spawn();
  const auto watch = Watch(*IdentifyProcess(pid));

  watch->Kill(SIGKILL);
  ASSERT_TRUE(WaitForExit());

  EXPECT_EQ(exit->exit_code, 137);
  EXPECT_EQ(exit->signal, SIGKILL);
  watch->Kill(SIGKILL);  // Harmless afterwards.
}

TEST_F(ProcessWatchTest, AnotherStartTimeIsAnotherProcess) {
  to_reap = Spawn();
  ProcessIdentity process = *IdentifyProcess(to_reap);
  ++process.start_ticks;

  const auto watch = ProcessWatch::Open(*loop, process, [](ProcessExit) {});

  EXPECT_EQ(watch.error().code(), Code::kNotFound);
  EXPECT_THAT(watch.error().message(), HasSubstr("another process"));
}

TEST_F(ProcessWatchTest, AProcessThatIsGoneIsNotFound) {
  const pid_t pid = Spawn(0);
  const ProcessIdentity process = *IdentifyProcess(pid);
  ::waitpid(pid, nullptr, 0);

  const auto watch = ProcessWatch::Open(*loop, process, [](ProcessExit) {});

  EXPECT_EQ(watch.error().code(), Code::kNotFound);
  EXPECT_EQ(IdentifyProcess(pid).error().code(), Code::kNotFound);
}

TEST_F(ProcessWatchTest, DestroyedItLeavesTheProcessAlone) {
  to_reap = Spawn();

  Watch(*IdentifyProcess(to_reap)).reset();

  EXPECT_TRUE(IdentifyProcess(to_reap));
  EXPECT_FALSE(exit);
}

TEST_F(ProcessWatchTest, AnOrphanThatWasAdoptedIsReapedWithItsCode) {
  ASSERT_TRUE(AdoptOrphans());
  int channel[2];
  ASSERT_EQ(::pipe(channel), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {  // Starts the grandchild, tells its pid and leaves it behind.
    const pid_t orphan = ::fork();
    if (orphan == 0) {
      for (;;)
        ::pause();
    }
    (void)!::write(channel[1], &orphan, sizeof orphan);
    ::_exit(0);
  }
  pid_t orphan = 0;
  ASSERT_EQ(::read(channel[0], &orphan, sizeof orphan), static_cast<ssize_t>(sizeof orphan));
  ::waitpid(parent, nullptr, 0);
  const auto watch = Watch(*IdentifyProcess(orphan));

  watch->Kill(SIGTERM);
  ASSERT_TRUE(WaitForExit());

  EXPECT_EQ(exit->exit_code, 128 + SIGTERM);
  ::prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
  ::close(channel[0]);
  ::close(channel[1]);
}

TEST_F(ProcessWatchTest, TheCallbackMayDestroyTheWatch) {
  const pid_t pid = Spawn(0);
  std::unique_ptr<ProcessWatch> watch;
  bool called = false;
  watch = *ProcessWatch::Open(*loop, *IdentifyProcess(pid), [&](ProcessExit) {
    watch.reset();
    called = true;
  });

  EXPECT_TRUE(loop->RunUntil([&] { return called; }, std::chrono::seconds(10)));
}

}  // namespace
}  // namespace tenon::runtime
