#include "process/child.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <thread>

#include "base/strings.h"
#include "base/unique_fd.h"

namespace tenon::process {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::StartsWith;

size_t OpenDescriptors() {
  auto all = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

struct ChildTest : ::testing::Test {
  ~ChildTest() override {
    child.reset();
    // Nothing that a test started is left, not even a zombie.
    EXPECT_TRUE(Poll([] { return ::waitpid(-1, nullptr, WNOHANG) < 0; }));
  }
  /// Waits for what the loop is not told of.
  bool Poll(const std::function<bool()>& holds) {
    base::MonotonicTime end = clock.Now() + seconds(5);
    while (!holds() && clock.Now() < end)
      loop->RunUntil([] { return false; }, milliseconds(2));
    return holds();
  }
  static ChildOptions Shell(const std::string& script) {
    return {.argv = {"/bin/sh", "-c", script}};
  }
  Result<void> Start(ChildOptions options) {
    TENON_TRY(child, Child::Start(*loop, std::move(options), [this](ChildExit e) { exit = e; }));
    return {};
  }
  ChildExit Run(ChildOptions options) {
    auto started = Start(std::move(options));
    EXPECT_TRUE(started) << started.error().message();
    EXPECT_TRUE(loop->RunUntil([this] { return exit.has_value(); }, seconds(10)));
    return exit.value_or(ChildExit{});
  }
  static bool Lives(pid_t pid) { return ::kill(pid, 0) == 0; }
  /// Like Lives(), but false for a zombie that somebody else has to reap.
  static bool Runs(pid_t pid) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    return std::getline(stat, text) && text.find(") Z") == std::string::npos;
  }

  base::SystemClock clock;
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  std::unique_ptr<Child> child;
  std::optional<ChildExit> exit;
};

TEST_F(ChildTest, OutputAndErrorsOfAProgramThatEndsAtOnceAreKept) {
  ChildExit got = Run(Shell("echo out; echo err >&2"));

  EXPECT_TRUE(got.ok());
  EXPECT_EQ("out\n", got.output);
  EXPECT_EQ("err\n", got.errors);
  EXPECT_EQ("exit status 0", got.Describe());
}

TEST_F(ChildTest, AnExitStatusIsToldAndIsNotOk) {
  ChildExit got = Run(Shell("exit 3"));

  EXPECT_FALSE(got.ok());
  EXPECT_EQ(3, got.code);
  EXPECT_EQ("exit status 3", got.Describe());
}

TEST_F(ChildTest, TheSignalThatEndedAProgramIsTold) {
  ChildExit got = Run(Shell("kill -TERM $$"));

  EXPECT_EQ(-1, got.code);
  EXPECT_EQ(SIGTERM, got.signal);
  EXPECT_EQ("killed by signal 15 (Terminated)", got.Describe());
}

TEST_F(ChildTest, AMissingProgramIsAnErrorOfStartAndLeavesNothing) {
  size_t before = OpenDescriptors();

  auto started = Start({.argv = {"/none/program"}});

  ASSERT_FALSE(started);
  EXPECT_EQ("exec /none/program: No such file or directory", started.error().message());
  EXPECT_EQ(Code::kNotFound, started.error().code());
  EXPECT_EQ(before, OpenDescriptors());
}

TEST_F(ChildTest, AFileThatCannotBeExecutedIsAnErrorOfStart) {
  auto started = Start({.argv = {"/etc/passwd"}});

  ASSERT_FALSE(started);
  EXPECT_EQ("exec /etc/passwd: Permission denied", started.error().message());
}

TEST_F(ChildTest, AFileInNoKnownFormatIsNotGivenToAShell) {
  std::string path = std::filesystem::temp_directory_path() / ("tenon-" + std::to_string(getpid()));
  std::ofstream(path) << "echo never\n";
  ::chmod(path.c_str(), 0700);

  auto started = Start({.argv = {path}});
  std::filesystem::remove(path);

  ASSERT_FALSE(started);
  EXPECT_EQ("exec " + path + ": Exec format error", started.error().message());
}

TEST_F(ChildTest, AMissingWorkingDirectoryIsNotTakenForAMissingProgram) {
  ChildOptions options = Shell("true");
  options.working_directory = "/none";

  auto started = Start(options);

  ASSERT_FALSE(started);
  EXPECT_EQ("open working directory /none: No such file or directory", started.error().message());
}

TEST_F(ChildTest, WhatExecCannotTakeIsRefused) {
  auto refused = [&](ChildOptions options) {
    auto started = Start(std::move(options));
    return started ? "started" : started.error().message();
  };
  ChildOptions bad_name = Shell("true");
  bad_name.env = {{"A=B", "x"}};
  ChildOptions zero_byte = Shell(std::string("a\0b", 3));

  EXPECT_EQ("exec: no program", refused({}));
  EXPECT_EQ("exec sh: not an absolute path", refused({.argv = {"sh"}}));
  EXPECT_EQ("exec /bin/sh: zero byte in an argument", refused(zero_byte));
  EXPECT_EQ("exec /bin/sh: bad environment variable A=B", refused(bad_name));
}

TEST_F(ChildTest, TheEnvironmentIsExactlyWhatWasGiven) {
  ::setenv("TENON_OURS", "leaks", 1);
  ChildOptions options{.argv = {"/usr/bin/env"}};
  options.env = {{"A", "1"}, {"B", "two words"}};

  EXPECT_EQ("A=1\nB=two words\n", Run(options).output);
}

TEST_F(ChildTest, TheWorkingDirectoryIsSet) {
  ChildOptions options = Shell("pwd");
  options.working_directory = "/usr";

  EXPECT_EQ("/usr\n", Run(options).output);
}

TEST_F(ChildTest, NoDescriptorOfOursIsOpenInTheChild) {
  base::UniqueFd leak(::open("/dev/null", O_RDONLY));  // Not O_CLOEXEC, as a library might.
  base::UniqueFd high(::fcntl(leak.get(), F_DUPFD, 500));
  ASSERT_TRUE(high.valid());

  // The shell expands the pattern by reading the directory itself, through a descriptor of its own.
  ChildExit got = Run(Shell("for fd in /proc/$$/fd/*; do test -e $fd && echo ${fd##*/}; done"));

  EXPECT_EQ("0\n1\n2\n", got.output);
}

TEST_F(ChildTest, SignalsAreNeitherBlockedNorIgnoredInTheChild) {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  auto old_handler = ::signal(SIGPIPE, SIG_IGN);

  ChildExit got = Run(Shell("sed -nE 's/^Sig(Blk|Ign):\\t/0x/p' /proc/self/status"));

  ::signal(SIGPIPE, old_handler);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  auto masks = base::Split(got.output, '\n');
  ASSERT_EQ(3U, masks.size());
  constexpr uint64_t kStandardSignals = 0x7fffffff;  // glibc ignores two of its own above them.
  EXPECT_EQ(0U, std::stoull(std::string(masks[0]), nullptr, 16) & kStandardSignals);
  EXPECT_EQ(0U, std::stoull(std::string(masks[1]), nullptr, 16) & kStandardSignals);
}

TEST_F(ChildTest, TheChildLeadsAProcessGroupOfItsOwn) {
  ASSERT_TRUE(Start({.argv = {"/bin/sleep", "1000"}}));

  EXPECT_EQ(child->pid(), ::getpgid(child->pid()));
}

TEST_F(ChildTest, InputIsGivenAndThenEnds) {
  ChildOptions options = Shell("cat; echo end");
  options.input = "text\n";

  EXPECT_EQ("text\nend\n", Run(options).output);
}

TEST_F(ChildTest, WithoutInputStandardInputIsEmpty) {
  EXPECT_EQ("end\n", Run(Shell("cat; echo end")).output);
}

TEST_F(ChildTest, InputLargerThanAPipeIsGivenWhole) {
  ChildOptions options = Shell("wc -c");
  options.input = std::string(300000, 'x');

  EXPECT_THAT(Run(options).output, StartsWith("300000"));
}

TEST_F(ChildTest, AChildThatReadsNoInputDoesNotHurtUs) {
  // SIGPIPE has its default action here: the wrong write would end this process.
  ChildOptions options = Shell("exec <&-; sleep 0.05; exit 4");
  options.input = std::string(300000, 'x');

  EXPECT_EQ(4, Run(options).code);
}

TEST_F(ChildTest, OutputOverItsLimitIsDroppedAndTheChildToldNothing) {
  ChildOptions options = Shell("head -c 1000000 /dev/zero; echo err >&2; exit 0");
  options.max_output_bytes = 1000;

  ChildExit got = Run(options);

  EXPECT_TRUE(got.ok());
  EXPECT_EQ(1000U, got.output.size());
  EXPECT_EQ("err\n", got.errors);
  EXPECT_TRUE(got.output_cut);
}

TEST_F(ChildTest, OutputThatFillsItsLimitIsNotCut) {
  ChildOptions options = Shell("printf 12345");
  options.max_output_bytes = 5;

  ChildExit got = Run(options);

  EXPECT_EQ("12345", got.output);
  EXPECT_FALSE(got.output_cut);
}

TEST_F(ChildTest, OnOutputGetsAllBytesByStream) {
  std::map<int, std::string> got;
  ChildOptions options = Shell("head -c 200000 /dev/zero; echo err >&2");
  options.max_output_bytes = 10;
  options.on_output = [&](int stream, std::string_view bytes) { got[stream].append(bytes); };

  ChildExit ended = Run(options);

  EXPECT_EQ(200000U, got[1].size());
  EXPECT_EQ("err\n", got[2]);
  EXPECT_EQ("", ended.output);
  EXPECT_FALSE(ended.output_cut);
}

TEST_F(ChildTest, OutputAndErrorsAreAppendedToAFileAndNotKept) {
  const std::string path = ::testing::TempDir() + "child_output_" + std::to_string(::getpid());
  ChildOptions first = Shell("echo before");
  first.output_path = path;
  Run(std::move(first));
  exit.reset();
  ChildOptions options = Shell("echo out; echo err >&2; [ ! -p /dev/stdout ] && echo no pipe");
  options.output_path = path;

  ChildExit result = Run(std::move(options));

  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(text, "before\nout\nerr\nno pipe\n");
  struct stat st {};
  EXPECT_EQ(::stat(path.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0600u);
  EXPECT_EQ(result.output + result.errors, "");
  std::filesystem::remove(path);
}

TEST_F(ChildTest, AnOutputFileThatCannotBeOpenedIsAnErrorOfStart) {
  ChildOptions options = Shell("true");
  options.output_path = "/nowhere/output";

  auto started = Start(std::move(options));

  EXPECT_EQ(started.error().message(), "open /nowhere/output: No such file or directory");
}

TEST_F(ChildTest, AtItsDeadlineAChildThatIgnoresSigtermIsKilledWithItsGrandchild) {
  ChildOptions options = Shell("trap '' TERM; sleep 1000 & echo $!; while :; do sleep 1000; done");
  options.deadline = milliseconds(100);

  ChildExit got = Run(options);

  EXPECT_TRUE(got.timed_out);
  EXPECT_EQ(SIGKILL, got.signal);
  EXPECT_EQ("killed after 100 ms", got.Describe());
  pid_t grandchild = std::stoi(got.output);
  EXPECT_TRUE(Poll([&] { return !Runs(grandchild); }));
}

TEST_F(ChildTest, ADeadlineInWholeSecondsIsDescribedInSeconds) {
  ChildExit got{.signal = SIGKILL, .timed_out = true, .deadline = seconds(30)};

  EXPECT_EQ("killed after 30 s", got.Describe());
}

TEST_F(ChildTest, AChildThatCannotBeKilledDoesNotHoldUpDone) {
  base::FakeClock fake;
  auto fake_loop = *loop::EventLoop::Create(fake);
  auto started =
      Child::Start(*fake_loop, {.argv = {"/bin/sleep", "1000"}}, [&](ChildExit e) { exit = e; });
  ASSERT_TRUE(started);
  pid_t pid = (*started)->pid();
  // A traced process stops on its way out, also after SIGKILL, until its tracer lets it go: it
  // stands for one that waits for a driver.
  if (::ptrace(PTRACE_SEIZE, pid, nullptr, PTRACE_O_TRACEEXIT) != 0)
    GTEST_SKIP() << "ptrace is not to be had here";
  auto pass_time = [&] {
    fake.Advance(milliseconds(200));
    fake_loop->handle().Post([] {});  // Keeps the loop from waiting for time that stands still.
    return exit.has_value();
  };

  EXPECT_TRUE(fake_loop->RunUntil(pass_time, std::chrono::minutes(2)));
  EXPECT_TRUE(exit->timed_out);
  EXPECT_TRUE(Lives(pid));
  started->reset();
  // Possible from its stop on; whether the loop has been told of that already is a matter of luck.
  while (::ptrace(PTRACE_DETACH, pid, nullptr, nullptr) != 0)
    std::this_thread::yield();
  EXPECT_TRUE(
      fake_loop->RunUntil([&] { return pass_time() && !Lives(pid); }, std::chrono::hours(1)));
}

TEST_F(ChildTest, WithoutADeadlineAChildRunsUntilItIsKilled) {
  ChildOptions options{.argv = {"/bin/sleep", "1000"}};
  options.deadline = std::nullopt;
  ASSERT_TRUE(Start(options));
  EXPECT_FALSE(loop->RunUntil([&] { return exit.has_value(); }, milliseconds(20)));

  child->Kill(SIGINT);

  ASSERT_TRUE(loop->RunUntil([&] { return exit.has_value(); }, seconds(5)));
  EXPECT_EQ(SIGINT, exit->signal);
  EXPECT_FALSE(exit->timed_out);
  child->Kill(SIGKILL);  // Does nothing once it has ended.
}

TEST_F(ChildTest, AGrandchildThatKeepsThePipesDoesNotDelayDone) {
  ChildExit got = Run(Shell("sleep 1000 & echo $!"));

  pid_t grandchild = std::stoi(got.output);
  EXPECT_TRUE(got.ok());
  EXPECT_TRUE(Lives(grandchild));
  ::kill(grandchild, SIGKILL);
}

TEST_F(ChildTest, AGrandchildThatKeepsWritingDoesNotDelayDone) {
  ChildExit got = Run(Shell("yes & echo $! >&2"));

  EXPECT_TRUE(got.ok());
  EXPECT_TRUE(got.output.empty() || got.output.starts_with("y\n"));
  // The pipe that it writes to was closed, which ends it.
  pid_t grandchild = std::stoi(got.errors);
  EXPECT_TRUE(Poll([&] { return !Runs(grandchild); }));
}

TEST_F(ChildTest, DestroyingKillsTheGroupAndDoneDoesNotRun) {
  std::string seen;
  ChildOptions options = Shell("sleep 1000 & echo $!; wait");
  options.on_output = [&](int, std::string_view bytes) { seen.append(bytes); };
  ASSERT_TRUE(Start(options));
  ASSERT_TRUE(loop->RunUntil([&] { return !seen.empty(); }, seconds(5)));
  pid_t pid = child->pid();

  child.reset();

  EXPECT_TRUE(Poll([&] { return !Lives(pid) && !Runs(std::stoi(seen)); }));
  EXPECT_FALSE(exit.has_value());
}

/// A process that starts a child, tells its pid and is killed.
pid_t StartAndBeKilled(const base::Clock& clock, bool dies_with_parent) {
  std::array<int, 2> pids{};
  EXPECT_EQ(0, ::pipe(pids.data()));
  const pid_t parent = ::fork();
  if (parent == 0) {
    auto own_loop = *loop::EventLoop::Create(clock);
    auto started = Child::Start(
        *own_loop, {.argv = {"/bin/sleep", "1000"}, .dies_with_parent = dies_with_parent},
        [](const ChildExit&) {});
    const pid_t pid = started ? (*started)->pid() : -1;
    [[maybe_unused]] auto ignored = ::write(pids[1], &pid, sizeof pid);
    ::kill(::getpid(), SIGKILL);
  }
  pid_t pid = -1;
  EXPECT_EQ(static_cast<ssize_t>(sizeof pid), ::read(pids[0], &pid, sizeof pid));
  ::close(pids[0]);
  ::close(pids[1]);
  int status = 0;
  EXPECT_EQ(parent, ::waitpid(parent, &status, 0));
  EXPECT_EQ(SIGKILL, WTERMSIG(status));
  return pid;
}

TEST_F(ChildTest, AChildThatIsToDieWithItsParentDoesSoAlsoWhenThatIsKilled) {
  const pid_t pid = StartAndBeKilled(clock, true);
  ASSERT_GT(pid, 0);
  EXPECT_TRUE(Poll([pid] { return !Runs(pid); }));
}

TEST_F(ChildTest, OtherChildrenOutliveTheirParent) {
  const pid_t pid = StartAndBeKilled(clock, false);
  ASSERT_GT(pid, 0);
  EXPECT_TRUE(Runs(pid));
  ::kill(pid, SIGKILL);
}

TEST_F(ChildTest, DoneMayDestroyTheChild) {
  bool ended = false;
  auto started = Child::Start(*loop, Shell("echo x"), [&](ChildExit) {
    child.reset();
    ended = true;
  });
  ASSERT_TRUE(started);
  child = *std::move(started);

  EXPECT_TRUE(loop->RunUntil([&] { return ended; }, seconds(5)));
}

TEST_F(ChildTest, OnOutputMayDestroyTheChild) {
  int calls = 0;
  ChildOptions options = Shell("echo x; echo y >&2; sleep 1000");
  options.on_output = [&](int, std::string_view) {
    ++calls;
    child.reset();
  };
  ASSERT_TRUE(Start(options));

  ASSERT_TRUE(loop->RunUntil([&] { return calls > 0; }, seconds(5)));
  EXPECT_FALSE(loop->RunUntil([&] { return calls > 1 || exit.has_value(); }, milliseconds(20)));
}

TEST_F(ChildTest, OnOutputMayDestroyTheChildAfterItsEnd) {
  ChildOptions options = Shell("head -c 60000 /dev/zero; echo y >&2");
  options.on_output = [&](int, std::string_view) {
    // Only once it has ended, when the rest of the pipes is read.
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(child->pid()), &info, WEXITED | WNOHANG | WNOWAIT) != 0)
      child.reset();
  };
  ASSERT_TRUE(Start(options));
  // Let the child fill its pipes and end before the loop looks.
  siginfo_t info{};
  ASSERT_EQ(0, ::waitid(P_PID, static_cast<id_t>(child->pid()), &info, WEXITED | WNOWAIT));

