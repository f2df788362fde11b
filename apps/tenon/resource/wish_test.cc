#include "tenon/resource/wish.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::cli {
namespace {

using ::testing::HasSubstr;

TEST(WishTest, ReadsResourcesWithQuantitiesAsTheApiDoes) {
  auto wishes = ParseWishes({"example.com/dongle=4", "a.b/c=3000m", "a.b/d=2Ki", "a.b/e=0"});

  ASSERT_TRUE(wishes) << wishes.error().message();
  ASSERT_EQ(4U, wishes->size());
  EXPECT_EQ("example.com/dongle", (*wishes)[0].name.text());
  EXPECT_EQ(4, (*wishes)[0].quantity.whole());
  EXPECT_EQ(3, (*wishes)[1].quantity.whole());
  EXPECT_EQ(2048, (*wishes)[2].quantity.whole());
  EXPECT_EQ(0, (*wishes)[3].quantity.whole());
}

TEST(WishTest, RefusesAllThatTheApiWouldRefuseAtOnce) {
  auto wishes = ParseWishes({"dongle=1", "kubernetes.io/x=1", "a.kubernetes.io/x=1",
                             "requests.a.b/x=1", "a.b/c", "a.b/d=", "a.b/e=0.5", "a.b/f=-1",
                             "a.b/g=1500m", "a.b/h=x", "a.b/i=1", "a.b/i=2"});

  ASSERT_FALSE(wishes);
  for (const char* line :
       {"dongle=1: resource name \"dongle\": needs a domain",
        "kubernetes.io/x=1: resource name \"kubernetes.io/x\": names in kubernetes.io/",
        "a.kubernetes.io/x=1: resource name", "requests.a.b/x=1: resource name",
        "a.b/c: write RESOURCE=QUANTITY", "a.b/d=: \"\" is not a quantity",
        "a.b/e=0.5: \"0.5\" is not a whole number", "a.b/f=-1: \"-1\" must not be negative",
        "a.b/g=1500m: \"1500m\" is not a whole number", "a.b/h=x: \"x\" is not a quantity",
        "a.b/i=2: a.b/i is there twice"}) {
    EXPECT_THAT(wishes.error().message(), HasSubstr(line));
  }
}

TEST(WishTest, ReadsNamesAlone) {
  auto names = ParseNames({"a.b/c", "a.b/d"});
  auto wrong = ParseNames({"a.b/c=1", "x"});

  ASSERT_TRUE(names);
  EXPECT_EQ("a.b/d", (*names)[1].text());
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message(), HasSubstr("a.b/c=1: resource name"));
  EXPECT_THAT(wrong.error().message(), HasSubstr("\nx: resource name"));
}

TEST(WishTest, ANodeNameCannotLeaveItsPlaceInAUrl) {
  EXPECT_TRUE(CheckNodeName("ip-10-0-0-1.eu.internal"));
  for (const char* name : {"", "a/b", "..", "a?b", "A", "a%2f", "a b"})
    EXPECT_FALSE(CheckNodeName(name)) << name;
}

TEST(WishFileTest, SaysForEachNodeWhatItIsToHave) {
  auto wishes = ParseWishFile(
      "nodes:\n"
      "  lab:\n"
      "    example.com/dongle: 4\n"
      "    example.com/seat: \"10\"\n"
      "  edge: {example.com/dongle: 2}\n",
      "r.yaml");

  ASSERT_TRUE(wishes) << wishes.error().message();
  ASSERT_EQ(2U, wishes->size());
  ASSERT_EQ(2U, wishes->at("lab").size());
  EXPECT_EQ(10, wishes->at("lab")[1].quantity.whole());
  EXPECT_EQ(2, wishes->at("edge")[0].quantity.whole());
}

TEST(WishFileTest, TellsEveryMistakeWithItsPlace) {
  auto wishes = ParseWishFile(
      "node: x\n"
      "nodes:\n"
      "  Lab: {a.b/c: 1}\n"
      "  edge: {a.b/c: 1, a.b/c: 2, dongle: 1, a.b/d: [1], a.b/e: 0.5}\n"
      "  none: {}\n"
      "  edge2: {a.b/c: 1}\n"
      "  edge2: {a.b/c: 1}\n",
      "r.yaml");

  ASSERT_FALSE(wishes);
  EXPECT_EQ(
      "r.yaml:1:1: unknown key \"node\"; known here: nodes\n"
      "r.yaml:3:3: \"Lab\" cannot be a kube node: names are lower-case letters, digits, \"-\" and "
      "\".\"\n"
      "r.yaml:4:20: a.b/c is there twice\n"
      "r.yaml:4:30: resource name \"dongle\": needs a domain in front, as in example.com/serial\n"
      "r.yaml:4:41: the quantity must be a number, not a list\n"
      "r.yaml:4:53: \"0.5\" is not a whole number, and devices cannot be divided\n"
      "r.yaml:5:9: \"none\" must be a mapping, as in example.com/dongle: 4\n"
      "r.yaml:7:3: \"edge2\" is there twice",
      wishes.error().message());
}

TEST(WishFileTest, AnEmptyFileIsAMistake) {
  for (const char* text : {"", "[]", "nodes:\n", "nodes: {}\n", "a: 1\n---\nb: 1\n"})
    EXPECT_FALSE(ParseWishFile(text, "r.yaml")) << text;
}

}  // namespace
}  // namespace tenon::cli
