#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"

namespace tenon::checkpoint {
namespace {

using std::string_literals::operator""s;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr std::string_view kWorkedExample =
    R"({"Data":{"PodDeviceEntries":[{"PodUID":"11111111-2222-3333-4444-555555555555",)"
    R"("ContainerName":"main","ResourceName":"vendor.com/gpu","DeviceIDs":{"0":["d0"]},)"
    R"("AllocResp":"Cg0KB1ZJU0lCTEUSAmQwGhYKBy9kZXYveDASBy9kZXYveDAaAnJ3"}],)"
    R"("RegisteredDevices":{"vendor.com/gpu":["d0","d1"]}},"Checksum":3693125021})";

/// A file with these entries and a checksum that is surely wrong.
std::string WithEntries(std::string_view entries) {
  return "{\"Data\":{\"PodDeviceEntries\":" + std::string(entries) +
         ",\"RegisteredDevices\":{}},\"Checksum\":-1}";
}

std::string WithDeviceIds(std::string_view ids, std::string_view response = "null") {
  return WithEntries(R"([{"PodUID":"","ContainerName":"","ResourceName":"","DeviceIDs":)" +
                     std::string(ids) + ",\"AllocResp\":" + std::string(response) + "}]");
}

std::string ErrorOf(std::string_view text) {
  auto result = Decode(text, "ck");
  if (result) return "accepted";
  EXPECT_EQ(result.error().code(), Code::kDataLoss);
  return result.error().message();
}

TEST(CodecTest, ReadsTheWorkedExample) {
  auto checkpoint = Decode(kWorkedExample, "ck");

  ASSERT_TRUE(checkpoint) << checkpoint.error().message();
  ASSERT_EQ(checkpoint->entries->size(), 1U);
  const Entry& entry = checkpoint->entries->front();
  EXPECT_EQ(entry.container_name, "main");
  EXPECT_THAT(*entry.device_ids, UnorderedElementsAre(Pair(0, Ids({"d0"}))));
  EXPECT_THAT(*entry.alloc_resp, HasSubstr("VISIBLE"));
  EXPECT_THAT(*checkpoint->registered_devices,
              UnorderedElementsAre(Pair("vendor.com/gpu", Ids({"d0", "d1"}))));
  EXPECT_EQ(Encode(*checkpoint), kWorkedExample);
}

TEST(CodecTest, NothingAndEmptyStayApart) {
  Checkpoint nothing{.entries = {{{.pod_uid = "p"}}}};
  Checkpoint empty{.entries = {{{.pod_uid = "p",
                                 .device_ids = std::map<int64_t, Ids>{{-1, std::nullopt}},
                                 .alloc_resp = ""}}},
                   .registered_devices = {{{"a/b", std::nullopt}, {"a/c", Ids(std::in_place)}}}};

  EXPECT_THAT(Encode(nothing), HasSubstr(R"("DeviceIDs":null,"AllocResp":null}],)"
                                         R"("RegisteredDevices":null})"));
  EXPECT_THAT(Encode(empty), HasSubstr(R"("DeviceIDs":{"-1":null},"AllocResp":""}],)"
                                       R"("RegisteredDevices":{"a/b":null,"a/c":[]}})"));
  EXPECT_EQ(*Decode(Encode(nothing), "ck"), nothing);
  EXPECT_EQ(*Decode(Encode(empty), "ck"), empty);
  EXPECT_EQ(*Decode(Encode({}), "ck"), Checkpoint());
}

TEST(CodecTest, NumaNodesAreWrittenInTheOrderOfTheirText) {
  Entry entry{.device_ids = {{{2, {{"c"}}}, {10, {{"b"}}}, {-1, {{"a"}}}, {0, {{"z"}}}}}};

  EXPECT_THAT(Encode({.entries = {{entry}}}),
              HasSubstr(R"({"-1":["a"],"0":["z"],"10":["b"],"2":["c"]})"));
}

TEST(CodecTest, TextIsEscapedAsGoDoes) {
  Entry entry{.pod_uid = "\"\\/<>&\b\f\n\r\t\x01\x1f\x7f\u00e9\u2027\u2028\u2029\u202a\U0001f600"};

  EXPECT_THAT(Encode({.entries = {{entry}}}),
              HasSubstr("{\"PodUID\":\"\\\"\\\\/\\u003c\\u003e\\u0026\\b\\f\\n\\r\\t\\u0001\\u001f"
                        "\x7f\u00e9\u2027\\u2028\\u2029\u202a\U0001f600\","));
  auto decoded = Decode(Encode({.entries = {{entry}}}), "ck");
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(decoded->entries->front(), entry);
}

TEST(CodecTest, EachByteThatIsNotUtf8IsWrittenAsTheReplacementCharacter) {
  Entry entry{.pod_uid = "a\xff\xc3(\xe2\x80"};

  EXPECT_THAT(Encode({.entries = {{entry}}}), HasSubstr(R"("a\ufffd\ufffd(\ufffd\ufffd")"));
}

TEST(CodecTest, AWrongChecksumIsNamedWithTheRightOne) {
  std::string tampered(kWorkedExample);
  tampered.replace(tampered.find("d1"), 2, "d2");

  EXPECT_THAT(ErrorOf(tampered),
              ::testing::MatchesRegex("ck: checksum is 3693125021, the content's is [0-9]+"));
  EXPECT_THAT(ErrorOf(WithEntries("null")),
              HasSubstr("checksum is -1, the content's is 3467439661"));
}

TEST(CodecTest, TheFlatListOfOldKubeletsIsRecognised) {
  EXPECT_EQ(ErrorOf(WithDeviceIds(R"(["d0"])", "\"\"")),
            "ck:1:92: DeviceIDs is a flat list: the file was written by kubelet 1.19 or older");
}

TEST(CodecTest, UnknownKeysAreIgnoredAndTheLastOfTwoCounts) {
  EXPECT_NE(ErrorOf(R"({"Checksum":1,"extra":[{}],"Data":7,"Data":{"RegisteredDevices":null,)"
                    R"("new":1,"PodDeviceEntries":null},"Checksum":1944006890})"),
            "");
  EXPECT_EQ(*Decode(R"({"Checksum":1,"extra":[{}],"Data":7,"Data":{"RegisteredDevices":null,)"
                    R"("new":1,"PodDeviceEntries":null},"Checksum":1944006890})",
                    "ck"),
            Checkpoint());
}

TEST(CodecTest, MissingFieldsAreNamed) {
  EXPECT_EQ(ErrorOf("{}"), "ck:1:1: Data is missing");
  EXPECT_EQ(ErrorOf(R"({"Data":{}})"), "ck:1:1: Checksum is missing");
  EXPECT_EQ(ErrorOf(R"({"Data":{},"Checksum":0})"), "ck:1:9: PodDeviceEntries is missing");
  EXPECT_EQ(ErrorOf(R"({"Data":{"PodDeviceEntries":null},"Checksum":0})"),
            "ck:1:9: RegisteredDevices is missing");
  EXPECT_EQ(ErrorOf(WithEntries("[{}]")), "ck:1:30: PodUID is missing");
}

TEST(CodecTest, ValuesOfTheWrongKindAreNamedWithTheirPlace) {
  EXPECT_EQ(ErrorOf("[]"), "ck:1:1: what holds Data is a list, a mapping is expected");
  EXPECT_EQ(ErrorOf(R"({"Data":null,"Checksum":0})"),
            "ck:1:9: what holds PodDeviceEntries is nothing, a mapping is expected");
  EXPECT_THAT(ErrorOf(WithEntries("{}")), HasSubstr("PodDeviceEntries is a mapping"));
  EXPECT_THAT(ErrorOf(WithEntries("[null]")), HasSubstr("what holds PodUID is nothing"));
  EXPECT_THAT(ErrorOf(WithEntries("[{\"PodUID\":3}]")),
              HasSubstr("ck:1:40: PodUID is a number, text is expected"));
  EXPECT_THAT(ErrorOf(WithDeviceIds("3")), HasSubstr("DeviceIDs is a number"));
  EXPECT_THAT(ErrorOf(WithDeviceIds(R"({"x\n":[]})")), HasSubstr("DeviceIDs has the key \"x\\n\""));
  EXPECT_THAT(ErrorOf(WithDeviceIds(R"({"9223372036854775808":[]})")), HasSubstr("has the key"));
  EXPECT_THAT(ErrorOf(WithDeviceIds(R"({"0":{}})")), HasSubstr("a list is expected"));
  EXPECT_THAT(ErrorOf(WithDeviceIds(R"({"0":[null]})")), HasSubstr("a device id is nothing"));
  EXPECT_THAT(ErrorOf(WithDeviceIds("null", "[1]")), HasSubstr("AllocResp is a list"));
  EXPECT_THAT(ErrorOf(WithDeviceIds("null", "\"=\"")), HasSubstr("base64 is expected"));
  std::string odd(kWorkedExample);
  odd.replace(odd.rfind("3693125021"), 10, "\"369\"");
  EXPECT_THAT(ErrorOf(odd), HasSubstr("Checksum is text, a whole number is expected"));
}

TEST(CodecTest, WhatIsNotJsonIsRefusedWithItsPlace) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("ck"));
  EXPECT_THAT(ErrorOf(kWorkedExample.substr(0, 100)), HasSubstr("ck:1:"));
  EXPECT_THAT(ErrorOf(std::string(kWorkedExample) + "x"), HasSubstr("ck:1:"));
  EXPECT_NE(ErrorOf(std::string(100'000, '[')), "accepted");
}

TEST(CodecTest, EveryPrefixOfAFileIsRefused) {
  for (size_t size = 0; size < kWorkedExample.size(); ++size)
    EXPECT_NE(ErrorOf(kWorkedExample.substr(0, size)), "accepted") << size;
}

}  // namespace
}  // namespace tenon::checkpoint
