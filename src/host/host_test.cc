#include "host/host.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstddef>
#include <functional>

#include "host/host_wrapper.h"
#include "host/temp_tree.h"

namespace tenon::host {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using Resolver = PosixHost::Resolver;

struct HostTest : ::testing::TestWithParam<Resolver> {
  HostTest() {
    tree.File("/dev/plain", "content");
    tree.File("/sys/bus/one", "1\n");
  }
  std::string Real(const std::string& path) {
    auto real = host->RealPath(path);
    return real ? *real : real.error().message();
  }
  std::string StatText(const std::string& path) {
    auto file = host->Stat(path);
    return file ? std::string(FileKindName(file->kind)) : file.error().message();
  }
  TempTree tree;
  std::unique_ptr<PosixHost> host = *PosixHost::Open(tree.root(), GetParam());
};

INSTANTIATE_TEST_SUITE_P(Resolvers, HostTest,
                         ::testing::Values(Resolver::kAuto, Resolver::kWalkOnly),
                         [](const auto& param) {
                           return param.param == Resolver::kAuto ? "Auto" : "Walk";
                         });

TEST_P(HostTest, StatTellsKindsOfFiles) {
  EXPECT_EQ("a regular file", StatText("/dev/plain"));
  EXPECT_EQ("a directory", StatText("/dev"));
  EXPECT_EQ("a directory", StatText("/"));
}

TEST_P(HostTest, ADeviceNodeHasItsNumbers) {
  if (!tree.CharacterDevice("/dev/bus/x", 189, 1025) || !tree.BlockDevice("/dev/disk", 8, 16))
    GTEST_SKIP() << "needs CAP_MKNOD";

  auto node = host->Stat("/dev/bus/x");

  ASSERT_TRUE(node);
  EXPECT_EQ(FileKind::kCharacterDevice, node->kind);
  EXPECT_EQ(189U, node->major);
  EXPECT_EQ(1025U, node->minor);
  EXPECT_TRUE(node->is_device_node());
  EXPECT_EQ(FileKind::kBlockDevice, host->Stat("/dev/disk")->kind);
}

TEST_P(HostTest, AReplacedFileHasAnotherInode) {
  FileStat before = *host->Stat("/dev/plain");
  tree.File("/dev/successor", "content");
  tree.Move("/dev/successor", "/dev/plain");

  EXPECT_NE(before.inode, host->Stat("/dev/plain")->inode);
  EXPECT_EQ(before.device, host->Stat("/dev/plain")->device);
}

TEST_P(HostTest, AMissingFileIsNotFoundByCallAndPath) {
  auto file = host->Stat("/dev/none");

  ASSERT_FALSE(file);
  EXPECT_EQ(Code::kNotFound, file.error().code());
  EXPECT_EQ("stat /dev/none: No such file or directory", file.error().message());
  EXPECT_EQ("resolve /dev/none: No such file or directory", Real("/dev/none"));
}

TEST_P(HostTest, AFileOnTheWayIsNotADirectory) {
  EXPECT_EQ("stat /dev/plain/x: Not a directory", StatText("/dev/plain/x"));
  EXPECT_EQ("stat /dev/plain/: Not a directory", StatText("/dev/plain/"));
  EXPECT_EQ("stat /dev/plain/.: Not a directory", StatText("/dev/plain/."));
  EXPECT_EQ("stat /dev/plain/..: Not a directory", StatText("/dev/plain/.."));
}

TEST_P(HostTest, RelativeAndTornPathsAreRefused) {
  EXPECT_EQ("stat dev/plain: not an absolute path", StatText("dev/plain"));
  EXPECT_EQ("stat : not an absolute path", StatText(""));
  EXPECT_EQ(Code::kInvalidArgument, host->Stat(std::string("/dev\0/plain", 11)).error().code());
  EXPECT_EQ("resolve dev: not an absolute path", Real("dev"));
}

TEST_P(HostTest, TooLongPathsAndNamesAreErrors) {
  EXPECT_THAT(StatText("/" + std::string(300, 'x')), EndsWith("File name too long"));
  std::string deep;
  for (int i = 0; i < 2100; ++i)
    deep += "/.";
  EXPECT_THAT(StatText(deep), EndsWith("File name too long"));
}

TEST_P(HostTest, AbsoluteSymlinksStayInsideTheRoot) {
  tree.Link("/dev/link", "/dev/plain");
  tree.Link("/dev/outside", "/etc/hostname");
  tree.Link("/dev/directory", "/sys/bus");

  EXPECT_EQ("a regular file", StatText("/dev/link"));
  EXPECT_EQ("stat /dev/outside: No such file or directory", StatText("/dev/outside"));
  EXPECT_EQ("/dev/plain", Real("/dev/link"));
  EXPECT_EQ("/sys/bus/one", Real("/dev/directory/one"));
}

TEST_P(HostTest, DotDotStopsAtTheRoot) {
  tree.Link("/dev/up", "../../../../../../../../dev/plain");
  tree.Link("/dev/top", "../../../..");

  EXPECT_EQ("/dev/plain", Real("/dev/up"));
  EXPECT_EQ("a regular file", StatText("/dev/up"));
  EXPECT_EQ("/", Real("/dev/top"));
  EXPECT_EQ("/dev/plain", Real("/../../dev/../sys/.././/dev/./plain"));
  EXPECT_EQ("stat /../tmp: No such file or directory", StatText("/../tmp"));
}

TEST_P(HostTest, DotDotAfterASymlinkIsTheParentOfItsTarget) {
  tree.Link("/dev/directory", "/sys/bus");
  tree.File("/sys/beside", "");

  EXPECT_EQ("/sys/beside", Real("/dev/directory/../beside"));
  EXPECT_EQ("a regular file", StatText("/dev/directory/../beside"));
}

TEST_P(HostTest, ChainsOfSymlinksAreFollowedToTheirEnd) {
  tree.Link("/dev/serial/by-id/usb", "../by-path/usb");
  tree.Link("/dev/serial/by-path/usb", "../../plain");

  EXPECT_EQ("/dev/plain", Real("/dev/serial/by-id/usb"));
  EXPECT_EQ("a regular file", StatText("/dev/serial/by-id/usb"));
}

TEST_P(HostTest, ALoopOfSymlinksIsAnInvalidArgument) {
  tree.Link("/dev/a", "b");
  tree.Link("/dev/b", "a");

  auto file = host->Stat("/dev/a");

  ASSERT_FALSE(file);
  EXPECT_EQ(Code::kInvalidArgument, file.error().code());
  EXPECT_EQ("stat /dev/a: Too many levels of symbolic links", file.error().message());
  EXPECT_EQ("resolve /dev/a: Too many levels of symbolic links", Real("/dev/a"));
}

TEST_P(HostTest, FortySymlinksAreFollowedAndNoMore) {
  tree.Link("/dev/l1", "plain");
  for (int i = 2; i <= 41; ++i)
    tree.Link("/dev/l" + std::to_string(i), "l" + std::to_string(i - 1));

  EXPECT_EQ("a regular file", StatText("/dev/l40"));
  EXPECT_EQ("stat /dev/l41: Too many levels of symbolic links", StatText("/dev/l41"));
}

TEST_P(HostTest, TracePathTellsWhereNamesWereLookedUp) {
  tree.Link("/dev/serial/by-id/usb", "../../plain");
  tree.Link("/dev/link", "serial/by-id/usb");
  std::set<std::string> directories;

  EXPECT_EQ("/dev/plain", *host->TracePath("/dev/link", directories));

  EXPECT_THAT(directories, ElementsAre("/", "/dev", "/dev/serial", "/dev/serial/by-id"));
}

TEST_P(HostTest, TracePathTellsWhereSomethingIsMissing) {
  tree.Link("/dev/link", "/sys/none/deeper");
  std::set<std::string> directories;

  EXPECT_FALSE(host->TracePath("/dev/link", directories));

  EXPECT_THAT(directories, ElementsAre("/", "/dev", "/sys"));
}

TEST_P(HostTest, StatLinkDoesNotFollowTheLastSymlinkOnly) {
  tree.Link("/dev/dangling", "nowhere");
  tree.Link("/dev/directory", "/sys/bus");
  tree.Link("/sys/bus/link", "one");

  EXPECT_EQ(FileKind::kSymlink, host->StatLink("/dev/dangling")->kind);
  EXPECT_EQ(FileKind::kSymlink, host->StatLink("/dev/directory/link")->kind);
  EXPECT_EQ(FileKind::kRegular, host->StatLink("/dev/directory/one")->kind);
  EXPECT_EQ(FileKind::kDirectory, host->StatLink("/dev/directory/")->kind);
  EXPECT_EQ("stat /dev/dangling: No such file or directory", StatText("/dev/dangling"));
}

TEST_P(HostTest, ListIsSortedBytewise) {
  tree.File("/d/tty10", "");
  tree.File("/d/tty2", "");
  tree.File("/d/TTY", "");
  tree.Directory("/d/.hidden");
  tree.Directory("/empty");

  EXPECT_THAT(*host->List("/d"), ElementsAre(".hidden", "TTY", "tty10", "tty2"));
  EXPECT_THAT(*host->List("/empty"), IsEmpty());
}

TEST_P(HostTest, ListNeedsADirectory) {
  auto names = host->List("/dev/plain");

  ASSERT_FALSE(names);
  EXPECT_EQ("list /dev/plain: Not a directory", names.error().message());
}

TEST_P(HostTest, ReadIsCutAtItsLimit) {
  tree.File("/big", std::string(100000, 'x'));
  tree.Link("/link", "big");

  EXPECT_EQ("content", *host->Read("/dev/plain", 100));
  EXPECT_EQ("cont", *host->Read("/dev/plain", 4));
  EXPECT_EQ(100000U, host->Read("/link", 1 << 20)->size());
  EXPECT_EQ(5000U, host->Read("/link", 5000)->size());
}

TEST_P(HostTest, ReadOpensNothingButRegularFiles) {
  ASSERT_EQ(0, ::mkfifo(tree.Real("/pipe").c_str(), 0600));

  EXPECT_EQ("read /dev: is a directory", host->Read("/dev", 10).error().message());
  EXPECT_EQ("read /pipe: is a file of another kind", host->Read("/pipe", 10).error().message());
}

TEST_P(HostTest, HostPathPutsTheRootInFront) {
  EXPECT_EQ(tree.root() + "/dev/plain", host->HostPath("/dev/plain"));
  EXPECT_EQ("/dev/plain", (*PosixHost::Open("/", GetParam()))->HostPath("/dev/plain"));
  EXPECT_EQ(tree.root() + "/dev",
            (*PosixHost::Open(tree.root() + "//", GetParam()))->HostPath("/dev"));
}

TEST_P(HostTest, TheMachinesOwnRootWorksToo) {
  auto machine = *PosixHost::Open("/", GetParam());

  auto null = machine->Stat("/dev/null");

  ASSERT_TRUE(null) << null.error().message();
  EXPECT_EQ(1U, null->major);
  EXPECT_EQ(3U, null->minor);
}

TEST(PosixHostOpen, NamesARootThatIsNotADirectory) {
  EXPECT_EQ("open root /none: No such file or directory",
            PosixHost::Open("/none").error().message());
  EXPECT_EQ("open root /dev/null: Not a directory", PosixHost::Open("/dev/null").error().message());
}

/// Makes openat2 fail with `os_errno` in this process, as an old container runtime does.
bool RefuseOpenAt2(unsigned os_errno) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | os_errno),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{std::size(filter), filter};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

