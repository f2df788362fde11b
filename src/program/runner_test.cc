#include "program/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>

#include "program/script_for_test.h"

namespace tenon::program {
namespace {

using ::testing::HasSubstr;

struct RunnerTest : ::testing::Test {
  Result<std::string> Run(const Program& program, std::map<std::string, std::string> env = {}) {
    std::optional<Result<std::string>> outcome;
    auto child = runner.Start(program, std::move(env), [&outcome](Result<std::string> output) {
      outcome = std::move(output);
    });
    if (!child) return std::move(child).error();
    EXPECT_TRUE(loop->RunUntil([&] { return outcome.has_value(); }, std::chrono::seconds(10)));
    return *std::move(outcome);
  }
  std::string Failure(const Program& program) {
    auto outcome = Run(program);
    return outcome ? "no failure" : outcome.error().message();
  }

  base::SystemClock clock;
  host::TempTree tree;
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  Runner runner{*loop, {tree.Real("/bin")}};
};

TEST_F(RunnerTest, GivesWhatAProgramWritesAndACleanEnvironment) {
  const std::string path = Script(tree, "say", "echo $1 $A");

  auto output = Run({.argv = {path, "one; two"}}, {{"A", "three"}});

  ASSERT_TRUE(output) << output.error().message();
  EXPECT_THAT(*output, HasSubstr("one; two three\n"));
  auto variables = Run({.argv = {Script(tree, "env", "env")}});
  ASSERT_TRUE(variables);
  EXPECT_EQ(std::string::npos, variables->find("HOME="));
}

TEST_F(RunnerTest, AFailureIsHowItEndedAndTheFirstLineOfWhatItSaid) {
  const std::string path = Script(tree, "fail", "echo 'no board\033' >&2; echo more >&2; exit 3");

  EXPECT_EQ(path + ": exit status 3: no board\\x1b", Failure({.argv = {path}}));
}

TEST_F(RunnerTest, TheWholeMachineMayBeAllowedAndIsThenLookedAtDownToTheProgram) {
  Runner anywhere(*loop, {"/"});
  const std::string path = Script(tree, "run", "true");
  auto start = [&anywhere](const std::string& program) {
    return anywhere.Start({.argv = {program}}, {}, [](const Result<std::string>&) {});
  };

  EXPECT_TRUE(start("/bin/true"));
  auto below_tmp = start(path);
  ASSERT_FALSE(below_tmp);
  EXPECT_THAT(below_tmp.error().message(), HasSubstr("others may write to it"));
}

TEST_F(RunnerTest, AProgramThatHangsIsKilled) {
  const std::string path = Script(tree, "hang", "sleep 1000");

  auto outcome = Run({.argv = {path}, .timeout = std::chrono::milliseconds(30)});

  ASSERT_FALSE(outcome);
  EXPECT_EQ(Code::kDeadlineExceeded, outcome.error().code());
}

TEST_F(RunnerTest, MoreThanItsShareOfOutputIsAFailure) {
  const std::string path = Script(tree, "flood", "head -c 70000 /dev/zero");

  EXPECT_EQ(path + ": wrote more than 64 KiB", Failure({.argv = {path}}));
}

TEST_F(RunnerTest, OnlyWhatTheCommandLineAllowsIsStarted) {
  tree.File("/other/x", "");
  tree.File("/binary/x", "");
  tree.Link("/bin/link", tree.Real("/other/x"));
  tree.Directory("/bin/directory");

  for (const char* path : {"/other/x", "/binary/x", "/bin/link", "/bin/../other/x"})
    EXPECT_THAT(Failure({.argv = {tree.Real(path)}}), HasSubstr("--allow-exec")) << path;
  EXPECT_THAT(Failure({.argv = {tree.Real("/bin/directory")}}), HasSubstr("not a regular file"));
  EXPECT_THAT(Failure({.argv = {tree.Real("/bin/none")}}), HasSubstr("No such file"));
}

TEST_F(RunnerTest, WhatIsRunIsTheFileThatWasCheckedAndNotTheLinkThatLedThere) {
  const std::string path = Script(tree, "say", "echo $0");
  tree.Link("/elsewhere/link", path);

  auto output = Run({.argv = {tree.Real("/elsewhere/link")}});

  ASSERT_TRUE(output) << output.error().message();
  EXPECT_EQ(path + "\n", *output);
}

TEST_F(RunnerTest, NotWhatOthersMayWriteTo) {
  const std::string path = Script(tree, "x", "true");
  ::chmod(path.c_str(), 0775);
  EXPECT_EQ(path + ": others may write to it; chmod go-w", Failure({.argv = {path}}));

  ::chmod(path.c_str(), 0755);
  ::chmod(tree.Real("/bin").c_str(), 0777);
  EXPECT_EQ(tree.Real("/bin") + ": others may write to it; chmod go-w", Failure({.argv = {path}}));
}

TEST_F(RunnerTest, NotWhatAnotherUserOwns) {
  const std::string path = Script(tree, "x", "true");
  if (::chown(path.c_str(), 12345, 0) != 0) GTEST_SKIP() << "needs CAP_CHOWN";

  EXPECT_THAT(Failure({.argv = {path}}), HasSubstr("belongs to user 12345"));
}

}  // namespace
}  // namespace tenon::program
