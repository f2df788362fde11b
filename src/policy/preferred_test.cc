#include "policy/preferred.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

namespace tenon::policy {
namespace {

using ::testing::ElementsAre;

std::string ErrorOf(const api::PreferredRequest& request) {
  auto ids = PreferInOrder(request);
  return ids ? "no error" : ids.error().message();
}

TEST(PreferInOrder, CountsDigitsAsNumbers) {
  EXPECT_THAT(*PreferInOrder({{"tty10", "tty9", "tty2"}, {}, 2}), ElementsAre("tty2", "tty9"));
}

TEST(PreferInOrder, TakesFirstWhatMustBeIncluded) {
  EXPECT_THAT(*PreferInOrder({{"a", "b", "c", "d"}, {"d", "c"}, 3}), ElementsAre("c", "d", "a"));
}

TEST(PreferInOrder, CountsAnIdOnceHoweverOftenItIsNamed) {
  EXPECT_THAT(*PreferInOrder({{"b", "a", "b"}, {"b", "b"}, 2}), ElementsAre("b", "a"));
}

TEST(PreferInOrder, TellsIdsApartThatDifferInLeadingZerosOnly) {
  EXPECT_THAT(*PreferInOrder({{"d1", "d01", "d001"}, {"d1"}, 2}), ElementsAre("d1", "d001"));
}

TEST(PreferInOrder, SaysWhyARequestIsImpossible) {
  EXPECT_EQ("preferred allocation: size -1 is negative", ErrorOf({{"a"}, {}, -1}));
  EXPECT_EQ("preferred allocation: 1 device available, 2 asked for", ErrorOf({{"a"}, {}, 2}));
  EXPECT_EQ("preferred allocation: device b\\n must be included and is not available",
            ErrorOf({{"a"}, {"b\n"}, 1}));
  EXPECT_EQ("preferred allocation: 2 devices must be included, 1 asked for",
            ErrorOf({{"a", "b"}, {"a", "b"}, 1}));
}

/// The ids whose bits are set.
std::vector<std::string> Ids(unsigned bits) {
  std::vector<std::string> ids;
  for (unsigned i = 0; i < 32; ++i)
    if (bits >> i & 1) ids.push_back(std::string(1, static_cast<char>('a' + i)));
  return ids;
}

/// By brute force: of all subsets that meet the request, the one whose bits come first.
std::optional<unsigned> Oracle(unsigned available, unsigned must_include, int size) {
  std::optional<std::vector<std::string>> best;
  std::optional<unsigned> best_bits;
  for (unsigned subset = 0; subset <= available; ++subset) {
    if ((subset & ~available) != 0 || (must_include & ~subset) != 0) continue;
    std::vector<std::string> ids = Ids(subset);
    if (static_cast<int>(ids.size()) != size || (best && *best <= ids)) continue;
    best = ids;
    best_bits = subset;
  }
  return best_bits;
}

TEST(PreferInOrder, AgreesWithBruteForceOnAllRequestsUpToSixDevices) {
  for (unsigned available = 0; available < 64; ++available) {
    for (unsigned must_include = 0; must_include < 64; ++must_include) {
      for (int size = 0; size <= 7; ++size) {
        std::vector<std::string> offered = Ids(available);
        std::ranges::reverse(offered);
        auto chosen = PreferInOrder({offered, Ids(must_include), size});
        auto expected = Oracle(available, must_include, size);
        ASSERT_EQ(expected.has_value(), chosen.has_value())
            << available << " " << must_include << " " << size;
        if (!expected) continue;
        std::vector<std::string> order = Ids(must_include);
        std::ranges::copy(Ids(*expected & ~must_include), std::back_inserter(order));
        ASSERT_EQ(order, *chosen) << available << " " << must_include << " " << size;
      }
    }
  }
}

}  // namespace
}  // namespace tenon::policy
