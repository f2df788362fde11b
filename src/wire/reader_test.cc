#include "wire/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::wire {
namespace {

using std::string_literals::operator""s;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Everything {
  std::string text;
  std::vector<std::string> texts;
  bool flag = false;
  int32_t small = 0;
  int64_t large = 0;
  std::string nested_text;
};

void ReadEverything(Reader& in, Everything& out) {
  while (in.Next()) {
    if (in.number() == 1) in.ReadText("text", out.text);
    if (in.number() == 2) in.AppendText("texts", out.texts);
    if (in.number() == 3) in.ReadBool(out.flag);
    if (in.number() == 4) in.ReadInt32(out.small);
    if (in.number() == 5) in.ReadInt64(out.large);
    if (in.number() == 6) {
      in.ReadMessage("Inner", [&](Reader& nested) {
        while (nested.Next())
          if (nested.number() == 1) nested.ReadText("text", out.nested_text);
      });
    }
  }
}

Result<Everything> Read(std::string_view bytes) {
  return Decode(bytes, "Outer", ReadEverything);
}

std::string ErrorOf(std::string_view bytes) {
  auto result = Read(bytes);
  return result ? "accepted" : result.error().message();
}

TEST(ReaderTest, ReadsFieldsInAnyOrderAndTheLastScalarWins) {
  auto result = Read("\x18\x01\x12\x01x\x0a\x01p\x12\x00\x0a\x01q\x18\x00"s);

  ASSERT_TRUE(result);
  EXPECT_EQ(result->text, "q");
  EXPECT_THAT(result->texts, ElementsAre("x", ""));
  EXPECT_FALSE(result->flag);
}

TEST(ReaderTest, ReadsNegativeNumbers) {
  auto result = Read(
      "\x20\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s);

  ASSERT_TRUE(result);
  EXPECT_EQ(result->small, -2);
  EXPECT_EQ(result->large, -1);
}

TEST(ReaderTest, ABoolIsTrueWhenAnyOfItsBitsIs) {
  EXPECT_FALSE(Read("\x18\x80\x00"s)->flag);
  EXPECT_TRUE(Read("\x18\x80\x80\x04"s)->flag);
}

TEST(ReaderTest, SkipsUnknownFieldsOfEveryWireType) {
  auto result = Read(
      "\x78\x05"                           // varint
      "\x79\1\2\3\4\5\6\7\x08"             // fixed64
      "\x7a\x02\xff\xff"                   // bytes, not UTF-8
      "\x7b\x0a\x01z\x73\x08\x01\x74\x7c"  // group with fields and a group in it
      "\x7d\1\2\3\4"                       // fixed32
      "\xc2\xb8\x02\x01g"                  // number 5000
      "\x0a\x01k"s);

  ASSERT_TRUE(result);
  EXPECT_EQ(result->text, "k");
}

TEST(ReaderTest, TakesAKnownFieldOfAnotherWireTypeForAnUnknownOne) {
  auto result = Read("\x0a\x01k\x08\x07\x1a\x01x\x35\1\2\3\4\x10\x01"s);

  ASSERT_TRUE(result);
  EXPECT_EQ(result->text, "k");
  EXPECT_TRUE(result->texts.empty());
  EXPECT_FALSE(result->flag);
}

TEST(ReaderTest, MergesASubmessageThatOccursTwice) {
  auto result = Read("\x32\x03\x0a\x01i\x32\x02\x10\x05"s);

  ASSERT_TRUE(result);
  EXPECT_EQ(result->nested_text, "i");
}

TEST(ReaderTest, NamesTheFieldWhoseTextIsNotUtf8) {
  EXPECT_EQ(ErrorOf("\x0a\x02\xc0\x80"s), "Outer.text: text is not valid UTF-8 at byte 2");
  EXPECT_EQ(ErrorOf("\x12\x01\xff"s), "Outer.texts: text is not valid UTF-8 at byte 2");
  EXPECT_EQ(ErrorOf("\x18\x00\x32\x03\x0a\x01\xff"s),
            "Inner.text: text is not valid UTF-8 at byte 6");
}

TEST(ReaderTest, RefusesLengthsThatLie) {
  EXPECT_EQ(ErrorOf("\x0a\x03pq"s), "Outer, field 1: 3 bytes announced, 2 left at byte 2");
  EXPECT_EQ(ErrorOf("\x0a\xff\xff\xff\xff\x07p"s),
            "Outer, field 1: 2147483647 bytes announced, 1 left at byte 6");
  EXPECT_THAT(ErrorOf("\x0a\x81\x80\x80\x80\x80\x00p"s), HasSubstr("number too long"));
  // The submessage ends before its field does, though the outer message goes on.
  EXPECT_EQ(ErrorOf("\x32\x03\x0a\x02iii"s), "Inner, field 1: 2 bytes announced, 1 left at byte 4");
}

TEST(ReaderTest, RefusesWhatIsCutOff) {
  const std::string whole =
      "\x0a\x01p\x18\x81\x01\x79\1\2\3\4\5\6\7\x08\x7d\1\2\3\4\x7b\x08\x01\x7c"s;
  const std::vector<size_t> ends = {0, 3, 6, 15, 20, 24};

  for (size_t size = 0; size <= whole.size(); ++size) {
    bool is_end = std::find(ends.begin(), ends.end(), size) != ends.end();
    EXPECT_EQ(Read(whole.substr(0, size)).has_value(), is_end) << size;
  }
}

TEST(ReaderTest, RefusesBrokenTags) {
  EXPECT_THAT(ErrorOf("\x02\x00"s), HasSubstr("field number 0"));
  EXPECT_THAT(ErrorOf("\x0e"s), HasSubstr("unknown wire type"));
  EXPECT_THAT(ErrorOf("\x0f"s), HasSubstr("unknown wire type"));
  EXPECT_THAT(ErrorOf("\x8a\x80\x80\x80\x80\x00\x00"s), HasSubstr("number too long"));
  EXPECT_THAT(ErrorOf("\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s),
              HasSubstr("number too long"));
}

TEST(ReaderTest, RefusesGroupsThatDoNotMatch) {
  EXPECT_THAT(ErrorOf("\x7c"s), HasSubstr("end of a group that did not start"));
  EXPECT_THAT(ErrorOf("\x7b\x74"s), HasSubstr("end of another group"));
  EXPECT_THAT(ErrorOf("\x32\x01\x7b\x7c"s), HasSubstr("cut off within a group"));
}

TEST(ReaderTest, RefusesNestingThatIsTooDeep) {
  auto nested = [](size_t depth) {
    return std::string(depth, '\x7b') + std::string(depth, '\x7c');
  };

  EXPECT_EQ(ErrorOf(nested(100)), "accepted");
  EXPECT_THAT(ErrorOf(nested(101)), HasSubstr("nested too deep"));
  EXPECT_THAT(ErrorOf(std::string(1'000'000, '\x7b')), HasSubstr("nested too deep"));
}

TEST(ReaderTest, TheFirstFaultIsTheOneReported) {
  EXPECT_EQ(ErrorOf("\x0a\x01\xff\x7c"s), "Outer.text: text is not valid UTF-8 at byte 2");
}

}  // namespace
}  // namespace tenon::wire
