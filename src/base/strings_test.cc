#include "base/strings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::base {
namespace {

using ::testing::ElementsAre;

std::string Json(std::string_view text) {
  std::string out;
  AppendJsonString(out, text);
  return out;
}

TEST(Strings, JsonEscapesWhatWouldBreakTheText) {
  EXPECT_EQ(R"("a\"b\\c\n\u0001é")", Json("a\"b\\c\n\x01é"));
}

TEST(Strings, JsonReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ("\"x\xEF\xBF\xBDy\"", Json("x\xffy"));
  EXPECT_EQ("\"\xEF\xBF\xBD\xEF\xBF\xBD\"", Json("\xc0\x80"));
}

TEST(Strings, EscapeForLineLeavesNoControlCharacter) {
  EXPECT_EQ("a\\nb\\x1b[31m\\\\ \\xc2\\x9b日", EscapeForLine("a\nb\x1b[31m\\ \xc2\x9b日"));
}

TEST(Strings, Utf8RefusesOverlongSurrogatesAndTooLarge) {
  EXPECT_TRUE(IsValidUtf8("a\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80"));
  EXPECT_FALSE(IsValidUtf8("\xc0\xaf"));
  EXPECT_FALSE(IsValidUtf8("\xe0\x80\x80"));
  EXPECT_FALSE(IsValidUtf8("\xed\xa0\x80"));
  EXPECT_FALSE(IsValidUtf8("\xf4\x90\x80\x80"));
  EXPECT_FALSE(IsValidUtf8("\xe6\x97"));
}

TEST(Strings, SplitKeepsEmptyParts) {
  EXPECT_THAT(Split("a//b", '/'), ElementsAre("a", "", "b"));
  EXPECT_THAT(Split("", '/'), ElementsAre(""));
}

TEST(Strings, NaturalOrderTakesDigitsAsNumbers) {
  EXPECT_TRUE(NaturalLess("tty2", "tty10"));
  EXPECT_FALSE(NaturalLess("tty10", "tty2"));
  EXPECT_TRUE(NaturalLess("a007", "a7"));
  EXPECT_FALSE(NaturalLess("a7", "a007"));
  EXPECT_TRUE(NaturalLess("a", "a1"));
  EXPECT_TRUE(NaturalLess("a99999999999999999999998", "a99999999999999999999999"));
  EXPECT_FALSE(NaturalLess("same", "same"));
}

TEST(Strings, ParseInt64TakesAllOrNothing) {
  EXPECT_EQ(-12, ParseInt64("-12"));
  EXPECT_EQ(std::nullopt, ParseInt64("12 "));
  EXPECT_EQ(std::nullopt, ParseInt64("+1"));
  EXPECT_EQ(std::nullopt, ParseInt64(""));
  EXPECT_EQ(std::nullopt, ParseInt64("9223372036854775808"));
}

TEST(Strings, FormatsTimeInUtc) {
  EXPECT_EQ("2026-01-01T00:00:00.000Z", FormatRfc3339(FakeClock().WallNow()));
}

TEST(Strings, Rfc3339TimesAreReadBack) {
  const WallTime time = FakeClock().WallNow() + std::chrono::milliseconds(1234);

  EXPECT_EQ(ParseRfc3339(FormatRfc3339(time)), time);
  EXPECT_EQ(ParseRfc3339("1970-01-01T00:00:01Z"), WallTime(std::chrono::seconds(1)));
  for (const char* text :
       {"", "2026-01-01", "2026-02-30T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:00:00",
        "2026-01-01T00:00:00+1", "2026-01-01T00:00:00.-12Z", "2026-01-01T00:00:00,123Z",
        "x026-01-01T00:00:00Z"}) {
    EXPECT_EQ(ParseRfc3339(text), std::nullopt) << text;
  }
}

TEST(Strings, JoinPathPutsOneSlash) {
  EXPECT_EQ("/a/b", JoinPath("/a/", "/b"));
  EXPECT_EQ("/b", JoinPath("/", "b"));
  EXPECT_EQ("b", JoinPath("", "b"));
}

TEST(Strings, Base64RoundTrips) {
  for (std::string bytes : {"", "f", "fo", "foo", "foob"})
    EXPECT_EQ(bytes, Base64Decode(Base64Encode(bytes))) << bytes;
  EXPECT_EQ("Zm9vYg==", Base64Encode("foob"));
  EXPECT_EQ(std::string("\0\xff", 2), Base64Decode("AP8="));
}

TEST(Strings, Base64RefusesWhatIsNotCanonical) {
  for (std::string_view text : {"Zg=", "Zh==", "Z===", "Zg==Zg==", "Z-==", "Zg\n="})
    EXPECT_EQ(std::nullopt, Base64Decode(text)) << text;
}

}  // namespace
}  // namespace tenon::base
