#include "kubelet_service/token_bucket.h"

#include <gtest/gtest.h>

namespace tenon::kubelet_service {
namespace {

using std::chrono::milliseconds;

struct TokenBucketTest : ::testing::Test {
  int TakeAll() {
    int taken = 0;
    while (bucket.Take(now))
      ++taken;
    return taken;
  }
  base::MonotonicTime now{std::chrono::hours(1)};
  TokenBucket bucket{milliseconds(10), 3};
};

TEST_F(TokenBucketTest, StartsFullAndRefillsWithTime) {
  EXPECT_EQ(TakeAll(), 3);

  now += milliseconds(9);
  EXPECT_EQ(TakeAll(), 0);
  now += milliseconds(1);
  EXPECT_EQ(TakeAll(), 1);
}

TEST_F(TokenBucketTest, KeepsNoMoreThanTheBurst) {
  TakeAll();

  now += std::chrono::hours(1);

  EXPECT_EQ(TakeAll(), 3);
}

}  // namespace
}  // namespace tenon::kubelet_service
