#include "pod/quantity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::pod {
namespace {

using ::testing::HasSubstr;

struct WholeCase {
  const char* text;
  int64_t whole;
};

TEST(QuantityTest, ReadsEveryFormOfAWholeNumber) {
  constexpr WholeCase kCases[] = {
      {"0", 0},
      {"3", 3},
      {"+3", 3},
      {"003", 3},
      {"3000m", 3},
      {"3Ki", 3072},
      {"1k", 1000},
      {"1.5k", 1500},
      {"0.5Ki", 512},
      {"2e3", 2000},
      {"2E3", 2000},
      {"5000e-3", 5},
      {"1E", 1000000000000000000},
      {"1Ei", int64_t{1} << 60},
      {"3000000u", 3},
      {"3000000000n", 3},
      {"4.", 4},
      {"9223372036854775807", INT64_MAX},
  };
  for (const WholeCase& c : kCases) {
    SCOPED_TRACE(c.text);
    const auto quantity = Quantity::Parse(c.text);

    ASSERT_TRUE(quantity) << quantity.error().message();
    EXPECT_TRUE(quantity->is_whole());
    EXPECT_EQ(quantity->whole(), c.whole);
    EXPECT_EQ(quantity->text(), c.text);
  }
}

TEST(QuantityTest, KnowsAFraction) {
  for (const char* text : {"0.5", "1500m", "1n", "0.1Ki", ".5", "1e-9", "0.0000000001"}) {
    SCOPED_TRACE(text);
    const auto quantity = Quantity::Parse(text);

    ASSERT_TRUE(quantity) << quantity.error().message();
    EXPECT_FALSE(quantity->is_whole());
  }
}

TEST(QuantityTest, ComparesByValueAndNotByText) {
  EXPECT_EQ(*Quantity::Parse("1"), *Quantity::Parse("1000m"));
  EXPECT_EQ(*Quantity::Parse("0.1"), *Quantity::Parse("100m"));
  EXPECT_LT(*Quantity::Parse("999m"), *Quantity::Parse("1"));
  EXPECT_LT(*Quantity::Parse("1000"), *Quantity::Parse("1Ki"));
  EXPECT_EQ(*Quantity::Parse("2"), Quantity::Whole(2));
}

TEST(QuantityTest, RefusesWhatIsNoQuantityAndSaysWhatToWrite) {
  for (const char* text : {"", "x", "1x", "1kk", "Ki", ".", "1 ", " 1", "1e", "1e99", "0x10", "1mi",
                           "1ki", "1.2.3", "one"}) {
    const auto quantity = Quantity::Parse(text);

    ASSERT_FALSE(quantity) << text;
    EXPECT_THAT(quantity.error().message(), HasSubstr("write a number such as"));
  }
}

TEST(QuantityTest, RefusesWhatIsNegativeOrTooLarge) {
  EXPECT_EQ(Quantity::Parse("-1").error().message(), "\"-1\" must not be negative");
  EXPECT_EQ(Quantity::Parse("8Ei").error().message(), "\"8Ei\" is too large");
  EXPECT_EQ(Quantity::Parse("999999999999999999E").error().message(),
            "\"999999999999999999E\" is too large");
  EXPECT_EQ(Quantity::Parse("9223372036854775808").error().message(),
            "\"9223372036854775808\" is too large");
  EXPECT_FALSE(Quantity::Parse("0.0000000000000000001"));
}

}  // namespace
}  // namespace tenon::pod
