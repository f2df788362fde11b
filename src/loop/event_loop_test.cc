#include "loop/event_loop.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <thread>

namespace tenon::loop {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct EventLoopTest : ::testing::Test {
  EventLoopTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(0, ::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK));
    in.Reset(ends[0]);
    out.Reset(ends[1]);
  }
  void WriteByte() { EXPECT_EQ(1, ::write(out.get(), "x", 1)); }
  base::SystemClock clock;
  std::unique_ptr<EventLoop> loop = *EventLoop::Create(clock);
  base::UniqueFd in, out;
};

TEST_F(EventLoopTest, CallsBackWhileADescriptorIsReadable) {
  int calls = 0;
  auto watch = loop->WatchFd(in.get(), kReadable, [&](unsigned events) {
    EXPECT_EQ(kReadable, events);
    ++calls;
  });
  WriteByte();

  EXPECT_TRUE(loop->RunUntil([&] { return calls == 3; }, seconds(5)));
}

TEST_F(EventLoopTest, ALimitOfZeroIsOneTurn) {
  bool called = false;
  auto watch = loop->WatchFd(in.get(), kReadable, [&](unsigned) { called = true; });
  WriteByte();

  EXPECT_FALSE(loop->RunUntil([] { return false; }, seconds(0)));

  EXPECT_TRUE(called);
}

TEST_F(EventLoopTest, ReportsThatThePeerIsGone) {
  unsigned seen = 0;
  auto watch = loop->WatchFd(in.get(), kReadable, [&](unsigned events) { seen = events; });
  out.Reset();

  EXPECT_TRUE(loop->RunUntil([&] { return (seen & kHangup) != 0; }, seconds(5)));
}

TEST_F(EventLoopTest, ACallbackMayDestroyItsOwnWatch) {
  int calls = 0;
  FdWatch watch;
  watch = *loop->WatchFd(in.get(), kReadable, [&](unsigned) {
    ++calls;
    watch.Cancel();
  });
  WriteByte();

  EXPECT_FALSE(loop->RunUntil([&] { return calls > 1; }, milliseconds(20)));
  EXPECT_EQ(1, calls);
}

TEST_F(EventLoopTest, AWatchDestroyedInATurnIsNotCalledInThatTurn) {
  base::UniqueFd copy(::fcntl(in.get(), F_DUPFD_CLOEXEC, 0));
  int calls = 0;
  std::array<FdWatch, 2> watches;
  auto kill_other = [&](size_t other) {
    return [&, other](unsigned) {
      ++calls;
      watches[other].Cancel();
    };
  };
  watches[0] = *loop->WatchFd(in.get(), kReadable, kill_other(1));
  watches[1] = *loop->WatchFd(copy.get(), kReadable, kill_other(0));
  WriteByte();

  loop->RunUntil([&] { return calls > 0; }, seconds(5));

  EXPECT_EQ(1, calls);
}

TEST_F(EventLoopTest, SetEventsSilencesAReadyDescriptor) {
  int calls = 0;
  auto watch = loop->WatchFd(in.get(), kReadable, [&](unsigned) { ++calls; });
  watch->SetEvents(kNone);
  WriteByte();

  EXPECT_FALSE(loop->RunUntil([&] { return calls > 0; }, milliseconds(20)));
}

TEST_F(EventLoopTest, WatchingAClosedDescriptorIsAnErrorByNumber) {
  auto watch = loop->WatchFd(-1, kReadable, [](unsigned) {});

  ASSERT_FALSE(watch);
  EXPECT_EQ("epoll_ctl add fd -1: Bad file descriptor", watch.error().message());
}

TEST_F(EventLoopTest, ClosuresFromAnotherThreadRunOnTheLoop) {
  std::thread::id ran_on;
  std::thread poster([handle = loop->handle(), &ran_on] {
    handle.Post([&] { ran_on = std::this_thread::get_id(); });
  });

  EXPECT_TRUE(loop->RunUntil([&] { return ran_on == std::this_thread::get_id(); }, seconds(5)));
  poster.join();
}

TEST_F(EventLoopTest, AfterTheLoopIsGonePostedClosuresAreDestroyedUnrun) {
  auto alive = std::make_shared<int>(0);
  LoopHandle handle = loop->handle();
  handle.Post([alive] { ++*alive; });
  loop.reset();
  handle.Post([alive] { ++*alive; });

  EXPECT_EQ(0, *alive);
  EXPECT_EQ(1, alive.use_count());
}

TEST_F(EventLoopTest, TimersRunOnTimeAndStopEndsRun) {
  base::MonotonicTime start = clock.Now();
  auto timer = loop->timers().After(milliseconds(10), [&] { loop->Stop(); });

  loop->Run();

  EXPECT_GE(clock.Now() - start, milliseconds(10));
}

TEST_F(EventLoopTest, WhenReadableTakesADescriptorCallsOnceAndClosesIt) {
  int calls = 0;
  int number = in.get();
  loop->WhenReadable(std::move(in), [&](int fd) {
    EXPECT_EQ(number, fd);
    ++calls;
  });
  WriteByte();

  EXPECT_FALSE(loop->RunUntil([&] { return calls > 1; }, milliseconds(20)));
  EXPECT_EQ(1, calls);
  EXPECT_EQ(-1, ::fcntl(number, F_GETFD));
}

TEST_F(EventLoopTest, WhenTheLoopGoesFirstWhenReadableNeverCalls) {
  int calls = 0;
  int number = in.get();
  loop->WhenReadable(std::move(in), [&](int) { ++calls; });
  loop.reset();

  EXPECT_EQ(0, calls);
  EXPECT_EQ(-1, ::fcntl(number, F_GETFD));
}

TEST_F(EventLoopTest, TheLongestTurnIsMeasured) {
  auto timer = loop->timers().After(milliseconds(0), [&] {
    base::MonotonicTime until = clock.Now() + milliseconds(3);
    while (clock.Now() < until) {
    }
    loop->Stop();
  });

  loop->Run();

  EXPECT_GE(loop->TakeLongestTurn(), milliseconds(3));
  EXPECT_EQ(base::Duration::zero(), loop->TakeLongestTurn());
}

}  // namespace
}  // namespace tenon::loop
