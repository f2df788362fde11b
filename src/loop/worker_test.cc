#include "loop/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tenon::loop {
namespace {

TEST(Worker, RunsJobsInOrderAndCompletesThemOnTheLoop) {
  base::SystemClock clock;
  auto loop = *EventLoop::Create(clock);
  std::vector<int> done;
  std::thread::id job_thread;
  Worker worker(loop->handle());
  for (int i = 0; i < 3; ++i)
    worker.Submit([i, &done, &job_thread]() -> std::function<void()> {
      job_thread = std::this_thread::get_id();
      return [i, &done] { done.push_back(i); };
    });

  EXPECT_TRUE(loop->RunUntil([&] { return done.size() == 3; }, std::chrono::seconds(5)));
  EXPECT_THAT(done, ::testing::ElementsAre(0, 1, 2));
  EXPECT_NE(job_thread, std::this_thread::get_id());
}

TEST(Worker, FinishesSubmittedJobsBeforeItEnds) {
  base::SystemClock clock;
  auto loop = *EventLoop::Create(clock);
  int ran = 0;
  {
    Worker worker(loop->handle());
    for (int i = 0; i < 10; ++i)
      worker.Submit([&ran]() -> std::function<void()> {
        ++ran;
        return [] {};
      });
  }
  EXPECT_EQ(10, ran);
}

}  // namespace
}  // namespace tenon::loop
