#include "loop/backoff.h"

#include <gtest/gtest.h>

namespace tenon::loop {
namespace {

using std::chrono::milliseconds;

TEST(Backoff, DoublesWithinItsUpperHalfUpToTheMost) {
  Backoff backoff({.first = milliseconds(100), .most = milliseconds(350)}, 42);
  for (int upper : {100, 200, 350, 350, 350}) {
    base::Duration delay = backoff.Next();
    EXPECT_GE(delay, milliseconds(upper) / 2);
    EXPECT_LE(delay, milliseconds(upper));
  }
}

TEST(Backoff, ResetStartsOver) {
  Backoff backoff({.first = milliseconds(100), .most = std::chrono::seconds(10)}, 7);
  backoff.Next();
  backoff.Next();

  backoff.Reset();

  EXPECT_LE(backoff.Next(), milliseconds(100));
}

TEST(Backoff, DifferentSeedsGiveDifferentDelays) {
  Backoff a({}, 11);
  Backoff b({}, 12345);
  EXPECT_NE(a.Next(), b.Next());
}

}  // namespace
}  // namespace tenon::loop
