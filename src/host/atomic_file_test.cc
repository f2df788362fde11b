#include "host/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "host/temp_tree.h"

namespace tenon::host {
namespace {

using ::testing::ElementsAre;

std::string Content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::vector<std::string> Names(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    names.push_back(entry.path().filename());
  return names;
}

struct WriteFileAtomicallyTest : ::testing::Test {
  TempTree tree;
  std::string path = tree.Real("/file");
};

TEST_F(WriteFileAtomicallyTest, MakesAFileWithItsMode) {
  ASSERT_TRUE(WriteFileAtomically(path, "content", 0640));

  struct stat st {};
  ASSERT_EQ(0, ::stat(path.c_str(), &st));
  EXPECT_EQ(0640U, st.st_mode & 07777);
  EXPECT_EQ("content", Content(path));
  EXPECT_THAT(Names(tree.root()), ElementsAre("file"));
}

TEST_F(WriteFileAtomicallyTest, ReplacesAFileThatReadersKeep) {
  tree.File("/file", "old");
  std::ifstream reader(path);

  ASSERT_TRUE(WriteFileAtomically(path, std::string(1 << 20, 'n'), 0600));

  std::string read;
  reader >> read;
  EXPECT_EQ("old", read);
  EXPECT_EQ(std::string(1 << 20, 'n'), Content(path));
  EXPECT_THAT(Names(tree.root()), ElementsAre("file"));
}

TEST_F(WriteFileAtomicallyTest, ReplacesASymlinkAndNotWhatItLeadsTo) {
  tree.File("/target", "old");
  tree.Link("/file", "target");

  ASSERT_TRUE(WriteFileAtomically(path, "new", 0600));

  EXPECT_EQ("old", Content(tree.Real("/target")));
  EXPECT_EQ("new", Content(path));
}

TEST_F(WriteFileAtomicallyTest, AMissingDirectoryIsNotFound) {
  auto written = WriteFileAtomically(tree.Real("/none/file"), "x", 0600);

  ASSERT_FALSE(written);
  EXPECT_EQ(Code::kNotFound, written.error().code());
  EXPECT_EQ("open directory " + tree.Real("/none/") + ": No such file or directory",
            written.error().message());
}

TEST_F(WriteFileAtomicallyTest, APathWithoutAFileNameIsRefused) {
  for (const char* bad : {"", "/", "/tmp/", "/tmp/.", ".."})
    EXPECT_EQ(Code::kInvalidArgument, WriteFileAtomically(bad, "x", 0600).error().code()) << bad;
}

TEST_F(WriteFileAtomicallyTest, AFailedRenameLeavesNothingBehind) {
  tree.File("/file/inside", "old");

  auto written = WriteFileAtomically(path, "x", 0600);

  ASSERT_FALSE(written);
  EXPECT_EQ("rename into " + path + ": Is a directory", written.error().message());
  EXPECT_THAT(Names(tree.root()), ElementsAre("file"));
}

TEST_F(WriteFileAtomicallyTest, ADirectoryThatTakesNoFilesIsNamed) {
  auto written = WriteFileAtomically("/proc/tenon", "x", 0600);

  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message(),
              ::testing::StartsWith("create a temporary file for /proc/tenon: "));
}

/// Runs `body` in a child with a tmpfs of 64 KiB at `directory`, gone with the
/// child, and returns its exit status, or kNoMount.
constexpr int kNoMount = 77;
int OnSmallTmpfs(const std::string& directory, const std::function<int()>& body) {
  pid_t pid = ::fork();
  if (pid == 0) {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", directory.c_str(), "tmpfs", 0, "size=64k") != 0)
      ::_exit(kNoMount);
    ::_exit(body());
  }
  int status = 0;
  EXPECT_EQ(pid, ::waitpid(pid, &status, 0));
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(WriteFileAtomicallyTest, AFullFileSystemKeepsTheOldContent) {
  int status = OnSmallTmpfs(tree.root(), [&] {
    tree.File("/file", "old");
    auto written = WriteFileAtomically(path, std::string(1 << 20, 'x'), 0600);
    if (written || written.error().code() != Code::kResourceExhausted) return 1;
    if (written.error().message() != "write " + path + ": No space left on device") return 2;
    if (Content(path) != "old") return 3;
    return Names(tree.root()) == std::vector<std::string>{"file"} ? 0 : 4;
  });

  if (status == kNoMount) GTEST_SKIP() << "needs CAP_SYS_ADMIN to mount a tmpfs";
  EXPECT_EQ(0, status);
}

TEST_F(WriteFileAtomicallyTest, AReadOnlyFileSystemIsPermissionDenied) {
  int status = OnSmallTmpfs(tree.root(), [&] {
    tree.File("/file", "old");
    if (::mount("none", tree.root().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0)
      return kNoMount;
    auto written = WriteFileAtomically(path, "new", 0600);
    if (written || written.error().code() != Code::kPermissionDenied) return 1;
    return Content(path) == "old" ? 0 : 2;
  });

  if (status == kNoMount) GTEST_SKIP() << "needs CAP_SYS_ADMIN to mount a tmpfs";
  EXPECT_EQ(0, status);
}

}  // namespace
}  // namespace tenon::host
