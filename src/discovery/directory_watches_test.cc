#include "discovery/directory_watches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/fake_file_watch.h"
#include "host/temp_tree.h"

namespace tenon::discovery {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct DirectoryWatchesTest : ::testing::Test {
  DirectoryWatchesTest() {
    tree.Directory("/dev/a");
    tree.Directory("/dev/b");
  }
  host::TempTree tree;
  std::unique_ptr<host::Host> host = *host::PosixHost::Open(tree.root());
  host::FakeFileWatch files;
  base::RecordingLog log;
  std::vector<std::string> events;  // "directory name".
  DirectoryWatches watches{*host, &files, log,
                           [this](const std::string& directory, const std::string& name) {
                             events.push_back(directory + " " + name);
                           }};
};

TEST_F(DirectoryWatchesTest, FollowsADirectoryOnceAndTellsOfItsEvents) {
  EXPECT_TRUE(watches.Follow({"/dev/a", "/dev/b"}));
  EXPECT_FALSE(watches.Follow({"/dev/a", "/dev/b"}));

  files.Fire(tree.Real("/dev/a"), "x");

  EXPECT_THAT(events, ElementsAre("/dev/a x"));
  EXPECT_TRUE(watches.complete());
  EXPECT_THAT(files.paths(), ElementsAre(tree.Real("/dev/a"), tree.Real("/dev/b")));
}

TEST_F(DirectoryWatchesTest, LeavesWhatIsNoLongerOnTheWay) {
  watches.Follow({"/dev/a", "/dev/b"});

  EXPECT_FALSE(watches.Follow({"/dev/b"}));

  EXPECT_THAT(files.paths(), ElementsAre(tree.Real("/dev/b")));
}

TEST_F(DirectoryWatchesTest, ADirectoryThatIsGoneIsWatchedAnewWhenItIsBack) {
  watches.Follow({"/dev/a"});

  files.Fire(tree.Real("/dev/a"), "a", true);

  EXPECT_THAT(events, ElementsAre("/dev/a "));
  EXPECT_THAT(files.paths(), IsEmpty());
  EXPECT_TRUE(watches.Follow({"/dev/a"}));
}

TEST_F(DirectoryWatchesTest, ADirectoryThatWasReplacedUnnoticedIsWatchedAnew) {
  watches.Follow({"/dev/a"});
  tree.Move("/dev/a", "/dev/old");
  tree.Directory("/dev/a");

  EXPECT_TRUE(watches.Follow({"/dev/a"}));
  EXPECT_FALSE(watches.Follow({"/dev/a"}));
}

TEST_F(DirectoryWatchesTest, ADirectoryThatVanishedMeansToLookAgain) {
  EXPECT_TRUE(watches.Follow({"/dev/none"}));
  EXPECT_TRUE(watches.complete());
  EXPECT_THAT(log.lines(), IsEmpty());
}

TEST_F(DirectoryWatchesTest, WatchesThatCannotBeMadeAreLoggedOnceAndMakeItIncomplete) {
  files.failure = Error(Code::kResourceExhausted, "no inotify watches left");

  EXPECT_FALSE(watches.Follow({"/dev/a", "/dev/b"}));
  EXPECT_FALSE(watches.Follow({"/dev/a", "/dev/b"}));

  EXPECT_FALSE(watches.complete());
  EXPECT_THAT(log.lines(), ElementsAre(HasSubstr("no inotify watches left")));
  files.failure.reset();
  EXPECT_TRUE(watches.Follow({"/dev/a", "/dev/b"}));
  EXPECT_TRUE(watches.complete());
}

TEST_F(DirectoryWatchesTest, WithoutInotifyNothingIsWatched) {
  DirectoryWatches none(*host, nullptr, log, nullptr);

  EXPECT_FALSE(none.Follow({"/dev/a"}));
  EXPECT_FALSE(none.complete());
}

}  // namespace
}  // namespace tenon::discovery
