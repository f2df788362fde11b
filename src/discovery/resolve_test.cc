#include "discovery/resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/temp_tree.h"

namespace tenon::discovery {
namespace {

using ::testing::ElementsAre;

struct ResolveTest : ::testing::Test {
  void SetUp() override {
    if (!tree.CharacterDevice("/dev/x", 1, 3)) GTEST_SKIP() << "needs CAP_MKNOD";
  }
  FoundPath Found(const std::string& path) {
    FoundPath found = *LookUp(*host, path, {}, directories);
    found.container_path = "/dev/inside";
    found.permissions = "r";
    return found;
  }
  std::string WhyNot(const std::string& path, const Trust& trust = {}) {
    auto found = LookUp(*host, path, trust, directories);
    return found ? "usable" : found.error().message();
  }
  host::TempTree tree;
  std::unique_ptr<host::PosixHost> host = *host::PosixHost::Open(tree.root());
  std::set<std::string> directories;
};

TEST_F(ResolveTest, ASymlinkIsLookedUpToItsDeviceNode) {
  tree.Link("/dev/serial/link", "../x");

  FoundPath found = Found("/dev/serial/link");

  EXPECT_EQ("/dev/serial/link", found.host_path);
  EXPECT_EQ("/dev/x", found.real_path);
  EXPECT_EQ("c 1:3", DeviceNumber(found));
  EXPECT_THAT(directories, ElementsAre("/", "/dev", "/dev/serial"));
}

TEST_F(ResolveTest, TheGroupIsToldWhereItMayDoWhatOthersMayNot) {
  struct Case {
    mode_t mode;
    bool matters;
  };
  const std::string path = tree.Real("/dev/x");
  const gid_t group = ::geteuid() == 0 ? 20 : ::getegid();
  ASSERT_EQ(0, ::chown(path.c_str(), static_cast<uid_t>(-1), group));
  for (const Case& c : std::vector<Case>{
           {0600, false}, {0660, true}, {0666, false}, {0664, true}, {0640, true}, {0644, false}}) {
    ASSERT_EQ(0, ::chmod(path.c_str(), c.mode));

    const FoundPath found = Found("/dev/x");

    EXPECT_EQ(c.matters, found.group.has_value()) << std::oct << c.mode;
    EXPECT_EQ(group, found.group.value_or(group));
    EXPECT_EQ(found.group, ResolveDeviceNode(*host, found, {})->group);
  }
}

TEST_F(ResolveTest, EachThingThatIsNoDeviceNodeIsNamed) {
  tree.File("/dev/plain", "");
  tree.Link("/dev/dangling", "none");
  tree.Link("/dev/loop", "loop");
  tree.Link("/dev/outside", "/srv/x");
  ASSERT_TRUE(tree.CharacterDevice("/srv/x", 1, 3));
  ASSERT_TRUE(tree.CharacterDevice("/dev/memory", 1, 1));

  EXPECT_EQ("no such file", WhyNot("/dev/none"));
  EXPECT_EQ("no such file", WhyNot("/dev/plain/x"));
  EXPECT_EQ("is a regular file, not a device node", WhyNot("/dev/plain"));
  EXPECT_EQ("is a directory, not a device node", WhyNot("/dev"));
  EXPECT_EQ("is a symlink that leads nowhere", WhyNot("/dev/dangling"));
  EXPECT_EQ("resolve /dev/loop: Too many levels of symbolic links", WhyNot("/dev/loop"));
  EXPECT_EQ("leads to /srv/x, outside of what rules may reach", WhyNot("/dev/outside"));
  EXPECT_EQ("usable", WhyNot("/dev/outside", {.allowed_prefixes = {"/srv"}}));
  EXPECT_EQ("is the memory or the ports of the machine, which only an unsafe rule may offer",
            WhyNot("/dev/memory"));
}

TEST_F(ResolveTest, AllocateGetsTheRealPathUnderTheContainersName) {
  tree.Link("/dev/link", "x");

  auto resolved = ResolveDeviceNode(*host, Found("/dev/link"), {});

  ASSERT_TRUE(resolved);
  EXPECT_EQ(
      (DeviceNode{.container_path = "/dev/inside", .host_path = "/dev/x", .permissions = "r"}),
      resolved->node);
  EXPECT_EQ("", resolved->change);
}

TEST_F(ResolveTest, ALinkThatWasMovedLeadsToItsNewTargetAndTheChangeIsTold) {
  ASSERT_TRUE(tree.CharacterDevice("/dev/y", 1, 5));
  tree.Link("/dev/link", "x");
  FoundPath found = Found("/dev/link");
  tree.Link("/dev/.new", "y");
  tree.Move("/dev/.new", "/dev/link");

  auto resolved = ResolveDeviceNode(*host, found, {});

  ASSERT_TRUE(resolved);
  EXPECT_EQ("/dev/y", resolved->node.host_path);
  EXPECT_EQ("device number changed from c 1:3 to c 1:5 since it was found", resolved->change);
}

TEST_F(ResolveTest, WhatIsGoneOrWrongByThenIsAnErrorByPath) {
  FoundPath found = Found("/dev/x");
  auto error = [&] { return ResolveDeviceNode(*host, found, {}).error(); };

  tree.Remove("/dev/x");
  EXPECT_EQ("/dev/x: no such file", error().message());
  EXPECT_EQ(Code::kNotFound, error().code());
  tree.File("/dev/x", "");
  EXPECT_EQ("/dev/x: is a regular file, not a device node", error().message());
  EXPECT_EQ(Code::kFailedPrecondition, error().code());
}

TEST_F(ResolveTest, ALinkThatWasMovedToMemoryIsRefused) {
  tree.Link("/dev/link", "x");
  FoundPath found = Found("/dev/link");
  ASSERT_TRUE(tree.CharacterDevice("/dev/mem", 1, 1));
  tree.Link("/dev/.new", "mem");
  tree.Move("/dev/.new", "/dev/link");

  auto resolved = ResolveDeviceNode(*host, found, {});

  ASSERT_FALSE(resolved);
  EXPECT_EQ(Code::kPermissionDenied, resolved.error().code());
}

}  // namespace
}  // namespace tenon::discovery
