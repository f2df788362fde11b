#include "discovery/usb_scanner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "discovery/sysfs_tree.h"
#include "host/host_wrapper.h"

namespace tenon::discovery {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using Attributes = SysfsTree::Attributes;

constexpr const char* kController = "pci0000:00/0000:00:14.0/usb1";

Attributes Ftdi(const std::string& serial = "") {
  Attributes attributes{{"idVendor", "0403"}, {"idProduct", "6001"}, {"bDeviceClass", "00"}};
  if (!serial.empty()) attributes["serial"] = serial;
  return attributes;
}

/// Lists each directory in another order each time, as a file system may.
class ShuffledHost final : public host::HostWrapper {
 public:
  using HostWrapper::HostWrapper;
  Result<std::vector<std::string>> List(const std::string& path) override {
    auto names = HostWrapper::List(path);
    if (names) std::shuffle(names->begin(), names->end(), random_);
    return names;
  }

 private:
  std::mt19937 random_{1};
};

struct UsbScannerTest : ::testing::Test {
  void SetUp() override {
    if (!sysfs.tree.CharacterDevice("/dev/null", 1, 3)) GTEST_SKIP() << "needs CAP_MKNOD";
    sysfs.Device(kController, "bus/usb/devices", {{"idVendor", "1d6b"}, {"idProduct", "0002"}});
    sysfs.tree.File("/sys/devices/pci0000:00/0000:00:14.0/numa_node", "1\n");
  }
  void Plug(const std::string& path, unsigned bus, unsigned number, const Attributes& attributes) {
    ASSERT_TRUE(sysfs.Usb(std::string(kController) + "/" + path, bus, number, attributes));
  }
  void Unplug(const std::string& path, unsigned bus, unsigned number) {
    sysfs.Unplug(std::string(kController) + "/" + path, "bus/usb/devices");
    sysfs.tree.Remove(SysfsTree::UsbNode(bus, number));
  }
  void Child(const std::string& path, const std::string& subsystem, const std::string& devname,
             unsigned major, unsigned minor) {
    ASSERT_TRUE(
        sysfs.Node(std::string(kController) + "/" + path, subsystem, devname, major, minor));
  }
  Scan Look(const UsbOptions& options) { return UsbScanner(options).Look(*host); }
  std::vector<std::string> Found(const UsbOptions& options) { return Texts(Look(options).devices); }

