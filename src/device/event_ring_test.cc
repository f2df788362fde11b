#include "device/event_ring.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

TEST(EventRing, ForgetsTheOldestWhenFull) {
  EventRing ring(2);
  for (std::string text : {"one", "two", "three"})
    ring.Add({.text = text});

  ASSERT_EQ(2, ring.events().size());
  EXPECT_EQ("two", ring.events().front().text);
  EXPECT_EQ("three", ring.events().back().text);
}

}  // namespace
}  // namespace tenon
