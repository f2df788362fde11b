#include "discovery/pci_scanner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "discovery/sysfs_tree.h"

namespace tenon::discovery {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using Attributes = SysfsTree::Attributes;

struct PciScannerTest : ::testing::Test {
  void SetUp() override {
    if (!sysfs.tree.CharacterDevice("/dev/null", 1, 3)) GTEST_SKIP() << "needs CAP_MKNOD";
  }
  void Function(const std::string& address, const Attributes& attributes,
                const std::string& driver = "", const std::string& group = "") {
    const std::string directory =
        sysfs.Device("pci0000:00/" + address, "bus/pci/devices", attributes);
    if (!driver.empty()) {
      sysfs.tree.Directory("/sys/bus/pci/drivers/" + driver);
      sysfs.tree.Link(directory + "/driver", "/sys/bus/pci/drivers/" + driver);
    }
    if (group.empty()) return;
    sysfs.tree.Directory("/sys/kernel/iommu_groups/" + group + "/devices");
    sysfs.tree.Link("/sys/kernel/iommu_groups/" + group + "/devices/" + address, directory);
    sysfs.tree.Link(directory + "/iommu_group", "/sys/kernel/iommu_groups/" + group);
  }
  void Vfio(unsigned group) {
    ASSERT_TRUE(sysfs.tree.CharacterDevice("/dev/vfio/" + std::to_string(group), 243, group));
    ASSERT_TRUE(sysfs.tree.CharacterDevice("/dev/vfio/vfio", 10, 196) ||
                std::filesystem::exists(sysfs.tree.Real("/dev/vfio/vfio")));
  }
  Scan Look(const PciOptions& options) { return PciScanner(options).Look(*host); }
  std::vector<std::string> Found(const PciOptions& options) { return Texts(Look(options).devices); }