  EXPECT_TRUE(loop->RunUntil([&] { return child == nullptr; }, seconds(5)));
  EXPECT_FALSE(exit.has_value());
}

TEST_F(ChildTest, WhereSigchldIsIgnoredNothingIsStarted) {
  auto before = ::signal(SIGCHLD, SIG_IGN);

  auto started = Start(Shell("true"));

  ::signal(SIGCHLD, before);
  ASSERT_FALSE(started);
  EXPECT_EQ(Code::kFailedPrecondition, started.error().code());
}

TEST_F(ChildTest, AStatusThatSomebodyElseTookIsNotKnown) {
  ASSERT_TRUE(Start(Shell("exit 3")));
  ASSERT_EQ(child->pid(), ::waitpid(-1, nullptr, 0));

  ASSERT_TRUE(loop->RunUntil([&] { return exit.has_value(); }, seconds(5)));
  EXPECT_FALSE(exit->ok());
  EXPECT_EQ("ended with a status that is not known", exit->Describe());
}

TEST_F(ChildTest, TwoHundredChildrenLeaveNoDescriptorAndNoZombie) {
  size_t before = OpenDescriptors();
  for (int i = 0; i < 200; ++i) {
    int done = 0;
    auto one = Child::Start(*loop, {.argv = {"/bin/true"}}, [&](ChildExit) { ++done; });
    ASSERT_TRUE(one);
    ASSERT_TRUE(loop->RunUntil([&] { return done == 1; }, seconds(5)));
  }
  EXPECT_EQ(before, OpenDescriptors());
}

