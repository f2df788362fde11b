#include "plugin/watch_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace tenon::plugin {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

ListBytes List(std::string_view text) {
  return std::make_shared<const std::string>(text);
}

struct WatchSessionTest : ::testing::Test {
  std::vector<std::string> written;
  WatchSession session{[this](const ListBytes& list) { written.push_back(*list); }};
};

TEST_F(WatchSessionTest, WritesTheFirstListAtOnceEvenAnEmptyOne) {
  session.Offer(List(""));

  EXPECT_THAT(written, ElementsAre(""));
}

TEST_F(WatchSessionTest, SkipsListsOvertakenDuringAWrite) {
  session.Offer(List("a"));
  session.Offer(List("ab"));
  session.Offer(List("abc"));
  session.OnWritten();

  EXPECT_THAT(written, ElementsAre("a", "abc"));
}

TEST_F(WatchSessionTest, DoesNotRepeatAnUnchangedList) {
  session.Offer(List("a"));
  session.OnWritten();
  session.Offer(List("a"));

  EXPECT_THAT(written, ElementsAre("a"));
}

TEST_F(WatchSessionTest, AChangeThatIsTakenBackDuringTheWriteIsNotSent) {
  session.Offer(List("a"));
  session.Offer(List("ab"));
  session.Offer(List("a"));
  session.OnWritten();

  EXPECT_THAT(written, ElementsAre("a"));
}

TEST_F(WatchSessionTest, ANewSessionGetsTheListThatAnOldOneAlreadyHas) {
  ListBytes list = List("a");
  session.Offer(list);
  WatchSession second{[this](const ListBytes& l) { written.push_back("second:" + *l); }};
  second.Offer(list);

  EXPECT_THAT(written, ElementsAre("a", "second:a"));
}

TEST_F(WatchSessionTest, IsIdleOnlyWhenTheNewestListIsWritten) {
  session.Offer(List("a"));
  session.Offer(List("ab"));
  EXPECT_FALSE(session.idle());

  session.OnWritten();
  EXPECT_FALSE(session.idle());

  session.OnWritten();
  EXPECT_TRUE(session.idle());
}

TEST_F(WatchSessionTest, ASecondListSharesTheBytesOfTheFirstSession) {
  ListBytes list = List("a");
  ListBytes got;
  WatchSession keeps{[&got](const ListBytes& l) { got = l; }};
  keeps.Offer(list);

  EXPECT_EQ(list.get(), got.get());
  EXPECT_THAT(written, IsEmpty());
}

}  // namespace
}  // namespace tenon::plugin
