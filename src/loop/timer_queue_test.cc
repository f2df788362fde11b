#include "loop/timer_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tenon::loop {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

struct TimerQueueTest : ::testing::Test {
  TimerQueue queue{base::MonotonicTime{}};
  std::vector<std::string> ran;
  TimerHandle Add(int ms, std::string name) {
    return queue.After(milliseconds(ms), [this, name] { ran.push_back(name); });
  }
};

TEST_F(TimerQueueTest, RunsInOrderOfDeadlineThenOfCreation) {
  auto late = Add(20, "late");
  auto first = Add(10, "first");
  auto second = Add(10, "second");

  queue.Advance(milliseconds(20));

  EXPECT_THAT(ran, ElementsAre("first", "second", "late"));
  EXPECT_FALSE(first.pending());
}

TEST_F(TimerQueueTest, RunsNothingEarly) {
  auto timer = Add(10, "x");

  queue.Advance(milliseconds(9));

  EXPECT_THAT(ran, ElementsAre());
  EXPECT_TRUE(timer.pending());
}

TEST_F(TimerQueueTest, ACancelledTimerNeverRunsEvenInTheSameTurn) {
  auto victim = Add(10, "victim");
  auto killer = queue.After(milliseconds(5), [&] { victim.Cancel(); });

  queue.Advance(milliseconds(10));

  EXPECT_THAT(ran, ElementsAre());
}

TEST_F(TimerQueueTest, AZeroDelayFromACallbackWaitsForTheNextTurn) {
  TimerHandle inner;
  auto outer = queue.After(milliseconds(1), [&] { inner = Add(0, "inner"); });

  queue.Advance(milliseconds(1));
  EXPECT_THAT(ran, ElementsAre());
  queue.Advance(milliseconds(0));

  EXPECT_THAT(ran, ElementsAre("inner"));
}

TEST_F(TimerQueueTest, AnEndlessZeroDelayDoesNotHangTheTurn) {
  TimerHandle self;
  int runs = 0;
  std::function<void()> again = [&] {
    ++runs;
    self = queue.After(milliseconds(0), again);
  };
  again();

  queue.Advance(milliseconds(5));
  queue.Advance(milliseconds(5));

  EXPECT_EQ(3, runs);
}

TEST_F(TimerQueueTest, ARearmedTimerRunsAsOftenAsTimeHasPassed) {
  TimerHandle self;
  int runs = 0;
  std::function<void()> again = [&] {
    ++runs;
    self = queue.After(milliseconds(10), again);
  };
  self = queue.After(milliseconds(10), again);

  queue.Advance(milliseconds(100));

  EXPECT_EQ(10, runs);
}

TEST_F(TimerQueueTest, CallbacksSeeTheTimeOfTheirDeadline) {
  base::MonotonicTime seen;
  auto timer = queue.After(milliseconds(10), [&] { seen = queue.now(); });

  queue.Advance(milliseconds(50));

  EXPECT_EQ(base::MonotonicTime(milliseconds(10)), seen);
  EXPECT_EQ(base::MonotonicTime(milliseconds(50)), queue.now());
}

TEST_F(TimerQueueTest, NextDeadlineIsTheEarliest) {
  EXPECT_EQ(std::nullopt, queue.next_deadline());
  auto late = Add(20, "late");
  auto soon = Add(10, "soon");
  EXPECT_EQ(base::MonotonicTime(milliseconds(10)), queue.next_deadline());
}

}  // namespace
}  // namespace tenon::loop
