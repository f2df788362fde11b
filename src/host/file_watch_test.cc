#include "host/file_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

#include "host/fake_file_watch.h"
#include "host/temp_tree.h"

namespace tenon::host {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct FileWatchTest : ::testing::Test {
  FileWatchTest() {
    tree.Directory("/a");
    tree.Directory("/b");
  }
  FileWatch::Callback Record(std::vector<std::string>& into) {
    return [&into](const std::string& name, bool gone) { into.push_back(gone ? "GONE" : name); };
  }
  bool RunUntil(const std::function<bool()>& done) { return loop->RunUntil(done, seconds(5)); }
  bool RunUntilSeen(const std::vector<std::string>& events, const std::string& event) {
    return RunUntil([&] { return std::ranges::find(events, event) != events.end(); });
  }
  /// Lets everything that is queued by now be told.
  void Settle() {
    std::vector<std::string> last;
    tree.Directory("/settle");
    auto watch = *files->Watch(tree.Real("/settle"), Record(last));
    tree.File("/settle/x", "");
    EXPECT_TRUE(RunUntilSeen(last, "x"));
  }
  static size_t OpenDescriptors() {
    auto all = std::filesystem::directory_iterator("/proc/self/fd");
    return static_cast<size_t>(std::distance(begin(all), end(all)));
  }
  base::SystemClock clock;
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  TempTree tree;
  std::unique_ptr<FileWatch> files = *FileWatch::Create(*loop);
  std::vector<std::string> a, b;
};

TEST_F(FileWatchTest, TellsOfWritesOnlyIfAskedTo) {
  tree.File("/a/x", "old");
  auto quiet = *files->Watch(tree.Real("/a"), Record(a));
  auto curious = *FileWatch::Create(*loop, FileWatch::Interest::kEntriesAndWrites);
  auto watch = *curious->Watch(tree.Real("/a"), Record(b));

  tree.File("/a/x", "new");

  EXPECT_TRUE(RunUntilSeen(b, "x"));
  Settle();
  EXPECT_THAT(a, IsEmpty());
}

TEST_F(FileWatchTest, TellsOfFilesThatAreMadeRemovedRenamedAndChanged) {
  auto watch = *files->Watch(tree.Real("/a"), Record(a));

  tree.File("/a/made", "");
  tree.Move("/a/made", "/a/renamed");
  std::filesystem::permissions(tree.Real("/a/renamed"), std::filesystem::perms::owner_read);
  tree.Remove("/a/renamed");

  Settle();
  EXPECT_THAT(a, ElementsAre("made", "made", "renamed", "renamed", "renamed"));
}

TEST_F(FileWatchTest, EachDirectoryHasItsOwnCallback) {
  auto watch_a = *files->Watch(tree.Real("/a"), Record(a));
  auto watch_b = *files->Watch(tree.Real("/b"), Record(b));

  tree.File("/b/x", "");

  Settle();
  EXPECT_THAT(a, IsEmpty());
  EXPECT_THAT(b, ElementsAre("x"));
}

TEST_F(FileWatchTest, TwoWatchesOfOneDirectoryAreToldIndependently) {
  tree.Link("/other", "a");
  auto first = *files->Watch(tree.Real("/a"), Record(a));
  auto second = *files->Watch(tree.Real("/other"), Record(b));

  tree.File("/a/x", "");
  ASSERT_TRUE(RunUntilSeen(b, "x"));
  first.reset();
  tree.File("/a/y", "");

  ASSERT_TRUE(RunUntilSeen(b, "y"));
  EXPECT_THAT(a, ElementsAre("x"));
}

TEST_F(FileWatchTest, AfterItsEndAWatchIsNotToldWhatWasQueued) {
  auto watch = *files->Watch(tree.Real("/a"), Record(a));
  tree.File("/a/x", "");
  watch.reset();

  Settle();

  EXPECT_THAT(a, IsEmpty());
}

TEST_F(FileWatchTest, AWatchMadeAgainSeesWhatComesAfter) {
  auto watch = *files->Watch(tree.Real("/a"), Record(a));
  watch.reset();
  watch = *files->Watch(tree.Real("/a"), Record(a));

  tree.File("/a/x", "");

  EXPECT_TRUE(RunUntilSeen(a, "x"));
}

TEST_F(FileWatchTest, ARemovedDirectoryIsGoneOnce) {
  auto watch = *files->Watch(tree.Real("/a"), Record(a));

  tree.Remove("/a");

  ASSERT_TRUE(RunUntilSeen(a, "GONE"));
  Settle();
  EXPECT_EQ(1, std::ranges::count(a, "GONE"));
}

TEST_F(FileWatchTest, AMovedDirectoryIsGoneForAllItsWatches) {
  auto first = *files->Watch(tree.Real("/a"), Record(a));
  auto second = *files->Watch(tree.Real("/a"), Record(b));

  tree.Move("/a", "/moved");
  ASSERT_TRUE(RunUntilSeen(b, "GONE"));
  tree.File("/moved/x", "");

  Settle();
  EXPECT_THAT(a, ElementsAre("GONE"));
  EXPECT_THAT(b, ElementsAre("GONE"));
}

TEST_F(FileWatchTest, ACallbackMayDestroyItsOwnAndOtherWatches) {
  std::unique_ptr<DirectoryWatch> own, other;
  int calls = 0;
  auto callback = [&](const std::string&, bool) {
    ++calls;
    own.reset();
    other.reset();
  };
  own = *files->Watch(tree.Real("/a"), callback);
  other = *files->Watch(tree.Real("/a"), callback);

  tree.File("/a/x", "");
  tree.File("/a/y", "");

  Settle();
  EXPECT_EQ(1, calls);
}

TEST_F(FileWatchTest, ACallbackMayDestroyTheWholeFileWatch) {
  int calls = 0;
  std::unique_ptr<DirectoryWatch> watch, second;
  auto callback = [&](const std::string&, bool) {
    ++calls;
    watch.reset();
    second.reset();
    files.reset();
  };
  watch = *files->Watch(tree.Real("/a"), callback);
  second = *files->Watch(tree.Real("/b"), callback);

  tree.File("/a/x", "");
  tree.File("/b/y", "");

  EXPECT_TRUE(RunUntil([&] { return calls > 0; }));
  EXPECT_FALSE(loop->RunUntil([&] { return calls > 1; }, milliseconds(20)));
}

TEST_F(FileWatchTest, ACallbackMayWatchMore) {
  std::unique_ptr<DirectoryWatch> inner;
  auto outer = *files->Watch(tree.Real("/a"), [&](const std::string& name, bool) {
    inner = *files->Watch(tree.Real("/a/" + name), Record(b));
  });

  tree.Directory("/a/sub");
  ASSERT_TRUE(RunUntil([&] { return inner != nullptr; }));
  tree.File("/a/sub/x", "");

  EXPECT_TRUE(RunUntilSeen(b, "x"));
}

TEST_F(FileWatchTest, AMissingDirectoryAndAFileCannotBeWatched) {
  tree.File("/file", "");

  auto missing = files->Watch(tree.Real("/none"), Record(a));
  auto file = files->Watch(tree.Real("/file"), Record(a));

  ASSERT_FALSE(missing);
  EXPECT_EQ(Code::kNotFound, missing.error().code());
  EXPECT_EQ("watch " + tree.Real("/none") + ": No such file or directory",
            missing.error().message());
  ASSERT_FALSE(file);
  EXPECT_EQ(Code::kInvalidArgument, file.error().code());
}

TEST_F(FileWatchTest, AfterAnOverflowEveryWatchIsToldToLookAtEverything) {
  size_t limit = 0;
  std::ifstream("/proc/sys/fs/inotify/max_queued_events") >> limit;
  if (limit == 0 || limit > 50000) GTEST_SKIP() << "queue of " << limit << " events is too long";
  auto watch_a = *files->Watch(tree.Real("/a"), Record(a));
  auto watch_b = *files->Watch(tree.Real("/b"), Record(b));
  tree.File("/a/x", "");
  tree.File("/a/y", "");
  for (size_t i = 0; i <= limit; ++i)  // Equal events in a row would be merged.
    ::chmod(tree.Real(i % 2 == 0 ? "/a/x" : "/a/y").c_str(), 0600);

  EXPECT_TRUE(RunUntilSeen(b, ""));
  EXPECT_THAT(a, Contains(""));
}

TEST_F(FileWatchTest, NoDescriptorIsLeft) {
  size_t before = OpenDescriptors();
  {
    auto more = *FileWatch::Create(*loop);
    auto watch = *more->Watch(tree.Real("/a"), Record(a));
    EXPECT_EQ(before + 1, OpenDescriptors());
  }
  EXPECT_EQ(before, OpenDescriptors());
}

/// Runs `body` in a child whose user namespace has the limit `name` set to `value`, and returns
/// its exit status, or kNoNamespace.
constexpr int kNoNamespace = 77;
int WithInotifyLimit(const std::string& name, int value, const std::function<int()>& body) {
  pid_t pid = ::fork();
  if (pid == 0) {
    if (::unshare(CLONE_NEWUSER) != 0) ::_exit(kNoNamespace);
    std::ofstream limit("/proc/sys/user/" + name);
    if (!(limit << value << std::flush)) ::_exit(kNoNamespace);
    ::_exit(body());
  }
  int status = 0;
  EXPECT_EQ(pid, ::waitpid(pid, &status, 0));
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(FileWatchLimits, UsedUpInstancesNameTheirSetting) {
  int status = WithInotifyLimit("max_inotify_instances", 0, [] {
    base::SystemClock clock;
    auto loop = *loop::EventLoop::Create(clock);
    auto files = FileWatch::Create(*loop);
    if (files || files.error().code() != Code::kResourceExhausted) return 1;
    return files.error().message().find("fs.inotify.max_user_instances") != std::string::npos ? 0
                                                                                              : 2;
  });

  if (status == kNoNamespace) GTEST_SKIP() << "needs a user namespace";
  EXPECT_EQ(0, status);
}

TEST(FileWatchLimits, UsedUpWatchesNameTheirSetting) {
  TempTree tree;
  tree.Directory("/a");
  int status = WithInotifyLimit("max_inotify_watches", 1, [&] {
    base::SystemClock clock;
    auto loop = *loop::EventLoop::Create(clock);
    auto files = *FileWatch::Create(*loop);
    auto callback = [](const std::string&, bool) {};
    auto first = files->Watch(tree.Real("/"), callback);
    auto second = files->Watch(tree.Real("/a"), callback);
    if (!first) return 1;
    if (second || second.error().code() != Code::kResourceExhausted) return 2;
    return second.error().message().find("fs.inotify.max_user_watches") != std::string::npos ? 0
                                                                                             : 3;
  });

  if (status == kNoNamespace) GTEST_SKIP() << "needs a user namespace";
  EXPECT_EQ(0, status);
}

TEST(FakeFileWatch, TellsTheWatchesThatAreStillThere) {
  FakeFileWatch files;
  std::vector<std::string> seen;
  auto record = [&](const std::string& name, bool gone) { seen.push_back(gone ? "GONE" : name); };
  auto a = *files.Watch("/a", record);
  auto b = *files.Watch("/b", record);
  EXPECT_THAT(files.paths(), ElementsAre("/a", "/b"));
  a.reset();

  files.Fire("/a", "x");
  files.Fire("/b", "y");
  files.Fire("/b", "", true);

  EXPECT_THAT(seen, ElementsAre("y", "GONE"));
  EXPECT_THAT(files.paths(), ElementsAre("/b"));
}

}  // namespace
}  // namespace tenon::host
