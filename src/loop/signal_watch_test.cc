#include "loop/signal_watch.h"

#include <gtest/gtest.h>

#include <csignal>

namespace tenon::loop {
namespace {

TEST(SignalWatch, DeliversASignalAsACallOnTheLoop) {
  base::SystemClock clock;
  auto loop = *EventLoop::Create(clock);
  int seen = 0;
  auto watch = SignalWatch::Create(*loop, {SIGUSR1, SIGUSR2}, [&](int signal) { seen = signal; });
  ASSERT_TRUE(watch);

  ::raise(SIGUSR2);

  EXPECT_TRUE(loop->RunUntil([&] { return seen != 0; }, std::chrono::seconds(5)));
  EXPECT_EQ(SIGUSR2, seen);
}

}  // namespace
}  // namespace tenon::loop