  SysfsTree sysfs;
  std::unique_ptr<host::Host> host = *host::PosixHost::Open(sysfs.tree.root());
  const Attributes nic{
      {"vendor", "0x15b3"}, {"device", "0x1018"}, {"class", "0x020000"}, {"numa_node", "1"}};
  const Attributes gpu{{"vendor", "0x10de"}, {"device", "0x2204"}, {"class", "0x030000"}};
  const Attributes sound{{"vendor", "0x10de"}, {"device", "0x1aef"}, {"class", "0x040300"}};
  const Attributes bridge{{"vendor", "0x8086"}, {"device", "0x1901"}, {"class", "0x060400"}};
};

TEST_F(PciScannerTest, WithoutDeviceNodesADeviceIsItsAddress) {
  Function("0000:03:00.0", nic);

  Scan scan = Look({.any_of = {{.vendor = "15b3"}}});

  EXPECT_THAT(Texts(scan.devices), ElementsAre("0000:03:00.0"));
  EXPECT_THAT(scan.devices[0]->numa_nodes, ElementsAre(1));
  EXPECT_THAT(scan.devices[0]->env_lists,
              ElementsAre(Pair("PCIDEVICE", "0000:03:00.0"), Pair("PCI_RESOURCE", "0000:03:00.0")));
}

TEST_F(PciScannerTest, EverySelectorNarrows) {
  Function("0000:03:00.0", nic, "mlx5_core");
  Function("0000:03:00.1", nic, "vfio-pci");
  Function("0000:04:00.0", gpu, "nouveau");
  Function("0000:03:00.2", nic, "mlx5_core");
  sysfs.tree.Link("/sys/devices/pci0000:00/0000:03:00.2/physfn", "../0000:03:00.0");

  EXPECT_THAT(Found({.any_of = {{.pci_class = "03"}}}), ElementsAre("0000:04:00.0"));
  EXPECT_THAT(Found({.any_of = {{.pci_class = "0200"}}}),
              ElementsAre("0000:03:00.0", "0000:03:00.1", "0000:03:00.2"));
  EXPECT_THAT(Found({.any_of = {{.vendor = "15b3", .driver = "vfio-pci"}}}),
              ElementsAre("0000:03:00.1"));
  EXPECT_THAT(Found({.any_of = {{.device = "2204"}}}), ElementsAre("0000:04:00.0"));
  EXPECT_THAT(Found({.any_of = {{.address = "0000:03:00.1"}}}), ElementsAre("0000:03:00.1"));
  EXPECT_THAT(Found({.any_of = {{.vendor = "15b3", .is_virtual = true}}}),
              ElementsAre("0000:03:00.2"));
  EXPECT_THAT(Found({.any_of = {{.vendor = "15b3", .is_virtual = false}}}),
              ElementsAre("0000:03:00.0", "0000:03:00.1"));
  EXPECT_THAT(Found({.any_of = {{.physical_function = "0000:03:00.0"}}}),
              ElementsAre("0000:03:00.2"));
  EXPECT_THAT(Found({.any_of = {{.device = "2204"}, {.driver = "vfio-pci"}}}),
              ElementsAre("0000:03:00.1", "0000:04:00.0"));
}

TEST_F(PciScannerTest, ChildDeviceNodesAreThoseOfTheFunction) {
  Function("0000:04:00.0", gpu);
  ASSERT_TRUE(
      sysfs.Node("pci0000:00/0000:04:00.0/drm/renderD128", "drm", "dri/renderD128", 226, 128));
  Function("0000:05:00.0", gpu);

  Scan scan = Look({.any_of = {{.vendor = "10de"}}, .subsystems = {"drm"}});

  EXPECT_THAT(Texts(scan.devices), ElementsAre("0000:04:00.0 /dev/dri/renderD128"));
  EXPECT_EQ("has no device node of \"drm\"", scan.skipped.at("0000:05:00.0").why);
}

TEST_F(PciScannerTest, AVfioDeviceIsItsGroupAndTheContainerOfAll) {
  Function("0000:03:00.1", nic, "vfio-pci", "12");
  Vfio(12);

  Scan scan = Look({.any_of = {{.vendor = "15b3"}}, .vfio = true});

  EXPECT_THAT(Texts(scan.devices), ElementsAre("0000:03:00.1 /dev/vfio/12 /dev/vfio/vfio"));
  EXPECT_FALSE(scan.devices[0]->paths[0].shared);
  EXPECT_TRUE(scan.devices[0]->paths[1].shared);
  EXPECT_EQ("c 243:12", scan.devices[0]->device_number);
}

TEST_F(PciScannerTest, HalfAnIommuGroupIsRefusedAndAWholeOneIsOneDevice) {
  Function("0000:00:01.0", bridge, "pcieport", "7");
  Function("0000:01:00.0", gpu, "vfio-pci", "7");
  Function("0000:01:00.1", sound, "vfio-pci", "7");
  Vfio(7);

  EXPECT_THAT(Found({.any_of = {{.device = "2204"}}, .vfio = true}),
              ElementsAre("0000:01:00.0: IOMMU group 7 contains 0000:01:00.1, too, which this rule "
                          "does not match; a group is given as a whole"));
  Scan whole = Look({.any_of = {{.vendor = "10de"}}, .vfio = true});
  EXPECT_THAT(Texts(whole.devices), ElementsAre("0000:01:00.0 /dev/vfio/7 /dev/vfio/vfio"));
  EXPECT_EQ("0000:01:00.0,0000:01:00.1", whole.devices[0]->env_lists.at("PCIDEVICE"));
}

TEST_F(PciScannerTest, AFunctionThatIsNotBoundToVfioOrInNoGroupIsUnhealthy) {
  Function("0000:01:00.0", gpu, "vfio-pci", "7");
  Function("0000:01:00.1", sound, "snd_hda_intel", "7");
  Function("0000:02:00.0", gpu, "vfio-pci");
  Vfio(7);

  EXPECT_THAT(Found({.any_of = {{.vendor = "10de"}}, .vfio = true}),
              ElementsAre(HasSubstr("0000:02:00.0: is in no IOMMU group"),
                          "0000:01:00.0: 0000:01:00.1 is bound to snd_hda_intel, not to vfio-pci"));
}

TEST_F(PciScannerTest, AMissingVfioDeviceNodeIsNamed) {
  Function("0000:01:00.0", gpu, "vfio-pci", "7");

  EXPECT_THAT(Found({.any_of = {{.vendor = "10de"}}, .vfio = true}),
              ElementsAre("0000:01:00.0: /dev/vfio/7: no such file"));
}

TEST_F(PciScannerTest, EventsOfPciAndOfItsDeviceNodesConcernIt) {
  PciScanner scanner({.any_of = {{}}, .subsystems = {"drm"}});

  EXPECT_TRUE(scanner.Concerns({"bind", "/devices/x", "pci"}));
  EXPECT_TRUE(scanner.Concerns({"add", "/devices/x/drm/card0", "drm"}));
  EXPECT_FALSE(scanner.Concerns({"add", "/devices/x", "usb"}));
}

TEST_F(PciScannerTest, AMachineWithoutPciHasNone) {
  EXPECT_THAT(Found({.any_of = {{}}}), IsEmpty());
}

}  // namespace
}  // namespace tenon::discovery
