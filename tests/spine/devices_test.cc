// Devices of a machine in a directory, found, offered and handed out by a real tenond.

#include <fcntl.h>

#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "base/unique_fd.h"
#include "cdi/spec_files.h"
#include "checkpoint/checkpoint.h"
#include "discovery/sysfs_tree.h"
#include "spine/layout.h"
#include "spine/spine_fixture.h"
#include "value/value.h"
#include "wire/messages.h"

namespace tenon::spine {
namespace {

using ::testing::HasSubstr;

constexpr const char* kBus = "pci0000:00/0000:00:14.0/usb1";

struct DevicesTest : SpineTest {
  void SetUp() override {
    if (!sysfs.tree.CharacterDevice("/dev/null", 1, 3)) GTEST_SKIP() << "needs CAP_MKNOD";
  }
  void Start(const std::string& resources) {
    WriteConfig(resources);
    kubelet.Start();
    std::vector<std::string> arguments = Arguments();
    arguments.insert(arguments.end(), {"--root", sysfs.tree.root()});
    tenond = std::make_unique<TenondProcess>(*loop, arguments, tree.Real("/run/tenond.sock"));
  }
  void Plug(const std::string& port, unsigned number, const std::string& serial) {
    ASSERT_TRUE(sysfs.Usb(std::string(kBus) + "/" + port, 1, number,
                          {{"idVendor", "0403"}, {"idProduct", "6001"}, {"serial", serial}}));
  }
  /// "id" or "id Unhealthy" of what the kubelet was told last.
  std::vector<std::string> Listed(const std::string& resource) const {
    std::vector<std::string> texts;
    const FakeKubelet::Plugin* plugin = kubelet.Find(resource);
    if (plugin == nullptr) return texts;
    for (const api::ListedDevice& device : plugin->devices)
      texts.push_back(device.id + (device.health == api::kHealthy ? "" : " " + device.health));
    return texts;
  }
  bool WaitForList(const std::string& resource, const std::vector<std::string>& wanted) {
    return RunUntil(
        [&] { return kubelet.Find(resource) != nullptr && Listed(resource) == wanted; });
  }
  Result<ContainerAllocation> TryAllocate(const std::string& resource,
                                          const std::vector<std::string>& ids) {
    std::optional<rpc::Status> status;
    std::vector<ContainerAllocation> allocations;
    kubelet.Allocate(resource, {api::AllocateRequest{ids}}, [&](rpc::Status s, auto a) {
      status = std::move(s);
      allocations = std::move(a);
    });
    EXPECT_TRUE(RunUntil([&status] { return status.has_value(); }));
    if (allocations.size() == 1) return allocations[0];
    return Error(Code::kInternal, status->message);
  }
  ContainerAllocation Allocate(const std::string& resource, const std::vector<std::string>& ids) {
    auto allocation = TryAllocate(resource, ids);
    if (allocation) return *std::move(allocation);
    ADD_FAILURE() << allocation.error().message();
    return {};
  }
  /// The kubelet's books: another plugin gave this device node to pod shop/till.
  void GaveAway(const std::string& path) {
    ContainerAllocation given;
    given.device_nodes = {{path, path, "rw"}};
    const checkpoint::Ids ids(std::vector<std::string>{"f00d"});
    checkpoint::Entry entry{.pod_uid = "1234",
                            .container_name = "main",
                            .resource_name = "squat.ai/serial",
                            .device_ids = std::map<int64_t, checkpoint::Ids>{{-1, ids}},
                            .alloc_resp = wire::EncodeContainerAllocation(given)};
    checkpoint::Checkpoint books;
    books.entries = std::vector<checkpoint::Entry>{entry};
    tree.File("/plugins/kubelet_internal_checkpoint", checkpoint::Encode(books));
    kubelet.ServePodResources(tree.Real("/pods.sock"),
                              {{"till", "shop", {{"main", {{"squat.ai/serial", {"f00d"}, {}}}}}}});
  }
  std::string Status() { return tenond->Get("/api/v1/status").body; }

