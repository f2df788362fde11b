#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "base/errno_error.h"
#include "cli_fixture.h"
#include "discovery/sysfs_tree.h"

namespace tenon::cli_test {
namespace {

/// A machine of its own in a directory, so that the one of the test does not matter.
struct DiscoverTest : CliTest {
  DiscoverTest() {
    std::filesystem::create_directories(root + "/dev/serial");
    std::ofstream(root + "/dev/serial/notes") << "text";
    std::ofstream(root + "/dev/kvm") << "text";
  }
  /// Returns: false where device nodes cannot be made.
  bool MakeDeviceNodes() const {
    for (unsigned minor : {0U, 1U}) {
      std::string path = root + "/dev/ttyUSB" + std::to_string(minor);
      if (::mknod(path.c_str(), S_IFCHR | 0600, makedev(188, minor)) != 0) return false;
      std::filesystem::create_symlink("../ttyUSB" + std::to_string(minor),
                                      root + "/dev/serial/usb-" + std::to_string(minor));
    }
    const std::string grouped = root + "/dev/ttyUSB1";
    if (::chown(grouped.c_str(), 0, 20) != 0 || ::chmod(grouped.c_str(), 0660) != 0) return false;
    std::filesystem::create_symlink("../ttyUSB0", root + "/dev/serial/usb-again");
    return true;
  }
  Outcome Discover(const std::string& config, std::vector<std::string> more = {}) {
    WriteFile("config.yaml", config);
    // By its relative name, as the width of a column must not depend on the directory.
    std::vector<std::string> args = {"discover", "--root", root, "--config", "config.yaml"};
    args.insert(args.end(), more.begin(), more.end());
    return Run(args);
  }
  std::string root = directory + "/root";
};

TEST_F(DiscoverTest, ShowsWhatEachRuleFindsAndWhatItLeavesOut) {
  if (!MakeDeviceNodes()) GTEST_SKIP() << "mknod: " << base::ErrnoText(errno);
  const std::string config =
      "domain: example.com\n"
      "resources:\n"
      "  - name: serial\n"
      "    devices:\n"
      "      - path: /dev/serial/*\n"
      "      - path: /dev/serial/usb-[1-9]\n"
      "  - {name: counter, devices: [{virtual: {count: 2}}, {virtual: {count: 1}}]}\n"
      "  - {name: absent, devices: [{path: /dev/none}]}\n";

  Outcome table = Discover(config);
  Outcome json = Discover(config, {"-o", "json"});

  EXPECT_EQ(0, table.code) << table.errors;
  ExpectGolden("discover.txt", table.out);
  ExpectGolden("discover.json", json.out);
}

TEST_F(DiscoverTest, ALiteralPathThatIsNoDeviceNodeIsUnhealthy) {
  Outcome outcome = Discover(
      "domain: example.com\n"
      "resources: [{name: kvm, devices: [{path: /dev/kvm}]}]\n");

  EXPECT_EQ(0, outcome.code) << outcome.errors;
  ExpectGolden("discover-unhealthy.txt", outcome.out);
}

TEST_F(DiscoverTest, SaysWhatIsWrongWithTheConfiguration) {
  Outcome outcome = Discover("domain: x\n");

  EXPECT_EQ(1, outcome.code);
  EXPECT_EQ("", outcome.out);
  EXPECT_THAT(outcome.errors, ::testing::HasSubstr("config.yaml:1:"));
}

TEST_F(DiscoverTest, SaysThatTheRootIsMissing) {
  Outcome outcome = Run({"discover", "--root", directory + "/none", "--config",
                         WriteFile("c.yaml",
                                   "domain: example.com\n"
                                   "resources: [{name: v, devices: [{virtual: {count: 1}}]}]\n")});

  EXPECT_EQ(1, outcome.code);
  EXPECT_THAT(outcome.errors, ::testing::HasSubstr(directory + "/none"));
}

/// A machine with one of most things.
struct SuggestTest : CliTest {
  /// Returns: false where device nodes cannot be made.
  bool MakeDevices() {
    using Attributes = discovery::SysfsTree::Attributes;
    const auto usb = [this](const std::string& port, unsigned number,
                            const Attributes& attributes) {
      return sysfs.Usb("usb1/" + port, 1, number, attributes);
    };
    return usb("1-1", 2, {{"idVendor", "0424"}, {"idProduct", "2514"}, {"bDeviceClass", "09"}}) &&
           usb("1-1.1", 3, {{"idVendor", "0403"}, {"idProduct", "6001"}, {"serial", "A5"}}) &&
           sysfs.Node("usb1/1-1.1/1-1.1:1.0/tty/ttyUSB0", "tty", "ttyUSB0", 188, 0) &&
           usb("1-2", 4, {{"idVendor", "0403"}, {"idProduct", "6001"}, {"serial", "B6"}}) &&
           sysfs.Node("usb1/1-2/1-2:1.0/tty/ttyUSB1", "tty", "ttyUSB1", 188, 1) &&
           usb("1-3", 5, {{"idVendor", "046d"}, {"idProduct", "0825"}, {"product", "Webcam"}}) &&
           sysfs.Node("usb1/1-3/1-3:1.0/video4linux/video0", "video4linux", "video0", 81, 0) &&
           usb("1-4", 6,
               {{"idVendor", "1a6e"}, {"idProduct", "089a"}, {"product", "\"\n- x: \xff"}}) &&
           usb("1-5", 7, {{"idVendor", "0951"}, {"idProduct", "1666"}, {"product", "Stick"}}) &&
           sysfs.Node("usb1/1-5/1-5:1.0/block/sda", "block", "sda", 8, 0) &&
           usb("1-6", 8, {{"idVendor", "046d"}, {"idProduct", "c31c"}, {"product", "Keyboard"}}) &&
           sysfs.Node("usb1/1-6/1-6:1.0/input/event3", "input", "input/event3", 13, 67) &&
           usb("1-7", 9, {{"idVendor", "1050"}, {"idProduct", "0407"}, {"product", "Key"}}) &&
           sysfs.Node("usb1/1-7/1-7:1.0/hidraw/hidraw0", "hidraw", "hidraw0", 240, 0) &&
           usb("1-8", 10, {{"idVendor", "zz"}, {"idProduct", "0407"}}) && MakeBoard() &&
           MakeVfio("0000:01:00.0", "0x2204", "7") && MakeVfio("0000:01:00.1", "0x1aef", "7") &&
           MakeVfio("0000:02:00.0", "0x1521", "8");
  }
  bool MakeBoard() {
    sysfs.tree.File("/sys/devices/platform/ttyS0/type", "4\n");
    sysfs.tree.File("/sys/devices/platform/ttyS1/type", "0\n");
    return sysfs.Node("platform/ttyS0", "tty", "ttyS0", 4, 64) &&
           sysfs.Node("platform/ttyS1", "tty", "ttyS1", 4, 65) &&
           sysfs.Node("pci0000:00/0000:00:02.0/drm/renderD128", "drm", "dri/renderD128", 226,
                      128) &&
           sysfs.tree.CharacterDevice("/dev/kvm", 10, 232) &&
           sysfs.tree.CharacterDevice("/dev/tpmrm0", 253, 65536) &&
           ::chown(sysfs.tree.Real("/dev/kvm").c_str(), 0, 104) == 0 &&
           ::chmod(sysfs.tree.Real("/dev/kvm").c_str(), 0660) == 0;
  }
  /// Of IOMMU group 8 there is another function that has its driver.
  bool MakeVfio(const std::string& address, const std::string& device, const std::string& group) {
    const std::string path = "pci0000:00/" + address;
    const std::string function =
        sysfs.Device(path, "bus/pci/devices", {{"vendor", "0x10de"}, {"device", device}});
    sysfs.tree.Directory("/sys/bus/pci/drivers/vfio-pci");
    sysfs.tree.Link(function + "/driver", "/sys/bus/pci/drivers/vfio-pci");
    const std::string members = "/sys/kernel/iommu_groups/" + group + "/devices/";
    sysfs.tree.Link(members + address, function);
    sysfs.tree.Link(function + "/iommu_group", "/sys/kernel/iommu_groups/" + group);
    if (group == "8") sysfs.tree.Directory(members + "0000:02:00.1");
    const bool is_first = !std::filesystem::exists(sysfs.tree.Real("/dev/vfio/vfio"));
    return (!is_first || sysfs.tree.CharacterDevice("/dev/vfio/vfio", 10, 196)) &&
           (std::filesystem::exists(sysfs.tree.Real("/dev/vfio/" + group)) ||
            sysfs.tree.CharacterDevice("/dev/vfio/" + group, 243, 1));
  }

