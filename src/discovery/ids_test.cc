#include <gtest/gtest.h>

#include "discovery/path_scanner.h"
#include "discovery/virtual_source.h"

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

}  // namespace
}  // namespace tenon::discovery
