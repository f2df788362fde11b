#include "config/strict_mapping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::config {
namespace {

using ::testing::ElementsAre;

TEST(Faults, AreSortedByPlaceAndNotByWhenTheyWereFound) {
  Faults faults("f.yaml");
  faults.Add({3, 1}, "third");
  faults.Add({1, 9}, "second");
  faults.Add({1, 2}, "first");
  EXPECT_THAT(faults.Texts(),
              ElementsAre("f.yaml:1:2: first", "f.yaml:1:9: second", "f.yaml:3:1: third"));
}

TEST(Faults, BeyondAHundredAreOnlyCounted) {
  Faults faults("f.yaml");
  for (int line = 1; line <= 150; ++line)
    faults.Add({line, 1}, "bad");
  ASSERT_EQ(101, faults.Texts().size());
  EXPECT_EQ("f.yaml: and 50 more", faults.Texts().back());
}

TEST(ClosestTo, FindsMisspellingsAndNothingFarFetched) {
  std::vector<std::string_view> keys{"path", "virtual", "mountPath", "permissions"};
  EXPECT_EQ("path", ClosestTo("pth", keys));
  EXPECT_EQ("path", ClosestTo("Path", keys));
  EXPECT_EQ("mountPath", ClosestTo("mountpath", keys));
  EXPECT_EQ("permissions", ClosestTo("premissions", keys));
  EXPECT_EQ("", ClosestTo("usb", keys));
  EXPECT_EQ("path", ClosestTo("paht", keys));
  EXPECT_EQ("", ClosestTo("", keys));
  EXPECT_EQ("", ClosestTo(std::string(1'000'000, 'p'), keys));
}

TEST(Quoted, EscapesAndCuts) {
  EXPECT_EQ("\"a\\n\"", Quoted("a\n"));
  EXPECT_EQ("\"" + std::string(100, 'x') + "...\"", Quoted(std::string(101, 'x')));
}

}  // namespace
}  // namespace tenon::config
