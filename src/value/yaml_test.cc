#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "value/value.h"

namespace tenon {
namespace {

using ::testing::StartsWith;

std::vector<Value> ParseAll(std::string_view text) {
  auto documents = ParseYaml(text, "f.yaml");
  if (documents) return *documents;
  ADD_FAILURE() << documents.error().message();
  return {};
}

Value Parse(std::string_view text) {
  auto documents = ParseAll(text);
  if (documents.size() == 1) return documents[0];
  ADD_FAILURE() << documents.size() << " documents";
  return {};
}

std::string ErrorOf(std::string_view text, const ParseLimits& limits = {}) {
  auto documents = ParseYaml(text, "f.yaml", limits);
  if (!documents) return documents.error().message();
  std::string all = "no error:";
  for (const Value& document : *documents)
    all += " " + ToJson(document);
  return all;
}

std::string Repeat(std::string_view text, size_t times) {
  std::string all;
  all.reserve(text.size() * times);
  for (size_t i = 0; i < times; ++i)
    all += text;
  return all;
}

TEST(ParseYaml, ReadsBlockAndFlowCollections) {
  EXPECT_EQ(R"({"a":1,"b":["x","0451",{"c":null}],"d":"l1\n l2\n"})",
            ToJson(Parse("a: 1\nb:\n- 'x'\n- 0451\n- {c: ~}\nd: |\n  l1\n   l2\n")));
}

TEST(ParseYaml, KeepsTheTextOfPlainScalarsAndMarksQuotedOnes) {
  Value value = Parse("[0451, 1e04, yes, \"12\", 0x1209, '']");
  EXPECT_EQ("0451", value.items()[0].text());
  EXPECT_EQ("1e04", value.items()[1].text());
  EXPECT_EQ("yes", value.items()[2].text());
  EXPECT_EQ(Value::Kind::kString, value.items()[3].kind());
  EXPECT_EQ("0x1209", value.items()[4].text());
  EXPECT_EQ(Value::Kind::kString, value.items()[5].kind());
}

TEST(ParseYaml, KnowsThePlaceOfEachKeyAndValue) {
  Value value = Parse("# c\n\xC3\xA9: \xC3\xA9\nlist:\n  - one\n  - k: [2]\nnone:\nlast: 1\n");
  const auto& first = value.members()[0];
  EXPECT_EQ((Mark{2, 1}), first.key_mark);
  EXPECT_EQ((Mark{2, 5}), first.value.mark());
  const auto& list = value.members()[1].value;
  EXPECT_EQ((Mark{4, 3}), list.mark());
  EXPECT_EQ((Mark{4, 5}), list.items()[0].mark());
  EXPECT_EQ((Mark{5, 5}), list.items()[1].members()[0].key_mark);
  EXPECT_EQ((Mark{5, 9}), list.items()[1].members()[0].value.items()[0].mark());
  EXPECT_TRUE(value.members()[2].value.is_null());
  EXPECT_EQ((Mark{6, 1}), value.members()[2].value.mark());
  EXPECT_EQ((Mark{7, 7}), value.members()[3].value.mark());
}

TEST(ParseYaml, KeepsKeysThatOccurTwice) {
  Value value = Parse("a: 1\na: 2\n");
  ASSERT_EQ(2, value.members().size());
  EXPECT_EQ((Mark{2, 1}), value.members()[1].key_mark);
}

TEST(ParseYaml, ReadsSeveralDocumentsAndLeavesOutEmptyOnes) {
  EXPECT_EQ(0, ParseAll("").size());
  EXPECT_EQ(0, ParseAll("# nothing\n").size());
  EXPECT_EQ(0, ParseAll("---\n---\n").size());
  auto documents = ParseAll("a: 1\n---\n# none\n---\nb: 2\n...\nc: 3\n");
  ASSERT_EQ(3, documents.size());
  EXPECT_EQ((Mark{5, 1}), documents[1].mark());
}

TEST(ParseYaml, AcceptsByteOrderMarkCrlfAndEscapes) {
  EXPECT_EQ(R"({"a":1,"b":"x y"})", ToJson(Parse("\xEF\xBB\xBF"
                                                 "a: 1\r\nb: \"x\\x20y\"\r\n")));
  EXPECT_EQ((Mark{1, 1}), Parse("\xEF\xBB\xBF"
                                "a: 1\r\n")
                              .members()[0]
                              .key_mark);
  EXPECT_EQ(R"({"a":"l1\nl2\n"})", ToJson(Parse("a: |\r\n  l1\r\n  l2\r\n")));
}

TEST(ParseYaml, AKeyNeedsNoValue) {
  EXPECT_EQ(R"({"a":null})", ToJson(Parse("a:")));
  EXPECT_EQ(R"({"a":null})", ToJson(Parse("a: ")));
  EXPECT_EQ(R"({"a":null})", ToJson(Parse("'a' : ")));
  EXPECT_EQ(R"({"a":null,"b":null})", ToJson(Parse("a:\nb: ")));
  EXPECT_EQ(R"({"a":null,"b":null})", ToJson(Parse("{a, b}")));
  EXPECT_EQ(R"({"a":null,"b":null})", ToJson(Parse("? a\n? b\n")));
}

TEST(ParseYaml, SpaceAtTheEndDoesNotBelongToABlockScalar) {
  EXPECT_EQ(R"({"a":"f\n"})", ToJson(Parse("a: >\n  f\n  ")));
  EXPECT_EQ(R"({"a":"f"})", ToJson(Parse("a: |\n  f")));
}

TEST(ParseYaml, FollowsAliases) {
  EXPECT_EQ(R"({"a":{"x":[1]},"b":{"x":[1]},"c":[1]})",
            ToJson(Parse("a: &all\n  x: &list [1]\nb: *all\nc: *list\n")));
  EXPECT_EQ(R"([1,2,2])", ToJson(Parse("[&a 1, &a 2, *a]")));
}

TEST(ParseYaml, AnAnchorEndsWithItsDocument) {
  EXPECT_EQ("f.yaml:3:4: there is no anchor of this name above", ErrorOf("a: &x 1\n---\nb: *x\n"));
}

struct Fault {
  std::string_view name;
  std::string_view text;
  std::string_view error;
};

class YamlFault : public ::testing::TestWithParam<Fault> {};

TEST_P(YamlFault, IsRefusedWithItsPlace) {
  EXPECT_EQ(GetParam().error, ErrorOf(GetParam().text));
}

using namespace std::string_view_literals;
constexpr std::string_view kNotAbove =
    "this does not belong to what stands above; is its indentation right?";
constexpr std::string_view kColon =
    "\":\" is not allowed here; begin each key on a line of its own, and quote a text that "
    "contains \": \"";

std::string At(std::string_view place, std::string_view why) {
  return "f.yaml:" + std::string(place) + ": " + std::string(why);
}

TEST(ParseYaml, RefusesWhatTheLibraryTakesForAnotherDocument) {
  EXPECT_EQ(At("2:1", kNotAbove), ErrorOf("- a\nb: 1\n"));
  EXPECT_EQ(At("1:5", kNotAbove), ErrorOf("\"a\" \"b\""));
  EXPECT_EQ(At("1:3", kNotAbove), ErrorOf("[],"));
  EXPECT_EQ(At("1:1", kNotAbove), ErrorOf(","));
}

TEST(ParseYaml, ExplainsAStrayColon) {
  EXPECT_EQ(At("1:5", kColon), ErrorOf("a: b: c\n"));
  EXPECT_EQ(At("2:4", kColon), ErrorOf("a: 1\n  b: 2\n"));
}

INSTANTIATE_TEST_SUITE_P(
    Catalogue, YamlFault,
    ::testing::Values(
        Fault{"KeyWithoutColon", "a: 1\nfoo\n",
              "f.yaml:2:1: a key is expected here, with \":\" after it"},
        Fault{"IndentedLess", "a:\n  - 2\n b: 3\n",
              "f.yaml:3:2: this does not line up with the keys above; give the keys of one "
              "mapping the same indentation"},
        Fault{"DoubleQuoteOpen", "a: 1\nb: \"x\nc: 2\n", "f.yaml:2:4: this quote is never closed"},
        Fault{"SingleQuoteOpen", "a: &n 'it''s\n", "f.yaml:1:7: this quote is never closed"},
        Fault{"QuoteOpenAtTheEnd", "a: \"x", "f.yaml:1:6: the file ends inside a quoted text"},
        Fault{"BraceOpen", "a: {b: 1\n",
              "f.yaml:1:4: this is not closed, or a comma is missing between two of its items"},
        Fault{"BracketOpen", "a: [b, c\nd: 1\n",
              "f.yaml:1:4: this is not closed, or a comma is missing between two of its items"},
        Fault{"CommaMissing", "a: {b: \"1\" c: 2}\n",
              "f.yaml:1:4: this is not closed, or a comma is missing between two of its items"},
        Fault{"TwoCommasInAList", "a: [1,,2]\n", "f.yaml:1:7: nothing stands before this comma"},
        Fault{"TwoCommasInAMapping", "a: {b: 1,, c: 2}\n", "f.yaml:1:10: a key must be text"},
        Fault{"TabIndents", "a:\n\t- 2\n", "f.yaml:2:1: tab in the indentation; use spaces"},
        Fault{"TabBeforeKey", "\ta: 2\n", "f.yaml:1:1: tab in the indentation; use spaces"},
        Fault{"TabInAListThatReadsOn", "a:\n  - x\n\t- y\n",
              "f.yaml:3:1: tab in the indentation; use spaces"},
        Fault{"ListAsKey", "? [a]\n: 1\n", "f.yaml:1:3: a key must be text"},
        Fault{"NullAsKey", "~: 1\n", "f.yaml:1:1: a key must be text"},
        Fault{"AliasAsKey", "a: &x 1\n*x : 2\n", "f.yaml:2:1: a key must be text, not an alias"},
        Fault{"MergeKey", "a: &x {b: 1}\nc:\n  <<: *x\n",
              "f.yaml:3:3: merge keys are not supported; repeat the keys instead"},
        Fault{"OwnTag", "a: !foo x\n",
              "f.yaml:1:4: tags are not supported; put quotes around what is meant as text"},
        Fault{"CoreTag", "a: !!str 1\n",
              "f.yaml:1:4: tags are not supported; put quotes around what is meant as text"},
        Fault{"TagOfNothing", "a: &x !foo\nb: 1\n",
              "f.yaml:1:4: tags are not supported; put quotes around what is meant as text"},
        Fault{"TagOfAList", "a: ! [1]\n",
              "f.yaml:1:4: tags are not supported; put quotes around what is meant as text"},
        Fault{"MarkerBehindText", "'y'---\n",
              "f.yaml:1:4: this does not belong to what stands above; is its indentation right?"},
        Fault{"MarkerBeforeText", "{a: 1}\n---b\n",
              "f.yaml:2:1: this does not belong to what stands above; is its indentation right?"},
        Fault{"SurrogatePair", "a: \"\\ud83d\\ude00\"\n",
              "f.yaml:1:11: this \\u escape is no character; write the character itself"},
        Fault{"NextLineEscape", "a: \"x\\N\"\n",
              "f.yaml:1:4: the escapes \\N and \\_ are not supported; write the character itself"},
        Fault{"HardSpaceEscape", "a: \"\\_x\"\n",
              "f.yaml:1:4: the escapes \\N and \\_ are not supported; write the character itself"},
        Fault{"EscapedKey", "\"\\N\": 1\n",
              "f.yaml:1:1: the escapes \\N and \\_ are not supported; write the character itself"},
        Fault{"AliasOfItself", "a: &x [*x]\n",
              "f.yaml:1:8: an alias cannot stand inside its own anchor"},
        Fault{"AtSign", "a: @x\n",
              "f.yaml:1:4: a text that begins with this character needs quotes"},
        Fault{"BadEscape", "a: \"C:\\q\"\n",
              "f.yaml:1:9: unknown escape after \"\\\"; write \"\\\\\", or use single quotes"},
        Fault{"EscapedNul", "a: \"x\\0\"\n", "f.yaml:1:4: the text contains a NUL character"},
        Fault{"Nul", "a: 1\nb: \0\n"sv,
              "f.yaml:2:4: control character 0x00; this does not look like text"},
        Fault{"EndOfTransmission",
              "a: 1\n\x04"
              "b: 2\n",
              "f.yaml:2:1: control character 0x04; this does not look like text"},
        Fault{"Latin1", "a: caf\xE9\n",
              "f.yaml:1:7: byte 0xE9 is not UTF-8 text; save it as UTF-8"},
        Fault{"Utf16",
              "\xFF\xFE"
              "a",
              "f.yaml:1:1: byte 0xFF is not UTF-8 text; save it as UTF-8"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(ParseYaml, TabsInsideTextAreText) {
  EXPECT_EQ(R"({"a":"x\ty","b":"\tcode\n","c":"q r"})",
            ToJson(Parse("a: x\ty\nb: |\n  \tcode\nc: \"q\n\tr\"\n")));
}

TEST(ParseYaml, HoldsItsLimits) {
  EXPECT_EQ("f.yaml: has 5 bytes, at most 4 are read", ErrorOf("a: 1\n", {.bytes = 4}));
  EXPECT_EQ("f.yaml:3:3: more than 3 values", ErrorOf("- 1\n- 2\n- 3\n", {.values = 3}));
  EXPECT_EQ("f.yaml: more than 3 values", ErrorOf("[1, 2, 3, 4]", {.values = 3}));
  EXPECT_EQ("f.yaml:1:5: nested deeper than 2 levels", ErrorOf("- - - x\n", {.depth = 2}));
  EXPECT_EQ("f.yaml:2:5: nested deeper than 3 levels",
            ErrorOf("- &a [[1]]\n- - *a\n", {.depth = 3}));
}

TEST(ParseYaml, AliasBombsEndInAnError) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 20; ++i) {
    std::string last = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + Repeat(last + ", ", 9) +
            last + "]\n";
  }
  EXPECT_THAT(ErrorOf(bomb), StartsWith("f.yaml:6:"));
  EXPECT_THAT(ErrorOf(bomb), ::testing::HasSubstr("more than 1000000 values"));
  std::string wide =
      "a: &a " + std::string(1'000'000, 'x') + "\nb: [*a" + Repeat(", *a", 999) + "]";
  EXPECT_THAT(ErrorOf(wide), ::testing::HasSubstr("aliases repeat more than 16777216 bytes"));
}

TEST(ParseYaml, NestedAnchorsCountAgainstTheLimitToo) {
  std::string text;
  for (int i = 0; i < 40; ++i)
    text += "&a" + std::to_string(i) + " [";
  text += Repeat("1,", 30'000) + Repeat("]", 40);
  EXPECT_THAT(ErrorOf(text), ::testing::HasSubstr("more than 1000000 values"));
}

class DeepNesting : public ::testing::TestWithParam<std::string_view> {};

TEST_P(DeepNesting, IsAnErrorAndNoCrash) {
  EXPECT_THAT(ErrorOf(Repeat(GetParam(), 1'000'000 / GetParam().size())), StartsWith("f.yaml:1:"));
}

INSTANTIATE_TEST_SUITE_P(ParseYaml, DeepNesting,
                         ::testing::Values("[", "{", "- ", "? ", "{a: ", "[a, ", "? - ", "[{"));

TEST(ParseYaml, MoreBracketsThanValuesAllowedAreNotReadAtAll) {
  EXPECT_EQ("f.yaml: more than 1000000 values", ErrorOf(Repeat("[", 1'000'001)));
}

}  // namespace
}  // namespace tenon
