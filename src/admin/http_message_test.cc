#include "admin/http_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::admin {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(HttpMessage, AnErrorIsJsonWhateverItsTextHolds) {
  EXPECT_EQ("{\"error\":\"no \\\"x\\\"\\n\"}\n", ErrorResponse(404, "no \"x\"\n").body);
}

TEST(HttpMessage, DecodesPathAndQuery) {
  HttpRequest request;

  ASSERT_TRUE(ParseTarget("/a%20b/c?x=1&y=%2F+z&flag&x=2#top", request));

  EXPECT_EQ("/a b/c", request.path);
  EXPECT_THAT(request.query, ElementsAre(Pair("flag", ""), Pair("x", "2"), Pair("y", "/+z")));
}

TEST(HttpMessage, RefusesTargetsThatAreNoPathHere) {
  for (const char* target :
       {"", "a", "*", "http://x/", "/%", "/%4", "/%zz", "/%00", "/?%", "/?a=%0"}) {
    HttpRequest request;
    EXPECT_FALSE(ParseTarget(target, request)) << target;
  }
}

TEST(HttpMessage, WhatIsFormattedIsParsedBack) {
  HttpRequest request{.path = "/pods/a b%?#/\xc3\xa9",
                      .query = {{"c", "x&y=z"}, {"d e", ""}, {"f", "+/"}}};

  std::string target = FormatTarget(request);
  HttpRequest back;

  EXPECT_EQ("/pods/a%20b%25%3F%23/%C3%A9?c=x%26y%3Dz&d%20e=&f=%2B%2F", target);
  ASSERT_TRUE(ParseTarget(target, back));
  EXPECT_EQ(request.path, back.path);
  EXPECT_EQ(request.query, back.query);
}

}  // namespace
}  // namespace tenon::admin
