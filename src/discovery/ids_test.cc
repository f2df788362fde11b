#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "discovery/group_scanner.h"
#include "discovery/path_scanner.h"
#include "discovery/pci_scanner.h"
#include "discovery/sysfs_scanner.h"
#include "discovery/usb_scanner.h"
#include "discovery/virtual_source.h"
#include "host/memory_host.h"

namespace tenon::discovery {
namespace {

// The contract of docs/ids.md. A kubelet counts a device that is held under a changed id as free,
// so no line here may change in a release: add lines, do not edit them.
TEST(DeviceIds, OfPathsAreThoseOfEveryRelease) {
  struct Case {
    const char* path;
    const char* id;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"/dev/fuse", "fuse"},
           {"/dev/ttyUSB0", "ttyUSB0"},
           {"/dev/net/tun", "net_2Ftun"},
           {"/dev/net_tun", "net__tun"},
           {"/dev/bus/usb/001/014", "bus_2Fusb_2F001_2F014"},
           {"/dev/serial/by-id/usb-FTDI_FT232R_A50285BI-if00-port0",
            "serial_2Fby-id_2Fusb-FTDI__FT232R__A50285BI-if00-port0"},
           {"/dev/disk/by-path/pci-0000:00:1f.2-ata-1", "disk_2Fby-path_2Fpci-0000:00:1f.2-ata-1"},
           {"/dev/with space", "with_20space"},
           {"/dev/gr\xC3\xBC\xC3\x9F", "gr_C3_BC_C3_9F"},
           {"/dev/bad\xFF", "bad_FF"},
           {"/srv/devices/x", "_2Fsrv_2Fdevices_2Fx"},
           {"/device", "_2Fdevice"},
       })
    EXPECT_EQ(c.id, PathDeviceId(c.path).value) << c.path;
}

TEST(DeviceIds, LongPathsEndInAHashThatIsThatOfEveryRelease) {
  std::string id = PathDeviceId("/dev/" + std::string(200, 'x')).value;

  EXPECT_EQ(std::string(111, 'x') + "-6ee14c8caecd5c45", id);
  EXPECT_NE(id, PathDeviceId("/dev/" + std::string(201, 'x')).value);
}

TEST(DeviceIds, OfVirtualDevicesAreThoseOfEveryRelease) {
  Snapshot devices;
  VirtualSource source({.count = 11});
  source.Start([&](Snapshot snapshot) { devices = std::move(snapshot); });

  EXPECT_EQ("v-0", devices[0]->id.value);
  EXPECT_EQ("v-10", devices[10]->id.value);
}

/// A machine with one of everything that has an id.
struct GoldenIds : ::testing::Test {
  GoldenIds() {
    Stick("1-1", 2, "A50285BI");
    Stick("1-1.4", 14, "");
    Stick("2-10.3", 15, "gr\xC3\xBC\xC3\x9F 1");
    Stick("1-2", 3, "TWIN");
    Stick("1-3", 4, "TWIN");
    for (const char* address : {"0000:03:00.0", "0000:03:00.1", "10000:e1:00.0"}) {
      const std::string directory = std::string("/sys/devices/pci0000:00/") + address;
      machine.File(directory + "/vendor", "0x10de\n");
      machine.File(directory + "/class", "0x030000\n");
      machine.Link(std::string("/sys/bus/pci/devices/") + address, directory);
      Child(directory + "/drm/renderD128", "drm", "dri/renderD128", 226, 128);
      machine.Link(directory + "/driver", "/sys/bus/pci/drivers/vfio-pci");
    }
    machine.Directory("/sys/bus/pci/drivers/vfio-pci");
    for (const char* address : {"0000:03:00.1", "0000:03:00.0"}) {
      const std::string directory = std::string("/sys/devices/pci0000:00/") + address;
      machine.Link(std::string("/sys/kernel/iommu_groups/12/devices/") + address, directory);
      machine.Link(directory + "/iommu_group", "/sys/kernel/iommu_groups/12");
    }
    machine.CharacterDevice("/dev/vfio/12", 243, 12);
    machine.CharacterDevice("/dev/vfio/vfio", 10, 196);
    Child("/sys/devices/pci0000:00/0000:00:14.0/usb1/1-5/1-5:1.0/video4linux/video0", "video4linux",
          "video0", 81, 0);
    Child("/sys/devices/pci0000:00/0000:00:14.0/usb1/1-5/1-5:1.0/video4linux/video1", "video4linux",
          "video1", 81, 1);
    Child("/sys/devices/virtual/misc/kvm", "misc", "kvm", 10, 232);
    Child("/sys/devices/virtual/misc/tun", "misc", "net/tun", 10, 200);
  }
  void Stick(const std::string& port, unsigned number, const std::string& serial) {
    const std::string directory = "/sys/devices/pci0000:00/0000:00:14.0/usb1/" + port;
    machine.File(directory + "/idVendor", "0403\n");
    machine.File(directory + "/idProduct", "6001\n");
    if (!serial.empty()) machine.File(directory + "/serial", serial + "\n");
    machine.File(directory + "/busnum", "1\n");
    machine.File(directory + "/devnum", std::to_string(number) + "\n");
    machine.Link("/sys/bus/usb/devices/" + port, directory);
    const std::string digits = std::to_string(number);
    machine.CharacterDevice("/dev/bus/usb/001/" + std::string(3 - digits.size(), '0') + digits, 189,
                            number - 1);
  }
  void Child(const std::string& directory, const std::string& subsystem, const std::string& name,
             unsigned major, unsigned minor) {
    machine.File(directory + "/dev", std::to_string(major) + ":" + std::to_string(minor));
    machine.File(directory + "/uevent", "DEVNAME=" + name + "\n");
    machine.Link(directory + "/subsystem", "/sys/class/" + subsystem);
    machine.Link("/sys/class/" + subsystem + directory.substr(directory.rfind('/')), directory);
    machine.CharacterDevice("/dev/" + name, major, minor);
  }
  std::vector<std::string> Ids(Scanner&& scanner) {
    std::vector<std::string> ids;
    for (const FoundDevicePtr& device : scanner.Look(machine).devices) {
      EXPECT_EQ("", device->reason) << device->id.value;
      ids.push_back(device->id.value);
    }
    return ids;
  }
  static std::unique_ptr<Scanner> Path(const std::string& path) {
    return std::make_unique<PathScanner>(PathOptions{.path = *base::Glob::Parse(path)});
  }
  host::MemoryHost machine;
};