/// The exit status of `body` run in a forked child.
int InChild(const std::function<int()>& body) {
  pid_t pid = ::fork();
  if (pid == 0) ::_exit(body());
  int status = 0;
  EXPECT_EQ(pid, ::waitpid(pid, &status, 0));
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(PosixHostFallback, TheWalkTakesOverWhereOpenAt2IsRefused) {
  constexpr int kNoFilter = 77;
  TempTree tree;
  tree.File("/dev/plain", "content");
  tree.Link("/dev/link", "/dev/plain");
  for (int os_errno : {ENOSYS, EPERM, EINVAL}) {
    int status = InChild([&] {
      if (!RefuseOpenAt2(static_cast<unsigned>(os_errno))) return kNoFilter;
      if (::syscall(SYS_openat2, AT_FDCWD, "/", nullptr, 0) != -1 || errno != os_errno) return 1;
      auto host = *PosixHost::Open(tree.root());
      if (!host->Stat("/dev/link")) return 2;
      if (*host->RealPath("/dev/link") != "/dev/plain") return 3;
      if (*host->Read("/dev/link", 100) != "content") return 4;
      if (host->List("/dev")->size() != 2) return 5;
      if (host->Stat("/none").error().code() != Code::kNotFound) return 6;
      return 0;
    });
    if (status == kNoFilter) GTEST_SKIP() << "seccomp filters are not to be had here";
    EXPECT_EQ(0, status) << os_errno;
  }
}

TEST(HostWrapper, ForwardsWhatATestDoesNotBreak) {
  struct NoList final : HostWrapper {
    using HostWrapper::HostWrapper;
    Result<std::vector<std::string>> List(const std::string& path) override {
      return Error(Code::kPermissionDenied, "list " + path + ": Permission denied");
    }
  };
  TempTree tree;
  tree.File("/x", "content");
  auto host = *PosixHost::Open(tree.root());
  NoList wrapper(*host);

  EXPECT_FALSE(wrapper.List("/"));
  EXPECT_EQ("content", *wrapper.Read("/x", 100));
  EXPECT_EQ("/x", *wrapper.RealPath("/x"));
  std::set<std::string> directories;
  EXPECT_EQ("/x", *wrapper.TracePath("/x", directories));
  EXPECT_THAT(directories, ElementsAre("/"));
  EXPECT_EQ(*host->Stat("/x"), *wrapper.Stat("/x"));
  EXPECT_EQ(*host->StatLink("/x"), *wrapper.StatLink("/x"));
  EXPECT_EQ(host->HostPath("/x"), wrapper.HostPath("/x"));
}

}  // namespace
}  // namespace tenon::host
