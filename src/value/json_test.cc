#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "value/value.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Value Parse(std::string_view text) {
  auto value = ParseJson(text, "f.json");
  if (value) return *value;
  ADD_FAILURE() << value.error().message();
  return {};
}

std::string ErrorOf(std::string_view text, const ParseLimits& limits = {}) {
  auto value = ParseJson(text, "f.json", limits);
  return value ? "no error: " + ToJson(*value) : value.error().message();
}

TEST(ParseJson, KeepsTheTextOfNumbers) {
  Value value = Parse(R"([1.0, -0, 1E2, 123456789012345678901234567890, true, "1", null])");
  ASSERT_EQ(7, value.items().size());
  EXPECT_EQ("1.0", value.items()[0].text());
  EXPECT_EQ("-0", value.items()[1].text());
  EXPECT_EQ("1E2", value.items()[2].text());
  EXPECT_EQ("123456789012345678901234567890", value.items()[3].text());
  EXPECT_EQ(true, value.items()[4].AsBool());
  EXPECT_EQ(Value::Kind::kString, value.items()[5].kind());
  EXPECT_TRUE(value.items()[6].is_null());
}

TEST(ParseJson, TakesTheDeleteCharacterAsText) {
  EXPECT_EQ("\x7f", Parse("\"\x7f\"").text());
}

TEST(ParseJson, KnowsThePlaceOfEachKeyAndValue) {
  Value value = Parse("{\n  \"a\\\"\": [10 ,\t{}],\r\n\"b\" : \"\\u00e9\",\"c\":null}");
  ASSERT_EQ(3, value.members().size());
  const auto& a = value.members()[0];
  const auto& b = value.members()[1];
  const auto& c = value.members()[2];
  EXPECT_EQ("a\"", a.key);
  EXPECT_EQ((Mark{1, 1}), value.mark());
  EXPECT_EQ((Mark{2, 3}), a.key_mark);
  EXPECT_EQ((Mark{2, 10}), a.value.mark());
  EXPECT_EQ((Mark{2, 11}), a.value.items()[0].mark());
  EXPECT_EQ((Mark{2, 16}), a.value.items()[1].mark());
  EXPECT_EQ((Mark{3, 1}), b.key_mark);
  EXPECT_EQ((Mark{3, 7}), b.value.mark());
  EXPECT_EQ("\xC3\xA9", b.value.text());
  EXPECT_EQ((Mark{3, 16}), c.key_mark);
  EXPECT_EQ((Mark{3, 20}), c.value.mark());
}

TEST(ParseJson, KeepsKeysThatOccurTwice) {
  Value value = Parse(R"({"a":1,"a":2})");
  ASSERT_EQ(2, value.members().size());
  EXPECT_EQ("2", value.members()[1].value.text());
}

TEST(ParseJson, ReadsWhatItWrote) {
  std::string text = R"({"a":[1,-2.5e3,"x\ny",{"b":null}],"":{},"t":true,"u":"\u0000😀"})";
  EXPECT_EQ(text, ToJson(Parse(text)));
  EXPECT_EQ(text, ToJson(Parse(ToJson(Parse(text), true))));
}

TEST(ParseJson, ReadsSurrogatePairsAndSkipsAByteOrderMark) {
  EXPECT_EQ("\xF0\x9F\x98\x80", Parse("\xEF\xBB\xBF\"\\ud83d\\ude00\"").text());
}

TEST(ParseJson, NamesThePlaceOfAFault) {
  EXPECT_EQ("f.json: empty, a JSON text is expected", ErrorOf(" \n"));
  EXPECT_THAT(ErrorOf("{\"a\":\n  nul}"), StartsWith("f.json:2:3: invalid literal"));
  EXPECT_THAT(ErrorOf("[1, 2"), StartsWith("f.json:1:6: "));
  EXPECT_THAT(ErrorOf("[1, 2"), HasSubstr("unexpected end of input; expected ']'"));
  EXPECT_THAT(ErrorOf("[1,]"), StartsWith("f.json:1:4: unexpected ']'"));
  EXPECT_THAT(ErrorOf("[1,,2]"), StartsWith("f.json:1:4: unexpected ','"));
  EXPECT_THAT(ErrorOf("[1 22]"), StartsWith("f.json:1:4: unexpected number literal"));
  EXPECT_THAT(ErrorOf("{\"a\" 1}"), StartsWith("f.json:1:6: "));
  EXPECT_THAT(ErrorOf("{} x"), StartsWith("f.json:1:4: "));
  EXPECT_THAT(ErrorOf("{}{}"), StartsWith("f.json:1:3: "));
  EXPECT_THAT(ErrorOf("[\"ab\n\"]"), StartsWith("f.json:1:5: invalid string"));
  EXPECT_THAT(ErrorOf("[\"a\\q\"]"), StartsWith("f.json:1:5: invalid string"));
  EXPECT_THAT(ErrorOf("[01]"), StartsWith("f.json:1:3: "));
  EXPECT_THAT(ErrorOf("[1e999]"), StartsWith("f.json:1:2: number overflow"));
  EXPECT_THAT(ErrorOf("[\"\\ud800\"]"), StartsWith("f.json:1:9: invalid string"));
}

TEST(ParseJson, RefusesBytesThatAreNoText) {
  using namespace std::string_view_literals;
  EXPECT_THAT(ErrorOf("[\n\"\xff\"]"), StartsWith("f.json:2:2: byte 0xFF is not UTF-8"));
  EXPECT_THAT(ErrorOf("[\0]"sv), StartsWith("f.json:1:2: control character 0x00"));
}

TEST(ParseJson, HoldsItsLimits) {
  EXPECT_EQ("f.json:1:4: nested deeper than 3 levels", ErrorOf("[[[[]]]]", {.depth = 3}));
  EXPECT_EQ("f.json:1:6: more than 3 values", ErrorOf("[1,2,3]", {.values = 3}));
  EXPECT_EQ("f.json: has 7 bytes, at most 6 are read", ErrorOf("[1,2,3]", {.bytes = 6}));
  EXPECT_EQ("[[[]]]", ToJson(*ParseJson("[[[]]]", "", {.depth = 3})));
}

TEST(ParseJson, DeepNestingIsAnErrorAndNoCrash) {
  EXPECT_EQ("f.json:1:65: nested deeper than 64 levels", ErrorOf(std::string(1'000'000, '[')));
  std::string objects;
  for (int i = 0; i < 200'000; ++i)
    objects += "{\"\":";
  EXPECT_EQ("f.json:1:257: nested deeper than 64 levels", ErrorOf(objects));
}

}  // namespace
}  // namespace tenon