TEST_F(ChildTest, ManyAtOnceEndEachWithItsOwnStatus) {
  std::map<int, int> codes;
  std::vector<std::unique_ptr<Child>> children;
  for (int i = 0; i < 20; ++i) {
    children.push_back(*Child::Start(*loop, Shell("exit " + std::to_string(i)),
                                     [&codes, i](const ChildExit& e) { codes[i] = e.code; }));
  }

  EXPECT_TRUE(loop->RunUntil([&] { return codes.size() == 20; }, seconds(10)));
  for (const auto& [i, code] : codes)
    EXPECT_EQ(i, code);
}

TEST_F(ChildTest, StandardStreamsThatAreClosedHereDoNotMixUpTheChilds) {
  // In a child of this test, as it closes 0, 1 and 2.
  pid_t pid = ::fork();
  if (pid == 0) {
    for (int fd : {0, 1, 2})
      ::close(fd);
    auto own_loop = *loop::EventLoop::Create(clock);
    ChildOptions options = Shell("cat; echo err >&2");
    options.input = "in";
    std::optional<ChildExit> got;
    auto started = Child::Start(*own_loop, options, [&](ChildExit e) { got = std::move(e); });
    bool ended = own_loop->RunUntil([&] { return got.has_value(); }, seconds(5));
    ::_exit(ended && got->output == "in" && got->errors == "err\n" ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(pid, ::waitpid(pid, &status, 0));
  EXPECT_EQ(0, status);
}

}  // namespace
}  // namespace tenon::process
