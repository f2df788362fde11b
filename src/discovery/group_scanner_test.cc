#include "discovery/group_scanner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "discovery/path_scanner.h"
#include "discovery/sysfs_tree.h"

namespace tenon::discovery {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Part {
  std::string pattern;
  bool optional = false;
  size_t limit = 1;
  std::vector<std::string> container_paths = {};
};

struct GroupScannerTest : ::testing::Test {
  void SetUp() override {
    if (!tree.CharacterDevice("/dev/null", 1, 3)) GTEST_SKIP() << "needs CAP_MKNOD";
  }
  void Node(const std::string& path, unsigned minor) {
    ASSERT_TRUE(tree.CharacterDevice(path, 116, minor));
  }
  Scan Look(const std::vector<Part>& parts) {
    std::vector<GroupMember> members;
    for (const Part& part : parts) {
      PathOptions options{.path = *base::Glob::Parse(part.pattern)};
      options.nodes.container_paths = part.container_paths;
      members.push_back({std::make_unique<PathScanner>(options), part.optional, part.limit});
    }
    return GroupScanner(std::move(members)).Look(*host);
  }
  std::vector<std::string> Found(const std::vector<Part>& parts) {
    return Texts(Look(parts).devices);
  }
  host::TempTree tree;
  std::unique_ptr<host::Host> host = *host::PosixHost::Open(tree.root());
};

// spec/generic-devices.md §5, input 7.
TEST_F(GroupScannerTest, ItIsOfferedWithAllMandatoryMembersAndItsIdDependsOnNoOther) {
  const std::vector<Part> parts = {{"/dev/a"}, {"/dev/b"}, {"/dev/c", true}};
  for (unsigned subset = 0; subset < 8; ++subset) {
    for (unsigned i = 0; i < 3; ++i) {
      const std::string path = std::string("/dev/") + "abc"[i];
      tree.Remove(path);
      if ((subset >> i & 1U) != 0) Node(path, i);
    }
    if ((subset & 3U) != 3)
      EXPECT_THAT(Found(parts), IsEmpty()) << subset;
    else if (subset == 3)
      EXPECT_THAT(Found(parts), ElementsAre("a_2Bb /dev/a /dev/b"));
    else
      EXPECT_THAT(Found(parts), ElementsAre("a_2Bb /dev/a /dev/b /dev/c"));
  }
}

TEST_F(GroupScannerTest, PatternsAreZippedInNaturalOrderAndTheShortestEndsIt) {
  for (unsigned i : {0U, 2U, 10U})
    Node("/dev/video" + std::to_string(i), i);
  for (unsigned i : {0U, 1U})
    Node("/dev/audio" + std::to_string(i), 20 + i);

  EXPECT_THAT(Found({{"/dev/video*"}, {"/dev/audio*"}}),
              ElementsAre("video0_2Baudio0 /dev/video0 /dev/audio0",
                          "video2_2Baudio1 /dev/video2 /dev/audio1"));
  EXPECT_THAT(Found({{"/dev/video*"}, {"/dev/audio*", true}}),
              ElementsAre("video0 /dev/video0 /dev/audio0", "video2 /dev/video2 /dev/audio1",
                          "video10 /dev/video10"));
}

TEST_F(GroupScannerTest, ALimitLetsAMemberBePartOfSeveralDevices) {
  Node("/dev/timer", 33);
  for (unsigned i = 0; i < 4; ++i)
    Node("/dev/pcm" + std::to_string(i), i);

  EXPECT_THAT(Found({{"/dev/pcm*"}, {"/dev/timer", false, 3}}),
              ElementsAre("pcm0_2Btimer /dev/pcm0 /dev/timer", "pcm1_2Btimer /dev/pcm1 /dev/timer",
                          "pcm2_2Btimer /dev/pcm2 /dev/timer"));
}

TEST_F(GroupScannerTest, AnUnhealthyMandatoryMemberMakesItUnhealthyAnOptionalOneIsLeftOut) {
  Node("/dev/a", 1);
  tree.File("/dev/b", "");

  EXPECT_THAT(Found({{"/dev/a"}, {"/dev/b"}}),
              ElementsAre("a_2Bb: b: is a regular file, not a device node"));
  EXPECT_THAT(Found({{"/dev/a"}, {"/dev/b", true}}), ElementsAre("a /dev/a"));
}

TEST_F(GroupScannerTest, TwoMembersForOnePathInTheContainerAreUnhealthy) {
  Node("/dev/a", 1);
  Node("/dev/b", 2);

  EXPECT_THAT(Found({{"/dev/a", false, 1, {"/dev/x"}}, {"/dev/b", false, 1, {"/dev/x"}}}),
              ElementsAre("a_2Bb: /dev/a and /dev/b would both be /dev/x in a container; let "
                          "mountPath end in \"/\""));
}

TEST_F(GroupScannerTest, TheSameDeviceNodesTwiceAreOneDevice) {
  Node("/dev/a", 1);

  Scan scan = Look({{"/dev/a", false, 2}});

  EXPECT_THAT(Texts(scan.devices), ElementsAre("a /dev/a"));
  EXPECT_EQ(1U, scan.skipped.count("a"));
}

}  // namespace
}  // namespace tenon::discovery