  discovery::SysfsTree sysfs;
};

TEST_F(SuggestTest, WhatIsSuggestedIsValidAndFindsWhatItSays) {
  if (!MakeDevices()) GTEST_SKIP() << "mknod: " << base::ErrnoText(errno);

  Outcome suggested = Run({"discover", "--suggest", "--root", sysfs.tree.root()});
  ASSERT_EQ(0, suggested.code) << suggested.errors;
  ExpectGolden("suggest.yaml", suggested.out);

  WriteFile("suggested.yaml", suggested.out);
  EXPECT_EQ(0, Run({"check", "suggested.yaml"}).code);
  ExpectGolden("suggest.txt",
               Run({"discover", "--root", sysfs.tree.root(), "--config", "suggested.yaml"}).out);
}

TEST_F(SuggestTest, AMachineWithoutDevicesHasNothingToSuggest) {
  Outcome outcome = Run({"discover", "--suggest", "--root", sysfs.tree.root()});

  EXPECT_EQ(1, outcome.code);
  EXPECT_EQ("", outcome.out);
  EXPECT_EQ("tenon: no device is there that has a rule to suggest\n", outcome.errors);
}

TEST_F(SuggestTest, TakesNoConfigurationAndPrintsNoJson) {
  EXPECT_EQ(2, Run({"discover", "--suggest", "--config", "c.yaml"}).code);
  EXPECT_EQ(2, Run({"discover", "--suggest", "-o", "json"}).code);
  EXPECT_EQ(2, Run({"discover"}).code);
}

}  // namespace
}  // namespace tenon::cli_test
