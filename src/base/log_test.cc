#include "base/log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "base/unique_fd.h"

namespace tenon::base {
namespace {

struct LogTest : ::testing::Test {
  LogTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(0, ::pipe(ends.data()));
    in.Reset(ends[0]);
    out.Reset(ends[1]);
  }
  std::string Read() {
    std::array<char, 4096> buffer{};
    ssize_t n = ::read(in.get(), buffer.data(), buffer.size());
    return {buffer.data(), n > 0 ? static_cast<size_t>(n) : 0};
  }
  FakeClock clock;
  UniqueFd in, out;
};

TEST_F(LogTest, TextQuotesAndEscapesValues) {
  StreamLog log(out.get(), StreamLog::Format::kText, LogLevel::kInfo, clock);

  log.Warning("device refused", {{"id", "tty0"}, {"why", "say \"hi\"\nINFO forged"}, {"n", 3}});

  EXPECT_EQ(
      "2026-01-01T00:00:00.000Z WARN device refused id=tty0 "
      "why=\"say \\\"hi\\\"\\nINFO forged\" n=3\n",
      Read());
}

TEST_F(LogTest, JsonIsOneObjectALine) {
  StreamLog log(out.get(), StreamLog::Format::kJson, LogLevel::kInfo, clock);

  log.Error("disk full", {{"path", "/a\xff"}});

  EXPECT_EQ(
      "{\"time\":\"2026-01-01T00:00:00.000Z\",\"level\":\"error\",\"msg\":\"disk full\","
      "\"path\":\"/a\xEF\xBF\xBD\"}\n",
      Read());
}

TEST_F(LogTest, DropsWhatIsBelowTheMinimum) {
  StreamLog log(out.get(), StreamLog::Format::kText, LogLevel::kWarning, clock);

  log.Info("unseen");
  log.Error("seen");

  EXPECT_EQ("2026-01-01T00:00:00.000Z ERROR seen\n", Read());
}

}  // namespace
}  // namespace tenon::base