// As above: add, never edit.
TEST_F(GoldenIds, OfUsbDevicesAreThoseOfEveryRelease) {
  EXPECT_THAT(Ids(UsbScanner({.any_of = {{.vendor = "0403"}}})),
              ::testing::ElementsAre("0403:6001:A50285BI", "usb-1-1.4", "usb-1-2", "usb-1-3",
                                     "0403:6001:gr_C3_BC_C3_9F_201"));
  EXPECT_THAT(Ids(UsbScanner({.any_of = {{.port = "1-1"}, {.vendor = "0404"}}})),
              ::testing::ElementsAre("usb-1-1"));
}

TEST_F(GoldenIds, OfPciFunctionsAndIommuGroupsAreThoseOfEveryRelease) {
  EXPECT_THAT(Ids(PciScanner({.any_of = {{.vendor = "10de"}}})),
              ::testing::ElementsAre("0000:03:00.0", "0000:03:00.1", "10000:e1:00.0"));
  EXPECT_THAT(Ids(PciScanner({.any_of = {{.address = "0000:03:00.0"}, {.address = "0000:03:00.1"}},
                              .vfio = true})),
              ::testing::ElementsAre("0000:03:00.0"));
}

TEST_F(GoldenIds, OfEntriesOfSubsystemsAreThoseOfEveryRelease) {
  EXPECT_THAT(Ids(SysfsScanner({.selector = {.subsystem = "video4linux"}})),
              ::testing::ElementsAre("video4linux-1-5:1.0", "video4linux-1-5:1.0.1"));
  EXPECT_THAT(Ids(SysfsScanner({.selector = {.subsystem = "video4linux"}, .together = true})),
              ::testing::ElementsAre("video4linux-1-5:1.0"));
  EXPECT_THAT(Ids(SysfsScanner({.selector = {.subsystem = "misc"}})),
              ::testing::ElementsAre("kvm", "net_2Ftun"));
  EXPECT_THAT(Ids(SysfsScanner({.selector = {.subsystem = "drm"}})),
              ::testing::ElementsAre("drm-10000:e1:00.0"));
}

TEST_F(GoldenIds, OfGroupsAreThoseOfEveryRelease) {
  std::vector<GroupMember> members(3);
  members[0].scanner = Path("/dev/video*");
  members[1].scanner = Path("/dev/vfio/vfio");
  members[1].limit = 9;
  members[2].scanner = Path("/dev/net/*");
  members[2].optional = true;

  EXPECT_THAT(Ids(GroupScanner(std::move(members))),
              ::testing::ElementsAre("video0_2Bvfio_2Fvfio", "video1_2Bvfio_2Fvfio"));
}

TEST_F(GoldenIds, OfSeveralVirtualRulesAreThoseOfEveryRelease) {
  Snapshot devices;
  VirtualSource source({.count = 1, .prefix = "v2"});
  source.Start([&](Snapshot snapshot) { devices = std::move(snapshot); });

  EXPECT_EQ("v2-0", devices[0]->id.value);
}

}  // namespace
}  // namespace tenon::discovery
