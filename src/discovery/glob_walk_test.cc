#include "discovery/glob_walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/host_wrapper.h"
#include "host/temp_tree.h"

namespace tenon::discovery {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

struct GlobWalkTest : ::testing::Test {
  GlobMatches Walk(const std::string& pattern, const Trust& trust = {}) {
    return WalkGlob(*host, *base::Glob::Parse(pattern), trust);
  }
  host::TempTree tree;
  std::unique_ptr<host::Host> host = *host::PosixHost::Open(tree.root());
};

TEST_F(GlobWalkTest, MatchesComeInNaturalOrder) {
  for (const char* name : {"tty10", "tty2", "tty1", "null"})
    tree.File(std::string("/dev/") + name, "");

  GlobMatches matches = Walk("/dev/tty*");

  EXPECT_THAT(matches.paths, ElementsAre("/dev/tty1", "/dev/tty2", "/dev/tty10"));
  EXPECT_THAT(matches.directories, ElementsAre("/", "/dev"));
}

TEST_F(GlobWalkTest, WildcardsInSeveralComponentsAreFollowed) {
  tree.File("/dev/bus/usb/001/002", "");
  tree.File("/dev/bus/usb/001/010", "");
  tree.File("/dev/bus/usb/002/001", "");
  tree.File("/dev/bus/usb/plain", "");

  GlobMatches matches = Walk("/dev/bus/usb/*/0*");

  EXPECT_THAT(matches.paths,
              ElementsAre("/dev/bus/usb/001/002", "/dev/bus/usb/001/010", "/dev/bus/usb/002/001"));
  EXPECT_THAT(matches.directories, ElementsAre("/", "/dev", "/dev/bus", "/dev/bus/usb",
                                               "/dev/bus/usb/001", "/dev/bus/usb/002"));
  EXPECT_THAT(matches.unreadable, IsEmpty());
}

TEST_F(GlobWalkTest, ALiteralNameBehindAWildcardIsACandidate) {
  tree.Directory("/dev/a");
  tree.Directory("/dev/b");

  EXPECT_THAT(Walk("/dev/*/control").paths, ElementsAre("/dev/a/control", "/dev/b/control"));
}

TEST_F(GlobWalkTest, AMissingDirectoryHasNoMatchAndItsAncestorIsPassed) {
  tree.Directory("/dev");

  GlobMatches matches = Walk("/dev/serial/by-id/*");

  EXPECT_THAT(matches.paths, IsEmpty());
  EXPECT_THAT(matches.directories, ElementsAre("/", "/dev"));
  EXPECT_THAT(matches.unreadable, IsEmpty());
}

TEST_F(GlobWalkTest, ALinkedDirectoryKeepsItsNameAndIsWatchedWhereItIs) {
  tree.File("/dev/real/x", "");
  tree.Link("/dev/link", "real");

  GlobMatches matches = Walk("/dev/link/*");

  EXPECT_THAT(matches.paths, ElementsAre("/dev/link/x"));
  EXPECT_THAT(matches.directories, ElementsAre("/", "/dev", "/dev/real"));
}

TEST_F(GlobWalkTest, ADirectoryOutsideOfWhatRulesMayReachIsNotListed) {
  tree.File("/proc/1/fd/3", "");
  tree.Link("/dev/fd", "/proc/1/fd");

  EXPECT_THAT(Walk("/dev/*/*").paths, IsEmpty());
  EXPECT_THAT(Walk("/dev/*/*").unreadable,
              ElementsAre(Pair("/dev/fd", "leads to /proc/1/fd, outside of what rules may reach")));
  EXPECT_THAT(Walk("/dev/*/*", {.allowed_prefixes = {"/proc/1"}}).paths, ElementsAre("/dev/fd/3"));
}

TEST_F(GlobWalkTest, AnUnreadableDirectoryIsToldAndTheOthersAreListed) {
  struct DeniedHost final : host::HostWrapper {
    using HostWrapper::HostWrapper;
    Result<std::vector<std::string>> List(const std::string& path) override {
      if (path != "/dev/a") return HostWrapper::List(path);
      return Error(Code::kPermissionDenied, "list /dev/a: Permission denied");
    }
  };
  tree.File("/dev/a/x", "");
  tree.File("/dev/b/y", "");
  DeniedHost denied(*host);

  GlobMatches matches = WalkGlob(denied, *base::Glob::Parse("/dev/*/*"), {});

  EXPECT_THAT(matches.paths, ElementsAre("/dev/b/y"));
  EXPECT_THAT(matches.unreadable, ElementsAre(Pair("/dev/a", "list /dev/a: Permission denied")));
}

}  // namespace
}  // namespace tenon::discovery
