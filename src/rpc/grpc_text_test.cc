#include "rpc/grpc_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::rpc {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;

TEST(Status, IsRenderedAsGrpcGoRendersIt) {
  EXPECT_EQ("rpc error: code = NotFound desc = no such device",
            ToString({StatusCode::kNotFound, "no such device"}));
  EXPECT_EQ("OK", StatusCodeName(StatusCode::kOk));
  EXPECT_EQ("Unauthenticated", StatusCodeName(StatusCode::kUnauthenticated));
}

TEST(PercentEncoding, LeavesPrintableAsciiButPercentAlone) {
  EXPECT_EQ("a b~\"", PercentEncode("a b~\""));
  EXPECT_EQ("100%25", PercentEncode("100%"));
  EXPECT_EQ("%0A%00%7F", PercentEncode(std::string_view("\n\0\x7f", 3)));
  EXPECT_EQ("Ger%C3%A4t", PercentEncode("Ger\xc3\xa4t"));
}

TEST(PercentEncoding, CutsLongMessagesBetweenCharacters) {
  std::string long_message;
  for (int i = 0; i < 2000; ++i)
    long_message += "\xc3\xa4";

  std::string encoded = PercentEncode(long_message);

  EXPECT_LE(encoded.size(), 4096U);
  EXPECT_EQ(0U, encoded.size() % 6);
}

TEST(PercentEncoding, DecodesWhatIsWellFormedAndKeepsTheRest) {
  EXPECT_EQ("Ger\xc3\xa4t 100%", PercentDecode("Ger%C3%a4t 100%25"));
  EXPECT_EQ("%", PercentDecode("%"));
  EXPECT_EQ("%4", PercentDecode("%4"));
  EXPECT_EQ("%zz%4", PercentDecode("%zz%4"));
}

TEST(PercentEncoding, GoesRoundForEveryByte) {
  std::string all;
  for (int i = 0; i < 256; ++i)
    all.push_back(static_cast<char>(i));

  EXPECT_EQ(all, PercentDecode(PercentEncode(all)));
}

TEST(Timeout, ParsesEveryUnit) {
  EXPECT_EQ(nanoseconds(1), ParseTimeout("1n"));
  EXPECT_EQ(microseconds(20), ParseTimeout("20u"));
  EXPECT_EQ(milliseconds(300), ParseTimeout("300m"));
  EXPECT_EQ(seconds(99999999), ParseTimeout("99999999S"));
  EXPECT_EQ(minutes(5), ParseTimeout("5M"));
  EXPECT_EQ(hours(6), ParseTimeout("06H"));
  EXPECT_EQ(nanoseconds(0), ParseTimeout("0n"));
}

TEST(Timeout, CutsAbsurdTimesInsteadOfOverflowing) {
  EXPECT_EQ(std::chrono::years(100), ParseTimeout("99999999H"));
}

TEST(Timeout, RefusesWhatIsMalformed) {
  for (const char* text : {"", "1", "S", "-1S", "1s", "1 S", "123456789S", "1.5S", "S1", "+1S"})
    EXPECT_EQ(std::nullopt, ParseTimeout(text)) << text;
}

TEST(Timeout, IsWrittenInTheFinestUnitThatHoldsIt) {
  EXPECT_EQ("1n", FormatTimeout(nanoseconds(1)));
  EXPECT_EQ("99999999n", FormatTimeout(nanoseconds(99999999)));
  EXPECT_EQ("100000u", FormatTimeout(milliseconds(100)));
  EXPECT_EQ("10000000u", FormatTimeout(seconds(10)));
  EXPECT_EQ("3600000m", FormatTimeout(hours(1)));
  EXPECT_EQ("0n", FormatTimeout(-seconds(1)));
}

TEST(Timeout, IsRoundedUpSoThatThePeerDoesNotGiveUpFirst) {
  EXPECT_EQ("100001u", FormatTimeout(nanoseconds(100000001)));
}

TEST(Http2Failures, AreMappedAsGrpcGoMapsThem) {
  EXPECT_EQ(
      "rpc error: code = Unimplemented desc = unexpected HTTP status code received from "
      "server: 404 (Not Found)",
      ToString(StatusOfHttp("404")));
  EXPECT_EQ(StatusCode::kUnknown, StatusOfHttp("302").code);
  EXPECT_EQ(
      "rpc error: code = Canceled desc = stream terminated by RST_STREAM with error code: "
      "CANCEL",
      ToString(StatusOfReset(8)));
  EXPECT_EQ(StatusCode::kUnavailable, StatusOfReset(7).code);
  EXPECT_EQ(StatusCode::kResourceExhausted, StatusOfReset(11).code);
  EXPECT_EQ(StatusCode::kInternal, StatusOfReset(99).code);
}

TEST(ContentType, IsGrpcWithAnySubtype) {
  for (const char* type :
       {"application/grpc", "application/grpc+proto", "application/grpc;charset=utf-8"})
    EXPECT_TRUE(IsGrpcContentType(type)) << type;
  for (const char* type : {"", "application/grpc-web", "text/html", "application/json"})
    EXPECT_FALSE(IsGrpcContentType(type)) << type;
}

TEST(GrpcStatus, IsUnknownWhenItIsNoCode) {
  EXPECT_EQ((Status{StatusCode::kDataLoss, "x"}), ParseStatus("15", "x"));
  for (const char* code : {"", "17", "-1", "five", "1 "})
    EXPECT_EQ(StatusCode::kUnknown, ParseStatus(code, "").code) << code;
}

}  // namespace
}  // namespace tenon::rpc
