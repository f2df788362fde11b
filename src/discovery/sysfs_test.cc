#include "discovery/sysfs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "discovery/sysfs_tree.h"

namespace tenon::discovery {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct SysfsTest : ::testing::Test {
  SysfsTree sysfs;
  host::TempTree& tree = sysfs.tree;
  std::unique_ptr<host::Host> host = *host::PosixHost::Open(tree.root());
};

TEST_F(SysfsTest, AttributesComeWithoutTheSpaceAroundThem) {
  tree.File("/sys/devices/x/a", "  text with spaces \n");
  tree.File("/sys/devices/x/empty", "\n");
  tree.File("/sys/devices/x/long", std::string(5000, 'x'));
  tree.Directory("/sys/devices/x/directory");

  EXPECT_EQ("text with spaces", ReadAttribute(*host, "/sys/devices/x", "a"));
  EXPECT_EQ("", ReadAttribute(*host, "/sys/devices/x", "empty"));
  EXPECT_EQ("", ReadAttribute(*host, "/sys/devices/x", "none"));
  EXPECT_EQ("", ReadAttribute(*host, "/sys/devices/x", "directory"));
  EXPECT_EQ(4096U, ReadAttribute(*host, "/sys/devices/x", "long").size());
}

TEST_F(SysfsTest, ADevicePathIsThatOfTheKernelAndNeverLeavesDev) {
  auto path = [&](const std::string& uevent) {
    tree.File("/sys/devices/x/uevent", uevent);
    return DevicePath(*host, "/sys/devices/x");
  };

  EXPECT_EQ("/dev/bus/usb/001/014", path("MAJOR=189\nDEVNAME=bus/usb/001/014\nX=y\n"));
  EXPECT_EQ("/dev/tty1", path("DEVNAME=/dev/tty1\n"));
  EXPECT_EQ("", path("MAJOR=1\n"));
  EXPECT_EQ("", path("DEVNAME=../etc/shadow\n"));
  EXPECT_EQ("", path("DEVNAME=a//b\n"));
  EXPECT_EQ("", path("DEVNAME=\n"));
}

TEST_F(SysfsTest, TheNumaNodeIsThatOfTheNearestThatKnows) {
  tree.File("/sys/devices/pci0000:00/0000:00:14.0/numa_node", "1\n");
  tree.File("/sys/devices/pci0000:00/0000:00:14.0/usb1/1-1/numa_node", "-1\n");

  EXPECT_THAT(NumaNodes(*host, "/sys/devices/pci0000:00/0000:00:14.0/usb1/1-1"), ElementsAre(1));
  EXPECT_THAT(NumaNodes(*host, "/sys/devices/virtual/tty"), IsEmpty());
}

TEST_F(SysfsTest, NodesBelowStopAtOtherDevicesAndFollowNoLinks) {
  sysfs.tree.Directory("/dev");
  if (!sysfs.Node("usb1/1-1/1-1:1.0/tty/ttyACM10", "tty", "ttyACM10", 166, 10))
    GTEST_SKIP() << "needs CAP_MKNOD";
  ASSERT_TRUE(sysfs.Node("usb1/1-1/1-1:1.0/tty/ttyACM2", "tty", "ttyACM2", 166, 2));
  ASSERT_TRUE(sysfs.Node("usb1/1-1/1-1.4/1-1.4:1.0/hidraw/hidraw0", "hidraw", "hidraw0", 240, 0));
  tree.Link("/sys/devices/usb1/1-1/loop", "..");

  auto nodes = NodesBelow(*host, "/sys/devices/usb1/1-1", &IsUsbPort);

  ASSERT_EQ(2U, nodes.size());
  EXPECT_EQ((SysfsNode{"/sys/devices/usb1/1-1/1-1:1.0/tty/ttyACM2", "tty", "/dev/ttyACM2"}),
            nodes[0]);
  EXPECT_EQ("/dev/ttyACM10", nodes[1].path);
}

TEST_F(SysfsTest, ATreeWithoutEndCostsABoundedAmountOfWork) {
  std::string path = "/sys/devices/x";
  for (int i = 0; i < 40; ++i)
    path += "/d";
  tree.File(path + "/dev", "1:3\n");

  EXPECT_THAT(NodesBelow(*host, "/sys/devices/x", &IsUsbPort), IsEmpty());
}

TEST(SysfsNames, OfPciAndUsbAreToldFromOthers) {
  for (const char* name : {"0000:01:00.0", "10000:e1:00.7"})
    EXPECT_TRUE(IsPciAddress(name)) << name;
  for (const char* name :
       {"", "01:00.0", "0000:01:00.8", "0000:01:00", "0000:0G:00.0", "pci0000:00", "0000.01:00.0"})
    EXPECT_FALSE(IsPciAddress(name)) << name;
  for (const char* name : {"1-1", "1-1.4", "12-10.2.3"})
    EXPECT_TRUE(IsUsbPort(name)) << name;
  for (const char* name : {"usb1", "1-1:1.0", "1-", "-1", "1-1.", "1-a", "1"})
    EXPECT_FALSE(IsUsbPort(name)) << name;
}

TEST(SysfsNames, AWildcardStandsForAnyCharacters) {
  for (const auto& [pattern, text] :
       std::initializer_list<std::pair<const char*, const char*>>{{"", ""},
                                                                  {"*", ""},
                                                                  {"*", "abc"},
                                                                  {"a*c", "abbc"},
                                                                  {"a*", "a"},
                                                                  {"*b*d", "abcbd"},
                                                                  {"x?", "x?"}})
    EXPECT_TRUE(WildcardMatches(pattern, text)) << pattern;
  for (const auto& [pattern, text] : std::initializer_list<std::pair<const char*, const char*>>{
           {"", "a"}, {"a", ""}, {"a*c", "ab"}, {"x?", "xy"}, {"*b", "bc"}})
    EXPECT_FALSE(WildcardMatches(pattern, text)) << pattern;
}

}  // namespace
}  // namespace tenon::discovery