  SysfsTree sysfs;
  std::unique_ptr<host::Host> host = *host::PosixHost::Open(sysfs.tree.root());
  const UsbOptions ftdi{.any_of = {{.vendor = "0403", .product = "6001"}}};
};

TEST_F(UsbScannerTest, OffersTheDeviceNodeByItsSerialNumber) {
  Plug("1-1", 1, 4, Ftdi("A50285BI"));
  Plug("1-2", 1, 5, {{"idVendor", "1050"}, {"idProduct", "0407"}});

  Scan scan = Look(ftdi);

  EXPECT_THAT(Texts(scan.devices), ElementsAre("0403:6001:A50285BI /dev/bus/usb/001/004"));
  EXPECT_EQ("c 189:3", scan.devices[0]->device_number);
  EXPECT_THAT(scan.devices[0]->numa_nodes, ElementsAre(1));
  EXPECT_THAT(scan.devices[0]->env_lists, ElementsAre(Pair("USB_RESOURCE", "001:004")));
}

TEST_F(UsbScannerTest, EverySelectorNarrows) {
  Plug("1-1", 1, 4, Ftdi("A1"));
  Plug("1-2", 1, 5, Ftdi("B1"));
  Plug("1-3", 1, 6, {{"idVendor", "046d"}, {"idProduct", "c31c"}, {"bDeviceClass", "00"}});
  sysfs.Device(std::string(kController) + "/1-3/1-3:1.0", "bus/usb/devices",
               {{"bInterfaceClass", "03"}, {"bInterfaceNumber", "00"}});
  auto ports = [&](UsbSelector selector) {
    std::vector<std::string> texts;
    for (const FoundDevicePtr& device : Look({.any_of = {std::move(selector)}}).devices)
      texts.push_back(device->id.value);
    return texts;
  };

  EXPECT_THAT(ports({.vendor = "0403", .serial = "B*"}), ElementsAre("0403:6001:B1"));
  EXPECT_THAT(ports({.port = "1-1"}), ElementsAre("0403:6001:A1"));
  EXPECT_THAT(ports({.device_class = "03"}), ElementsAre("usb-1-3"));
  EXPECT_THAT(ports({.interface = "00"}), ElementsAre("usb-1-3"));
  EXPECT_THAT(ports({.vendor = "0403", .product = "0000"}), IsEmpty());
}

// spec/generic-devices.md §5, input 8.
TEST_F(UsbScannerTest, TwinsWithoutSerialNumbersAreTwoDevicesInEveryOrderOfTheDirectory) {
  Plug("1-3", 3, 14, Ftdi());
  Plug("1-10", 3, 15, Ftdi());
  ShuffledHost shuffled(*host);
  UsbScanner scanner(ftdi);

  for (int i = 0; i < 200; ++i) {
    ASSERT_THAT(Texts(scanner.Look(shuffled).devices),
                ElementsAre("usb-1-3 /dev/bus/usb/003/014", "usb-1-10 /dev/bus/usb/003/015"));
  }
}

TEST_F(UsbScannerTest, TwinsWithOneSerialNumberGoByTheirPortsAndSaySo) {
  Plug("1-3", 3, 14, Ftdi("0001"));
  Plug("1-4", 3, 15, Ftdi("0001"));

  Scan scan = Look(ftdi);

  EXPECT_THAT(Texts(scan.devices),
              ElementsAre("usb-1-3 /dev/bus/usb/003/014", "usb-1-4 /dev/bus/usb/003/015"));
  ASSERT_EQ(2U, scan.skipped.size());
  EXPECT_EQ(base::LogLevel::kWarning, scan.skipped.begin()->second.level);
  EXPECT_THAT(scan.skipped.begin()->second.why, HasSubstr("another device has it, too"));
}

TEST_F(UsbScannerTest, ATwinThatComesOrGoesChangesNoId) {
  UsbScanner scanner(ftdi);
  auto ids = [&] {
    std::vector<std::string> all;
    for (const FoundDevicePtr& device : scanner.Look(*host).devices)
      all.push_back(device->id.value);
    return all;
  };
  Plug("1-3", 3, 14, Ftdi("0001"));
  EXPECT_THAT(ids(), ElementsAre("0403:6001:0001"));

  Plug("1-2", 3, 15, Ftdi("0001"));
  EXPECT_THAT(ids(), ElementsAre("usb-1-2", "0403:6001:0001"));
  Unplug("1-3", 3, 14);
  Plug("1-4", 3, 16, Ftdi("0001"));
  EXPECT_THAT(ids(), ElementsAre("usb-1-2", "usb-1-4"));
  Unplug("1-4", 3, 16);
  EXPECT_THAT(ids(), ElementsAre("usb-1-2"));
}

// spec/generic-devices.md §5, input 4.
TEST_F(UsbScannerTest, AReplugWithAnotherNumberOrPortKeepsTheId) {
  Plug("1-1/1-1.4", 1, 7, Ftdi("S"));
  UsbScanner scanner(ftdi);
  EXPECT_THAT(Texts(scanner.Look(*host).devices), ElementsAre("0403:6001:S /dev/bus/usb/001/007"));

  Unplug("1-1/1-1.4", 1, 7);
  Plug("1-1/1-1.4", 1, 9, Ftdi("S"));
  EXPECT_THAT(Texts(scanner.Look(*host).devices), ElementsAre("0403:6001:S /dev/bus/usb/001/009"));
  Unplug("1-1/1-1.4", 1, 9);
  Plug("1-2", 1, 10, Ftdi("S"));
  EXPECT_THAT(Texts(scanner.Look(*host).devices), ElementsAre("0403:6001:S /dev/bus/usb/001/010"));
}

TEST_F(UsbScannerTest, AStickThatChangesItsProductIsOneDeviceOfTwoSelectors) {
  UsbScanner scanner(
      {.any_of = {{.vendor = "1a6e", .product = "089a"}, {.vendor = "18d1", .product = "9302"}}});
  Plug("1-1", 1, 4, {{"idVendor", "1a6e"}, {"idProduct", "089a"}});
  EXPECT_THAT(Texts(scanner.Look(*host).devices), ElementsAre("usb-1-1 /dev/bus/usb/001/004"));

  Unplug("1-1", 1, 4);
  Plug("1-1", 1, 5, {{"idVendor", "18d1"}, {"idProduct", "9302"}, {"serial", "X"}});

  EXPECT_THAT(Texts(scanner.Look(*host).devices), ElementsAre("usb-1-1 /dev/bus/usb/001/005"));
}

TEST_F(UsbScannerTest, ChildDeviceNodesAreThoseOfTheStickAndNotOfWhatIsBehindIt) {
  UsbOptions options = ftdi;
  options.subsystems = {"tty"};
  Plug("1-1", 1, 2, Ftdi("HUB"));
  Child("1-1/1-1:1.0/ttyUSB10/tty/ttyUSB10", "tty", "ttyUSB10", 188, 10);
  Child("1-1/1-1:1.1/ttyUSB2/tty/ttyUSB2", "tty", "ttyUSB2", 188, 2);
  Child("1-1/1-1:1.0/input/input5/event5", "input", "input/event5", 13, 69);
  Plug("1-1/1-1.4", 1, 7, Ftdi("LEAF"));
  Child("1-1/1-1.4/1-1.4:1.0/ttyUSB3/tty/ttyUSB3", "tty", "ttyUSB3", 188, 3);

  EXPECT_THAT(Found(options), ElementsAre("0403:6001:HUB /dev/ttyUSB2 /dev/ttyUSB10",
                                          "0403:6001:LEAF /dev/ttyUSB3"));
}

TEST_F(UsbScannerTest, AnInterfaceOfACompositeDeviceHasItsOwnDeviceNodes) {
  Plug("1-1", 1, 2, Ftdi("S"));
  for (const char* number : {"00", "0a"}) {
    const std::string decimal = std::string(number) == "00" ? "0" : "10";
    sysfs.Device(std::string(kController) + "/1-1/1-1:1." + decimal, "bus/usb/devices",
                 {{"bInterfaceNumber", number}});
    Child("1-1/1-1:1." + decimal + "/tty/ttyACM" + decimal, "tty", "ttyACM" + decimal, 166,
          static_cast<unsigned>(std::stoi(decimal)));
  }

  EXPECT_THAT(Found({.any_of = {{.vendor = "0403", .interface = "0a"}}, .subsystems = {"tty"}}),
              ElementsAre("0403:6001:S /dev/ttyACM10"));
}

TEST_F(UsbScannerTest, AStickWithoutTheWantedDeviceNodesIsLeftOutWithItsReason) {
  Plug("1-1", 1, 4, Ftdi());

  Scan scan = Look({.any_of = ftdi.any_of, .subsystems = {"tty"}});

  EXPECT_THAT(scan.devices, IsEmpty());
  EXPECT_EQ("has no device node of \"tty\"", scan.skipped.at("1-1").why);
}

TEST_F(UsbScannerTest, AMissingDeviceNodeOrTwoForOnePathAreUnhealthy) {
  Plug("1-1", 1, 4, Ftdi());
  Child("1-1/1-1:1.0/tty/ttyUSB0", "tty", "ttyUSB0", 188, 0);
  Child("1-1/1-1:1.0/tty/ttyUSB1", "tty", "ttyUSB1", 188, 1);
  UsbOptions options = ftdi;
  options.subsystems = {"tty"};
  options.nodes.container_paths = {"/dev/modem"};
  EXPECT_THAT(Found(options),
              ElementsAre("usb-1-1: /dev/ttyUSB0 and /dev/ttyUSB1 would both be /dev/modem in a "
                          "container; let mountPath end in \"/\""));

  sysfs.tree.Remove("/dev/ttyUSB0");

  EXPECT_THAT(Found(options), ElementsAre("usb-1-1: /dev/ttyUSB0: no such file"));
}

TEST_F(UsbScannerTest, WhatHardwareSaysGivesNoOtherLettersThanThoseOfAnId) {
  Plug("1-1", 1, 4, Ftdi("a/..\xFF\n\"b"));

  EXPECT_EQ("0403:6001:a_2F.._FF_0A_22b", Look(ftdi).devices[0]->id.value);
}

TEST_F(UsbScannerTest, ABlockDeviceOfAStickNeedsAnUnsafeRule) {
  Plug("1-1", 1, 4, Ftdi());
  sysfs.Device(std::string(kController) + "/1-1/1-1:1.0/block/sda", "class/block",
               {{"dev", "8:0"}, {"uevent", "DEVNAME=sda"}});
  ASSERT_TRUE(sysfs.tree.BlockDevice("/dev/sda", 8, 0));
  UsbOptions options = ftdi;
  options.subsystems = {"block"};
  EXPECT_THAT(Found(options), ElementsAre(HasSubstr("only an unsafe rule")));

  options.nodes.trust.unsafe = true;

  EXPECT_THAT(Found(options), ElementsAre("usb-1-1 /dev/sda"));
}

TEST_F(UsbScannerTest, WatchesTheListAndTheDirectoriesOfTheDeviceNodes) {
  Plug("1-1", 1, 4, Ftdi());

  auto directories = Look(ftdi).directories;

  for (const char* path : {"/sys/bus/usb/devices", "/dev", "/dev/bus/usb/001"})
    EXPECT_TRUE(directories.contains(path)) << path;
}

TEST_F(UsbScannerTest, EventsOfUsbAndWhatIsBelowItConcernIt) {
  UsbScanner scanner(ftdi);

  EXPECT_TRUE(scanner.Concerns({"add", "/devices/pci0000:00/0000:00:14.0/usb1/1-1", "usb"}));
  EXPECT_TRUE(scanner.Concerns({"add", "/devices/pci0000:00/usb1/1-1/1-1:1.0/tty/ttyUSB0", "tty"}));
  EXPECT_FALSE(scanner.Concerns({"add", "/devices/virtual/net/veth0", "net"}));
}

TEST_F(UsbScannerTest, AMachineWithoutUsbHasNone) {
  sysfs.tree.Remove("/sys/bus");

  EXPECT_THAT(Found(ftdi), IsEmpty());
}

TEST_F(UsbScannerTest, ManySticksKeepTheirIdsInEveryOrder) {
  const bool is_long = std::getenv("TENON_LONG") != nullptr;
  const unsigned count = is_long ? 500 : 50;
  for (unsigned i = 0; i < count; ++i)
    Plug("1-" + std::to_string(i + 1), 1 + i / 120, 1 + i % 120, Ftdi());
  ShuffledHost shuffled(*host);
  UsbScanner scanner(ftdi);
  const auto first = Texts(scanner.Look(*host).devices);

  EXPECT_EQ(count, first.size());
  const int rescans = is_long ? 200 : 2;
  for (int i = 0; i < rescans; ++i)
    ASSERT_EQ(first, Texts(scanner.Look(shuffled).devices));
}

}  // namespace
}  // namespace tenon::discovery
