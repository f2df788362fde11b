#include "discovery/sysfs_scanner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "discovery/sysfs_tree.h"

namespace tenon::discovery {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct SysfsScannerTest : ::testing::Test {
  void SetUp() override {
    if (!sysfs.tree.CharacterDevice("/dev/null", 1, 3)) GTEST_SKIP() << "needs CAP_MKNOD";
  }
  void Node(const std::string& path, const std::string& subsystem, const std::string& devname,
            unsigned minor) {
    ASSERT_TRUE(sysfs.Node(path, subsystem, devname, 81, minor));
  }
  Scan Look(const SysfsOptions& options) { return SysfsScanner(options).Look(*host); }
  std::vector<std::string> Found(const SysfsOptions& options) {
    return Texts(Look(options).devices);
  }
  SysfsTree sysfs;
  std::unique_ptr<host::Host> host = *host::PosixHost::Open(sysfs.tree.root());
};

TEST_F(SysfsScannerTest, AnIdIsTheAddressOnTheBusWhateverNumberTheKernelGave) {
  Node("pci0000:00/0000:04:00.0/drm/card1", "drm", "dri/card1", 1);
  Node("pci0000:00/0000:04:00.0/drm/renderD129", "drm", "dri/renderD129", 129);
  Node("pci0000:00/0000:03:00.0/drm/renderD128", "drm", "dri/renderD128", 128);

  EXPECT_THAT(
      Found({.selector = {.subsystem = "drm", .name = "renderD*"}}),
      ElementsAre("drm-0000:03:00.0 /dev/dri/renderD128", "drm-0000:04:00.0 /dev/dri/renderD129"));
}

TEST_F(SysfsScannerTest, WhatIsOnNoBusGoesByItsPath) {
  Node("virtual/misc/kvm", "misc", "kvm", 232);
  Node("virtual/misc/tun", "misc", "net/tun", 200);

  EXPECT_THAT(Found({.selector = {.subsystem = "misc", .name = "kvm"}}),
              ElementsAre("kvm /dev/kvm"));
  EXPECT_THAT(Found({.selector = {.subsystem = "misc", .name = "tun"}}),
              ElementsAre("net_2Ftun /dev/net/tun"));
}

TEST_F(SysfsScannerTest, AttributesNarrow) {
  Node("usb1/1-1/1-1:1.0/input/input5/event5", "input", "input/event5", 69);
  Node("usb1/1-2/1-2:1.0/input/input7/event7", "input", "input/event7", 71);
  sysfs.tree.File("/sys/devices/usb1/1-1/1-1:1.0/input/input5/event5/device/name", "Keyboard A\n");
  sysfs.tree.File("/sys/devices/usb1/1-2/1-2:1.0/input/input7/event7/device/name", "Mouse B\n");

  EXPECT_THAT(
      Found({.selector = {.subsystem = "input", .attributes = {{"device/name", "Mouse*"}}}}),
      ElementsAre("input-1-2:1.0 /dev/input/event7"));
}

TEST_F(SysfsScannerTest, ACameraWithSeveralDeviceNodesIsOneDevice) {
  Node("usb1/1-1/1-1:1.0/video4linux/video0", "video4linux", "video0", 0);
  Node("usb1/1-1/1-1:1.0/video4linux/video1", "video4linux", "video1", 1);
  Node("usb1/1-2/1-2:1.0/video4linux/video2", "video4linux", "video2", 2);

  EXPECT_THAT(Found({.selector = {.subsystem = "video4linux"}, .together = true}),
              ElementsAre("video4linux-1-1:1.0 /dev/video0 /dev/video1",
                          "video4linux-1-2:1.0 /dev/video2"));
  EXPECT_THAT(Found({.selector = {.subsystem = "video4linux"}}),
              ElementsAre("video4linux-1-1:1.0 /dev/video0", "video4linux-1-1:1.0.1 /dev/video1",
                          "video4linux-1-2:1.0 /dev/video2"));
}

TEST_F(SysfsScannerTest, WhatHasNoDeviceNodeIsLeftOutWithItsReason) {
  sysfs.Device("virtual/bluetooth/hci0", "class/bluetooth");

  Scan scan = Look({.selector = {.subsystem = "bluetooth"}});

  EXPECT_THAT(scan.devices, IsEmpty());
  EXPECT_EQ("has no device node", scan.skipped.at("hci0").why);
}

TEST_F(SysfsScannerTest, ABusIsASubsystemToo) {
  sysfs.Device("soc/fpga0", "bus/fpga/devices", {{"dev", "81:9"}, {"uevent", "DEVNAME=fpga0"}});
  ASSERT_TRUE(sysfs.tree.CharacterDevice("/dev/fpga0", 81, 9));

  EXPECT_THAT(Found({.selector = {.subsystem = "fpga"}}), ElementsAre("fpga0 /dev/fpga0"));
}

TEST_F(SysfsScannerTest, AMissingDeviceNodeIsUnhealthyAndNoSubsystemIsNothing) {
  Node("virtual/misc/kvm", "misc", "kvm", 232);
  sysfs.tree.Remove("/dev/kvm");

  EXPECT_THAT(Found({.selector = {.subsystem = "misc"}}),
              ElementsAre("kvm: /dev/kvm: no such file"));
  EXPECT_THAT(Found({.selector = {.subsystem = "none"}}), IsEmpty());
}

}  // namespace
}  // namespace tenon::discovery
