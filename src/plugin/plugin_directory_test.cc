#include "plugin/plugin_directory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/fake_file_watch.h"
#include "host/temp_tree.h"

namespace tenon::plugin {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;

struct PluginDirectoryTest : ::testing::Test {
  PluginDirectoryTest() {
    tree.Directory("/plugins");
    directory.OnHint([this] { ++hints; });
  }
  host::TempTree tree;
  loop::TimerQueue timers{base::MonotonicTime{}};
  host::FakeFileWatch watch;
  const std::string path = tree.Real("/plugins");
  PluginDirectory directory{{}, timers, &watch, path};
  int hints = 0;
};

TEST_F(PluginDirectoryTest, SeesTheDirectoryAndKubeletSock) {
  EXPECT_NE(0U, directory.Look().directory);
  EXPECT_EQ(0U, directory.Look().kubelet_socket);

  tree.File("/plugins/kubelet.sock", "");

  EXPECT_NE(0U, directory.Look().kubelet_socket);
  EXPECT_EQ(directory.Look(), directory.Look());
}

TEST_F(PluginDirectoryTest, ASuccessorHasAnotherNumberEvenIfItsInodeIsReused) {
  uint64_t last = 0;
  for (int i = 0; i < 100; ++i) {
    tree.Remove("/plugins/kubelet.sock");
    tree.File("/plugins/kubelet.sock", "");
    uint64_t number = directory.Look().kubelet_socket;
    ASSERT_GT(number, last);
    last = number;
  }
}

TEST_F(PluginDirectoryTest, AMissingDirectoryIsNamedAndPolledEverySecond) {
  tree.Remove("/plugins");
  DirectoryView view = directory.Look();
  EXPECT_EQ(0U, view.directory);
  EXPECT_EQ("stat " + path + ": No such file or directory", view.trouble);
  EXPECT_FALSE(directory.deleted());

  tree.Directory("/plugins");
  hints = 0;
  timers.Advance(seconds(1));

  EXPECT_EQ(1, hints);
  EXPECT_NE(0U, directory.Look().directory);
}

TEST_F(PluginDirectoryTest, AFileInPlaceOfTheDirectoryIsTrouble) {
  tree.Remove("/plugins");
  tree.File("/plugins", "");

  EXPECT_EQ("open " + path + ": Not a directory", directory.Look().trouble);
}

TEST_F(PluginDirectoryTest, AReplacedDirectoryIsWatchedAnew) {
  uint64_t before = directory.Look().directory;
  tree.Move("/plugins", "/old");
  tree.Directory("/plugins");
  tree.File("/plugins/kubelet.sock", "");
  watch.Fire(path, "", true);
  timers.Advance(seconds(0));

  DirectoryView view = directory.Look();

  EXPECT_EQ(1, hints);
  EXPECT_NE(before, view.directory);
  EXPECT_NE(0U, view.kubelet_socket);
  EXPECT_THAT(watch.paths(), ElementsAre(path));
  hints = 0;
  watch.Fire(path, "x");
  timers.Advance(seconds(0));
  EXPECT_EQ(1, hints);
}

TEST_F(PluginDirectoryTest, ADirectoryThatMovedAwayAndBackIsWatchedAnew) {
  int watches = 0;
  watch.on_watch = [&watches](const std::string&) { ++watches; };

  watch.Fire(path, "", true);
  directory.Look();

  EXPECT_EQ(1, watches);
}

TEST_F(PluginDirectoryTest, ABurstOfEventsIsOneHint) {
  for (int i = 0; i < 10; ++i)
    watch.Fire(path, "kubelet.sock");
  EXPECT_EQ(0, hints);

  timers.Advance(seconds(0));

  EXPECT_EQ(1, hints);
}

TEST_F(PluginDirectoryTest, WithInotifyItPollsOnceAMinute) {
  timers.Advance(seconds(59));
  EXPECT_EQ(0, hints);

  timers.Advance(seconds(61));
  EXPECT_EQ(2, hints);
}

TEST_F(PluginDirectoryTest, WithoutInotifyItPollsEveryTwoSeconds) {
  watch.failure = Error(Code::kResourceExhausted, "no watches left");
  for (host::FileWatch* file_watch :
       {static_cast<host::FileWatch*>(nullptr), static_cast<host::FileWatch*>(&watch)}) {
    PluginDirectory blind{{}, timers, file_watch, path};
    int blind_hints = 0;
    blind.OnHint([&blind_hints] { ++blind_hints; });

    timers.Advance(seconds(10));

    EXPECT_EQ(5, blind_hints);
  }
}

TEST_F(PluginDirectoryTest, APathThatLeadsToADeletedDirectoryIsToldFromAMissingOne) {
  // What a bind mount keeps alive, a descriptor does here.
  base::UniqueFd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const std::string link = "/proc/self/fd/" + std::to_string(fd.get());
  PluginDirectory stale{{}, timers, nullptr, link};
  EXPECT_NE(0U, stale.Look().directory);

  tree.Remove("/plugins");
  DirectoryView view = stale.Look();

  EXPECT_EQ(0U, view.directory);
  EXPECT_TRUE(stale.deleted());
  EXPECT_THAT(view.trouble, EndsWith("leads to a deleted directory"));
}

/// The files of a directory that is removed go first, and no event tells of itself.
TEST_F(PluginDirectoryTest, ASecondAfterKubeletSockWentItLooksAgain) {
  tree.File("/plugins/kubelet.sock", "");
  directory.Look();
  tree.Remove("/plugins/kubelet.sock");
  directory.Look();
  hints = 0;
  timers.Advance(seconds(1));
  EXPECT_EQ(1, hints);

  watch.Fire(path, "tenon-x.sock");
  timers.Advance(seconds(0));
  EXPECT_EQ(2, hints);
  timers.Advance(seconds(1));
  EXPECT_EQ(3, hints);

  timers.Advance(seconds(50));
  EXPECT_EQ(3, hints) << "and not again";
}

TEST_F(PluginDirectoryTest, DestroyedItIsNotCalledAnyMore) {
  {
    PluginDirectory short_lived{{}, timers, &watch, path};
    short_lived.OnHint([] { FAIL(); });
    watch.Fire(path, "x");
  }
  timers.Advance(seconds(120));
  EXPECT_THAT(watch.paths(), ElementsAre(path));
}

}  // namespace
}  // namespace tenon::plugin
