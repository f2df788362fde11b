#include "rpc/output_queue.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "base/unique_fd.h"

namespace tenon::rpc {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct OutputQueueTest : ::testing::Test {
  OutputQueueTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(0, ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()));
    near.Reset(ends[0]);
    far.Reset(ends[1]);
  }
  std::string Read(size_t most = 1 << 20) {
    std::string bytes(most, '\0');
    ssize_t got = ::read(far.get(), bytes.data(), bytes.size());
    bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return bytes;
  }
  base::UniqueFd near, far;
  OutputQueue queue;
};

TEST_F(OutputQueueTest, WritesSmallAndSharedPartsInOrder) {
  auto body = std::make_shared<const std::string>(std::string(2000, 'b') + "tail");
  queue.Append("head ");
  queue.AppendShared(body, 0, 2000);
  queue.AppendShared(body, 2000, 4);
  queue.Append(" end");

  ASSERT_TRUE(queue.WriteTo(near.get()));

  EXPECT_EQ("head " + *body + " end", Read());
  EXPECT_TRUE(queue.empty());
}

TEST_F(OutputQueueTest, LetsGoOfASharedBodyOnceItIsWritten) {
  auto body = std::make_shared<const std::string>(5000, 'b');
  queue.AppendShared(body, 0, body->size());
  EXPECT_EQ(2, body.use_count());

  ASSERT_TRUE(queue.WriteTo(near.get()));

  EXPECT_EQ(1, body.use_count());
}

TEST_F(OutputQueueTest, ResumesWhereAFullSocketStoppedIt) {
  std::string expected;
  for (int i = 0; i < 500; ++i) {
    auto body = std::make_shared<const std::string>(3000, static_cast<char>('a' + i % 26));
    queue.AppendShared(body, 0, body->size());
    queue.Append("|");
    expected.append(*body).append("|");
  }

  std::string got;
  int rounds = 0;
  while (got.size() < expected.size() && ++rounds < 10000) {
    ASSERT_TRUE(queue.WriteTo(near.get()));
    got += Read(10007);
  }

  EXPECT_EQ(expected, got);
  EXPECT_GT(rounds, 2);
}

TEST_F(OutputQueueTest, StaysSmallThoughItNeverDrains) {
  std::string block(1000, 'x');
  auto body = std::make_shared<const std::string>(200000, 'y');
  queue.AppendShared(body, 0, body->size());
  for (int i = 0; i < 2000; ++i) {
    queue.Append(block);
    queue.AppendShared(body, 0, 1024);
    ASSERT_TRUE(queue.WriteTo(near.get()));
    Read(2024);
  }

  EXPECT_LE(queue.size(), 400000U);
  EXPECT_LE(body.use_count(), 400);
}

TEST_F(OutputQueueTest, ReportsAMessageOnceItsLastByteIsWritten) {
  auto body = std::make_shared<const std::string>(4 << 20, 'b');
  queue.Append("x");
  queue.MarkMessageEnd(1);
  queue.AppendShared(body, 0, body->size());
  queue.MarkMessageEnd(3);
  ASSERT_TRUE(queue.WriteTo(near.get()));

  EXPECT_THAT(queue.TakeWrittenMessages(), ElementsAre(1));
  while (!queue.empty()) {
    EXPECT_THAT(queue.TakeWrittenMessages(), IsEmpty());
    Read();
    ASSERT_TRUE(queue.WriteTo(near.get()));
  }
  EXPECT_THAT(queue.TakeWrittenMessages(), ElementsAre(3));
}

TEST_F(OutputQueueTest, AGonePeerIsAnErrorAndNoSignal) {
  far.Reset();
  queue.Append("x");

  auto written = queue.WriteTo(near.get());

  ASSERT_FALSE(written);
  EXPECT_EQ(EPIPE, written.error().os_errno());
}

}  // namespace
}  // namespace tenon::rpc
