#include "program/command_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "program/script_for_test.h"

namespace tenon::program {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct CommandSourceTest : ::testing::Test {
  std::unique_ptr<CommandSource> Source(const std::string& body) {
    CommandOptions options{.program = {.argv = {Script(tree, "list", body)}}};
    options.nodes.trust.allowed_prefixes = {"/dev"};
    return std::make_unique<CommandSource>(
        discovery::Surroundings{*host, nullptr, loop->timers(), log}, runner, std::move(options));
  }
  bool WaitForReport() {
    return loop->RunUntil([this] { return report.has_value(); }, std::chrono::seconds(10));
  }
  discovery::Source::ReportFn Take() {
    return [this](discovery::Snapshot snapshot) { report = std::move(snapshot); };
  }

  base::SystemClock clock;
  base::NullLog log;
  host::TempTree tree;
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  std::unique_ptr<host::Host> host = *host::PosixHost::Open("/");
  Runner runner{*loop, {tree.Real("/bin")}};
  std::optional<discovery::Snapshot> report;
};

TEST_F(CommandSourceTest, TheDevicesAreWhatTheProgramPrints) {
  auto source = Source(
      "echo '{\"tenon\": 1}'\n"
      "echo '{\"id\": \"a b\", \"paths\": [\"/dev/null\"], \"numaNodes\": [1]}'\n"
      "echo '{\"id\": \"c\", \"paths\": [\"/dev/none\"]}'\n"
      "echo '{\"id\": \"d\", \"paths\": [\"/etc/passwd\"]}'\n"
      "echo '{\"id\": \"e\", \"healthy\": false, \"reason\": \"hot\"}'");
  source->Start(Take());
  ASSERT_TRUE(WaitForReport());

  ASSERT_EQ(4U, report->size());
  EXPECT_EQ("a_20b", (*report)[0]->id.value);
  EXPECT_EQ(Health::kHealthy, (*report)[0]->health);
  EXPECT_EQ("c 1:3", (*report)[0]->device_number);
  EXPECT_THAT((*report)[1]->reason, HasSubstr("/dev/none: no such file"));
  EXPECT_EQ(Health::kUnhealthy, (*report)[2]->health);
  EXPECT_TRUE((*report)[2]->paths.empty());
  EXPECT_EQ("hot", (*report)[3]->reason);
}

TEST_F(CommandSourceTest, WhileTheProgramFailsItsDevicesAreUnhealthyAndThenHealthyAgain) {
  const std::string flag = tree.Real("/broken");
  auto source = Source("test -e " + flag +
                       " && { echo sick >&2; exit 1; }\n"
                       "echo '{\"tenon\": 1}'; echo '{\"id\": \"a\"}'");
  source->Start(Take());
  ASSERT_TRUE(WaitForReport());
  tree.File("/broken", "");

  report.reset();
  source->Rescan();
  ASSERT_TRUE(WaitForReport());
  ASSERT_EQ(1U, report->size());
  EXPECT_EQ(Health::kUnhealthy, report->front()->health);
  EXPECT_THAT(report->front()->reason, HasSubstr("exit status 1: sick"));

  std::filesystem::remove(flag);
  report.reset();
  source->Rescan();
  ASSERT_TRUE(WaitForReport());
  EXPECT_EQ(Health::kHealthy, report->front()->health);
}

TEST_F(CommandSourceTest, AProgramThatMayNotRunHasNoDevices) {
  auto source = Source("true");
  std::filesystem::permissions(tree.Real("/bin/list"), std::filesystem::perms::all);

  source->Start(Take());

  ASSERT_TRUE(report.has_value());
  EXPECT_THAT(*report, IsEmpty());
}

TEST_F(CommandSourceTest, ItMayBeDestroyedInItsReportAndWhileTheProgramRuns) {
  auto source = Source("echo '{\"tenon\": 1}'");
  source->Start([&](discovery::Snapshot snapshot) {
    report = std::move(snapshot);
    source.reset();
  });
  EXPECT_TRUE(WaitForReport());

  report.reset();
  source = Source("exec sleep 1000");
  source->Start(Take());
  source.reset();
  EXPECT_FALSE(report.has_value());
}

}  // namespace
}  // namespace tenon::program
