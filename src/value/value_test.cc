#include "value/value.h"

#include <gtest/gtest.h>

#include <limits>

namespace tenon {
namespace {

TEST(Value, IsNullUntilSomethingIsPutIn) {
  Value value;
  EXPECT_TRUE(value.is_null());
  EXPECT_EQ("nothing", value.KindName());
  EXPECT_EQ(std::nullopt, value.AsString());
}

TEST(Value, NamesItsKindForMessages) {
  EXPECT_EQ("a mapping", Value::Object().KindName());
  EXPECT_EQ("a list", Value::Array().KindName());
  EXPECT_EQ("text", Value::String("4").KindName());
  EXPECT_EQ("text", Value::Scalar("four").KindName());
  EXPECT_EQ("a number", Value::Number(4).KindName());
  EXPECT_EQ("true or false", Value::Bool(true).KindName());
}

TEST(Value, OnlyPlainDecimalNumbersAreNumbers) {
  EXPECT_EQ(0, Value::Scalar("0").AsInt());
  EXPECT_EQ(-12, Value::Scalar("-12").AsInt());
  EXPECT_EQ(std::numeric_limits<int64_t>::min(), Value::Scalar("-9223372036854775808").AsInt());
  for (std::string_view text : {"0451", "-01", "1e4", "0x10", "1.0", "+1", "1_000", "", " 1",
                                "9223372036854775808", "four"})
    EXPECT_EQ(std::nullopt, Value::Scalar(text).AsInt()) << text;
  EXPECT_EQ(std::nullopt, Value::String("4").AsInt());
}

TEST(Value, OnlyPlainTrueAndFalseAreBooleans) {
  EXPECT_EQ(true, Value::Scalar("true").AsBool());
  EXPECT_EQ(false, Value::Scalar("false").AsBool());
  for (std::string_view text : {"yes", "on", "True", "1", ""})
    EXPECT_EQ(std::nullopt, Value::Scalar(text).AsBool()) << text;
  EXPECT_EQ(std::nullopt, Value::String("true").AsBool());
}

TEST(Value, FindsTheFirstOfTwoEqualKeys) {
  Value value = Value::Object();
  value.Add("a", Value::Number(1));
  value.Add("a", Value::Number(2));
  ASSERT_NE(nullptr, value.Find("a"));
  EXPECT_EQ("1", value.Find("a")->text());
  EXPECT_EQ(nullptr, value.Find("b"));
  EXPECT_EQ(2, value.members().size());
}

TEST(Value, AtWalksAlongKeysUntilOneIsMissing) {
  Value value = Value::Object();
  value.Add("spec", Value::Object()).Add("nodeName", Value::String("here"));
  ASSERT_NE(nullptr, value.At({"spec", "nodeName"}));
  EXPECT_EQ("here", value.At({"spec", "nodeName"})->text());
  EXPECT_EQ(nullptr, value.At({"spec", "other", "nodeName"}));
  EXPECT_EQ(nullptr, value.At({"spec", "nodeName", "deeper"}));
  EXPECT_EQ(&value, value.At({}));
}

TEST(Value, PlacesAreShownOnlyWhereThereIsOne) {
  EXPECT_EQ("pod.yaml:3:7", PlaceText("pod.yaml", {3, 7}));
  EXPECT_EQ("pod.yaml", PlaceText("pod.yaml", {}));
}

TEST(ToJson, WritesOneLineOrIndents) {
  Value value = Value::Object();
  value.Add("ids", Value::Array()).Append(Value::String("a\"b"));
  value.Add("none", Value::Null());
  value.Add("empty", Value::Object());
  EXPECT_EQ(R"({"ids":["a\"b"],"none":null,"empty":{}})", ToJson(value));
  EXPECT_EQ("{\n  \"ids\": [\n    \"a\\\"b\"\n  ],\n  \"none\": null,\n  \"empty\": {}\n}",
            ToJson(value, true));
}

TEST(ToJson, KeepsWhatIsJsonAndQuotesAllElse) {
  for (std::string_view text :
       {"0", "-0", "10", "-1.5", "1e5", "0.1E-2", "1e-999", "true", "false"})
    EXPECT_EQ(text, ToJson(Value::Scalar(text)));
  for (std::string_view text :
       {"0451", "01", "1.", ".5", "+1", "1e", "1e+", "-", "", "0x1", "yes", "nan", "1 ", "1e999"})
    EXPECT_EQ('"' + std::string(text) + '"', ToJson(Value::Scalar(text)));
  EXPECT_EQ("\"7\"", ToJson(Value::String("7")));
}

}  // namespace
}  // namespace tenon