  discovery::SysfsTree sysfs;
  std::unique_ptr<TenondProcess> tenond;
};

constexpr const char* kStick =
    "  - {name: stick, devices: [{usb: {vendor: \"0403\", product: \"6001\"}}]}\n";

// spec/generic-devices.md §5, input 4.
TEST_F(DevicesTest, AReplugWithAnotherNumberKeepsTheIdAndAllocateGivesTheNewDeviceNode) {
  Plug("1-1/1-1.4", 7, "S");
  Start(kStick);
  ASSERT_TRUE(WaitForList("example.com/stick", {"0403:6001:S"})) << tenond->log();
  EXPECT_EQ("/dev/bus/usb/001/007",
            Allocate("example.com/stick", {"0403:6001:S"}).device_nodes[0].host_path);

  sysfs.Unplug(std::string(kBus) + "/1-1/1-1.4", "bus/usb/devices");
  sysfs.tree.Remove("/dev/bus/usb/001/007");
  ASSERT_TRUE(WaitForList("example.com/stick", {"0403:6001:S Unhealthy"})) << tenond->log();
  EXPECT_THAT(Status(), HasSubstr("vanished while held by a pod"));
  Plug("1-1/1-1.4", 9, "S");

  ASSERT_TRUE(WaitForList("example.com/stick", {"0403:6001:S"})) << tenond->log();
  ContainerAllocation allocation = Allocate("example.com/stick", {"0403:6001:S"});
  EXPECT_EQ("/dev/bus/usb/001/009", allocation.device_nodes[0].host_path);
  EXPECT_EQ("001:009", allocation.env["USB_RESOURCE_EXAMPLE_COM_STICK"]);
}

TEST_F(DevicesTest, ADeviceThatAPodHoldsFromAnotherPluginIsNotOfferedUntilItIsGivenBack) {
  Plug("1-1", 7, "S");
  GaveAway("/dev/bus/usb/001/007");
  Start(kStick);
  ASSERT_TRUE(WaitForList("example.com/stick", {"0403:6001:S Unhealthy"})) << tenond->log();
  EXPECT_TRUE(RunUntil([&] {
    return Status().find("held by pod shop/till as f00d of squat.ai/serial") != std::string::npos;
  })) << Status();

  kubelet.ServePodResources(tree.Real("/pods.sock"), {});

  EXPECT_TRUE(WaitForList("example.com/stick", {"0403:6001:S"})) << tenond->log();
}

TEST_F(DevicesTest, WhatAPodHoldsIsKnownAlsoIfItWasPulledOutWhenTenondStarted) {
  GaveAway("/dev/bus/usb/001/007");
  Plug("1-2", 3, "T");
  Start(kStick);
  ASSERT_TRUE(WaitForList("example.com/stick", {"0403:6001:T"})) << tenond->log();

  Plug("1-1", 7, "S");

  EXPECT_TRUE(WaitForList("example.com/stick", {"0403:6001:S Unhealthy", "0403:6001:T"}))
      << tenond->log();
}

TEST_F(DevicesTest, ALinkThatWasMovedToWhatAnotherPodHasIsNotGivenAway) {
  ASSERT_TRUE(sysfs.tree.CharacterDevice("/dev/ttyUSB0", 188, 0));
  ASSERT_TRUE(sysfs.tree.CharacterDevice("/dev/ttyUSB1", 188, 1));
  sysfs.tree.Link("/dev/serial/by-id/a", "../../ttyUSB0");
  sysfs.tree.Link("/dev/serial/by-id/b", "../../ttyUSB1");
  Start("  - {name: serial, devices: [{path: /dev/serial/by-id/*}]}\n");
  const std::string id = "serial_2Fby-id_2F";
  ASSERT_TRUE(WaitForList("example.com/serial", {id + "a", id + "b"})) << tenond->log();
  Allocate("example.com/serial", {id + "a"});

  sysfs.tree.Remove("/dev/serial/by-id/b");
  sysfs.tree.Link("/dev/serial/by-id/b", "../../ttyUSB0");

  auto given = TryAllocate("example.com/serial", {id + "b"});
  ASSERT_FALSE(given);
  EXPECT_THAT(given.error().message(), HasSubstr("held by a pod as " + id + "a"));
}

// What hardware says of itself is an attacker's text: it may neither break a format nor be taken
// for something else, wherever it is shown.
TEST_F(DevicesTest, AHostileSerialNumberIsHarmlessWhereverItIsShown) {
  Plug("1-1", 7, "A\"},{\n\x01\xFF$(id);%n,../B");
  Start("  - {name: stick, cdi: true, devices: [{usb: {vendor: \"0403\"}}]}\n");
  ASSERT_TRUE(RunUntil([&] { return Listed("example.com/stick").size() == 1; })) << tenond->log();
  const std::string id = Listed("example.com/stick")[0];

  ContainerAllocation given = Allocate("example.com/stick", {id});

  const auto is_plain = [](std::string_view text) {
    return text.find_first_not_of(
               "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
               "0123456789._:-") == std::string_view::npos;
  };
  EXPECT_TRUE(is_plain(id)) << id;
  EXPECT_EQ(id, given.env["TENON_EXAMPLE_COM_STICK_IDS"]);
  EXPECT_EQ("001:007", given.env["USB_RESOURCE_EXAMPLE_COM_STICK"]);
  EXPECT_THAT(given.cdi_devices, ::testing::ElementsAre("example.com/stick=" + id));
  EXPECT_TRUE(cdi::SpecFiles(tree.Real("/cdi")).Read("example.com/stick"));
  auto status = ParseJson(Status(), "status");
  ASSERT_TRUE(status) << status.error().message();
  for (const std::string& text : {tenond->Get("/metrics").body, tenond->log()})
    EXPECT_EQ(std::string::npos, text.find_first_of("\x01\xFF")) << text;
  std::istringstream log(tenond->log());
  for (std::string line; std::getline(log, line);)
    EXPECT_THAT(line, ::testing::StartsWith("20"));
}

TEST_F(DevicesTest, ASharedDeviceIsManyAndAReloadChangesHowMany) {
  Start("  - {name: shared, share: 2, devices: [{path: /dev/null}]}\n");
  ASSERT_TRUE(WaitForList("example.com/shared", {"null::0", "null::1"})) << tenond->log();
  EXPECT_EQ(1U, Allocate("example.com/shared", {"null::0", "null::1"}).device_nodes.size());

  WriteConfig("  - {name: shared, share: 3, devices: [{path: /dev/null}]}\n");

  EXPECT_TRUE(WaitForList("example.com/shared", {"null::0", "null::1", "null::2"}))
      << tenond->log();
}

/// Device nodes that the kernel says are ttys; only the first can be opened.
TEST_F(DevicesTest, ADeviceThatCannotBeOpenedIsUnhealthyUnlessAContainerHasIt) {
  const base::UniqueFd null(::open(sysfs.tree.Real("/dev/null").c_str(), O_RDONLY | O_CLOEXEC));
  if (!null.valid()) GTEST_SKIP() << "device nodes here cannot be opened";
  sysfs.tree.Directory("/sys/class/tty");
  for (const char* number : {"1:3", "240:77", "240:78"})
    sysfs.tree.Link("/sys/dev/char/" + std::string(number) + "/subsystem", "/sys/class/tty");
  ASSERT_TRUE(sysfs.tree.CharacterDevice("/dev/ttyX0", 1, 3));
  ASSERT_TRUE(sysfs.tree.CharacterDevice("/dev/ttyX1", 240, 77));
  ASSERT_TRUE(sysfs.tree.CharacterDevice("/dev/ttyX2", 240, 78));
  // In no list, so it is not opened.
  ASSERT_TRUE(sysfs.tree.CharacterDevice("/dev/ttyX3", 240, 79));
  const auto hold = [this](const std::string& id) {
    kubelet.ServePodResources(tree.Real("/pods.sock"),
                              {{"till", "shop", {{"main", {{"example.com/x", {id}, {}}}}}}});
  };
  hold("ttyX1");

  Start(
      "  - name: x\n    devices: [{path: /dev/ttyX*}]\n"
      "    openCheck: {subsystems: [tty], every: 1}\n");

  ASSERT_TRUE(WaitForList("example.com/x", {"ttyX0", "ttyX1", "ttyX2 Unhealthy", "ttyX3"}))
      << tenond->log() << Status();
  EXPECT_THAT(Status(),
              HasSubstr("\"reason\":\"open check: open " + sysfs.tree.Real("/dev/ttyX2") + ": "));

  // Another pod, and another device node that can be opened again.
  hold("ttyX0");
  sysfs.tree.Link("/sys/dev/char/1:5/subsystem", "/sys/class/tty");
  ASSERT_TRUE(sysfs.tree.CharacterDevice("/dev/new", 1, 5));
  sysfs.tree.Move("/dev/new", "/dev/ttyX2");
  EXPECT_TRUE(WaitForList("example.com/x", {"ttyX0", "ttyX1 Unhealthy", "ttyX2", "ttyX3"}))
      << tenond->log();
}

TEST_F(DevicesTest, WhereHoldersAreNotKnownNothingIsOpened) {
  sysfs.tree.Directory("/sys/class/tty");
  sysfs.tree.Link("/sys/dev/char/240:77/subsystem", "/sys/class/tty");
  ASSERT_TRUE(sysfs.tree.CharacterDevice("/dev/ttyX1", 240, 77));
  Start(
      "  - name: x\n    devices: [{path: /dev/ttyX1}]\n"
      "    openCheck: {subsystems: [tty], every: 1}\n");
  ASSERT_TRUE(WaitForList("example.com/x", {"ttyX1"})) << tenond->log();

  kubelet.ServePodResources(tree.Real("/pods.sock"), {});

  EXPECT_TRUE(WaitForList("example.com/x", {"ttyX1 Unhealthy"})) << tenond->log();
}

/// The layout of a real machine: a hub behind a hub with twins that have no serial numbers, one of
/// them in port 10, and a composite camera with a microphone.
TEST_F(DevicesTest, ARealLayoutOfHubsTwinsAndACompositeDeviceIsFound) {
  if (!MakeSysOfLayout(LAYOUTS_PATH "/usb.umockdev", sysfs.tree.root()))
    GTEST_SKIP() << "needs umockdev-run";
  for (unsigned number : {2U, 3U, 14U, 15U, 16U})
    ASSERT_TRUE(sysfs.tree.CharacterDevice(discovery::SysfsTree::UsbNode(1, number), 189, number));
  ASSERT_TRUE(sysfs.tree.CharacterDevice("/dev/ttyUSB2", 188, 2));
  ASSERT_TRUE(sysfs.tree.CharacterDevice("/dev/ttyUSB10", 188, 10));
  ASSERT_TRUE(sysfs.tree.CharacterDevice("/dev/video0", 81, 0));
  ASSERT_TRUE(sysfs.tree.CharacterDevice("/dev/video1", 81, 1));
  ASSERT_TRUE(sysfs.tree.CharacterDevice("/dev/snd/pcmC1D0c", 116, 3));

  Start(
      "  - {name: tty, devices: [{usb: {vendor: \"0403\"}, nodes: [tty]}]}\n"
      "  - {name: camera, devices: [{usb: {class: \"0e\"}, nodes: [video4linux, sound]}]}\n"
      "  - {name: hub, devices: [{usb: {class: \"09\"}}]}\n");

  ASSERT_TRUE(WaitForList("example.com/tty", {"usb-1-1.4.10", "usb-1-1.4.2"})) << tenond->log();
  ASSERT_TRUE(WaitForList("example.com/camera", {"046d:0825:C0FFEE"})) << tenond->log();
  ASSERT_TRUE(WaitForList("example.com/hub", {"usb-1-1", "usb-1-1.4"})) << tenond->log();
  EXPECT_EQ("/dev/ttyUSB10",
            Allocate("example.com/tty", {"usb-1-1.4.2"}).device_nodes[0].host_path);
  EXPECT_EQ(
      "/dev/snd/pcmC1D0c,/dev/video0,/dev/video1",
      Allocate("example.com/camera", {"046d:0825:C0FFEE"}).env["TENON_EXAMPLE_COM_CAMERA_PATHS"]);
}

/// A machine with a network card, an FPGA and an InfiniBand adapter, offered by examples/config.
struct ExamplesTest : DevicesTest {
  void Function(const std::string& address, const std::map<std::string, std::string>& attributes,
                const std::string& driver) {
    const std::string directory =
        sysfs.Device("pci0000:00/" + address, "bus/pci/devices", attributes);
    sysfs.tree.Directory("/sys/bus/pci/drivers/" + driver);
    sysfs.tree.Link(directory + "/driver", "/sys/bus/pci/drivers/" + driver);
  }
  void StartExample(const std::string& name) {
    std::ifstream file(EXAMPLES_PATH "/" + name);
    std::stringstream text;
    text << file.rdbuf();
    const std::string config = text.str();
    Start(config.substr(config.find("resources:\n") + 11));
  }
};

TEST_F(ExamplesTest, ANetworkCardGivesItsVirtualFunctions) {
  Function("0000:3b:00.0", {{"vendor", "0x15b3"}, {"class", "0x020000"}}, "mlx5_core");
  for (const auto& [address, driver] : std::map<std::string, std::string>{
           {"0000:3b:00.1", "vfio-pci"}, {"0000:3b:00.2", "mlx5_core"}}) {
    Function(address, {{"vendor", "0x15b3"}, {"class", "0x020000"}, {"numa_node", "1"}}, driver);
    sysfs.tree.Link("/sys/devices/pci0000:00/" + address + "/physfn", "../0000:3b:00.0");
  }
  sysfs.tree.Link("/sys/kernel/iommu_groups/12/devices/0000:3b:00.1",
                  "/sys/devices/pci0000:00/0000:3b:00.1");
  sysfs.tree.Link("/sys/devices/pci0000:00/0000:3b:00.1/iommu_group",
                  "/sys/kernel/iommu_groups/12");
  ASSERT_TRUE(sysfs.tree.CharacterDevice("/dev/vfio/12", 243, 0));
  ASSERT_TRUE(sysfs.tree.CharacterDevice("/dev/vfio/vfio", 10, 196));
  StartExample("nic.yaml");

  ASSERT_TRUE(WaitForList("example.com/vf-dpdk", {"0000:3b:00.1"})) << tenond->log();
  ASSERT_TRUE(WaitForList("example.com/vf-kernel", {"0000:3b:00.2"})) << tenond->log();
  ContainerAllocation group = Allocate("example.com/vf-dpdk", {"0000:3b:00.1"});
  ASSERT_EQ(2U, group.device_nodes.size());
  EXPECT_EQ("/dev/vfio/12", group.device_nodes[0].host_path);
  ContainerAllocation function = Allocate("example.com/vf-kernel", {"0000:3b:00.2"});
  EXPECT_TRUE(function.device_nodes.empty());
  EXPECT_EQ("0000:3b:00.2", function.env["PCIDEVICE_EXAMPLE_COM_VF_KERNEL"]);
}

TEST_F(ExamplesTest, AnFpgaGivesItsCharacterDevices) {
  Function("0000:5e:00.0", {{"vendor", "0x10ee"}, {"class", "0x120000"}}, "xdma");
  ASSERT_TRUE(sysfs.Node("pci0000:00/0000:5e:00.0/xdma/xdma0_user", "xdma", "xdma0_user", 235, 0));
  ASSERT_TRUE(
      sysfs.Node("pci0000:00/0000:5e:00.0/xdma/xdma0_h2c_0", "xdma", "xdma0_h2c_0", 235, 1));
  StartExample("fpga.yaml");

  ASSERT_TRUE(WaitForList("example.com/fpga", {"0000:5e:00.0"})) << tenond->log();
  EXPECT_EQ("/dev/fpga/xdma0_h2c_0,/dev/fpga/xdma0_user",
            Allocate("example.com/fpga", {"0000:5e:00.0"}).env["TENON_EXAMPLE_COM_FPGA_PATHS"]);
}

TEST_F(ExamplesTest, AnInfinibandAdapterGivesItsVerbsAndTheConnectionManager) {
  const std::string adapter = "pci0000:00/0000:af:00.0";
  ASSERT_TRUE(sysfs.Node(adapter + "/infiniband_verbs/uverbs0", "infiniband_verbs",
                         "infiniband/uverbs0", 231, 192));
  ASSERT_TRUE(sysfs.tree.CharacterDevice("/dev/infiniband/rdma_cm", 10, 58));
  StartExample("infiniband.yaml");

  const std::string id = "infiniband__verbs-0000:af:00.0_2Binfiniband_2Frdma__cm";
  ASSERT_TRUE(RunUntil([&] { return Listed("example.com/hca").size() == 16; })) << tenond->log();
  EXPECT_EQ("/dev/infiniband/uverbs0,/dev/infiniband/rdma_cm",
            Allocate("example.com/hca", {id + "::3"}).env["TENON_EXAMPLE_COM_HCA_PATHS"]);
}

}  // namespace
}  // namespace tenon::spine
