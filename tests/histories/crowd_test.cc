// A machine of 500 USB and PCI devices, and more events than anybody wants to look at.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "host/memory_host.h"
#include "host/temp_tree.h"
#include "tenond/resource_set.h"

namespace tenon::histories {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using namespace std::string_literals;

constexpr unsigned kEach = 250;
constexpr const char* kConfig = R"(domain: example.com
resources:
  - {name: stick, devices: [{usb: {vendor: '0403'}}]}
  - {name: card, devices: [{pci: {vendor: 15b3}}]}
)";

struct CrowdTest : ::testing::Test {
  CrowdTest() {
    tree.Directory("/plugins");
    for (unsigned i = 0; i < kEach; ++i) {
      Plug(i);
      const std::string address = fmt::format("0000:{:02x}:{:02x}.0", 1 + i / 32, i % 32);
      const std::string at = "/sys/devices/pci0000:00/" + address;
      machine.File(at + "/vendor", "0x15b3\n");
      machine.File(at + "/class", "0x020000\n");
      machine.Link("/sys/bus/pci/devices/" + address, at);
    }
    std::array<int, 2> fds{};
    EXPECT_EQ(0, ::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds.data()));
    kernel = base::UniqueFd(fds[0]);
    uevents = *host::UeventSocket::FromFd(*loop, base::UniqueFd(fds[1]));
    resources = std::make_unique<tenond::ResourceSet>(
        plugin_service::ServiceContext{*loop, clock, log, metrics},
        tenond::ResourceSet::Surroundings{machine, nullptr, uevents.get(), directory, events,
                                          tree.Real("/pods.sock"), tree.Real("/cdi")},
        "token", tenond::ResourceSet::Allowed{});
    resources->Apply(*config::Load(kConfig, "config").config);
  }

  static std::string Port(unsigned i) { return "1-" + std::to_string(i + 1); }
  static std::string Directory(unsigned i) {
    return "/sys/devices/pci0000:00/0000:00:14.0/usb1/" + Port(i);
  }
  static std::string Node(unsigned i) {
    return fmt::format("/dev/bus/usb/{:03}/{:03}", 1 + i / 127, 1 + i % 127);
  }
  /// Of three sticks one has no serial number, one has its own, and one has that of many.
  void Plug(unsigned i) {
    const std::string at = Directory(i);
    machine.File(at + "/idVendor", "0403\n");
    machine.File(at + "/idProduct", "6001\n");
    if (i % 3 > 0) machine.File(at + "/serial", i % 3 == 1 ? "S" + std::to_string(i) : "TWIN");
    machine.File(at + "/busnum", std::to_string(1 + i / 127));
    machine.File(at + "/devnum", std::to_string(1 + i % 127));
    machine.Link("/sys/bus/usb/devices/" + Port(i), at);
    machine.CharacterDevice(Node(i), 189, i);
  }
  void Unplug(unsigned i) {
    machine.Remove("/sys/bus/usb/devices/" + Port(i));
    machine.Remove(Directory(i));
    machine.Remove(Node(i));
  }
  void Turn() {
    loop->RunUntil([] { return false; }, base::Duration::zero());
  }
  void Pass(base::Duration time) {
    clock.Advance(time);
    Turn();
    Turn();
  }
  void Tell(const std::string& what, unsigned i) {
    const std::string event = what + "@" + Directory(i).substr(4) + "\0SUBSYSTEM=usb\0"s;
    while (::send(kernel.get(), event.data(), event.size(), 0) < 0)
      Turn();
  }
  DeviceSetPtr List(const std::string& resource) const {
    return resources->plugins().at("example.com/" + resource)->core().devices();
  }
  std::vector<std::string> Ids(const std::string& resource) const {
    std::vector<std::string> ids;
    for (const Device& device : List(resource)->devices)
      ids.push_back(device.id.value + (device.healthy() ? "" : " " + device.reason));
    return ids;
  }
  /// Bytes that are allocated; 0 where a sanitizer has replaced malloc.
  static size_t Allocated() { return ::mallinfo2().uordblks; }

  const bool is_long = std::getenv("TENON_LONG") != nullptr;
  base::FakeClock clock;
  base::NullLog log;
  base::MetricsRegistry metrics;
  EventRing events{256};
  host::TempTree tree;
  host::MemoryHost machine;
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  plugin::PluginDirectory directory{{}, loop->timers(), nullptr, tree.Real("/plugins")};
  base::UniqueFd kernel;
  std::unique_ptr<host::UeventSocket> uevents;
  std::unique_ptr<tenond::ResourceSet> resources;
};

TEST_F(CrowdTest, InEveryOrderOfTheDirectoriesTheIdsAreTheSame) {
  const auto sticks = Ids("stick");
  const auto cards = Ids("card");
  ASSERT_EQ(kEach, sticks.size());
  ASSERT_EQ(kEach, cards.size());
  std::mt19937 random(1);
  int lists = 0;
  machine.reorder = [&](std::vector<std::string>& names) {
    ++lists;
    std::shuffle(names.begin(), names.end(), random);
  };

  // Without inotify everything is looked at every five seconds.
  for (int i = 0; i < (is_long ? 200 : 20); ++i) {
    Pass(seconds(5));
    ASSERT_EQ(sticks, Ids("stick"));
    ASSERT_EQ(cards, Ids("card"));
  }

  EXPECT_GE(lists, 2 * (is_long ? 200 : 20));
  EXPECT_EQ(1U, List("stick")->revision);
  EXPECT_EQ(1U, List("card")->revision);
}

TEST_F(CrowdTest, AStormOfTenThousandEventsInASecondIsTheRightListAfterFewMessages) {
  const auto cards = Ids("card");
  const size_t before = Allocated();
  size_t most = before;

  // Every stick comes and goes, and those below 100 are gone in the end.
  for (unsigned n = 0; n < 10'000; ++n) {
    const unsigned i = n % kEach;
    const bool out = n / kEach % 2 == 0;
    if (out)
      Unplug(i);
    else
      Plug(i);
    Tell(out ? "remove" : "add", i);
    if (n % 10 == 9) {
      Pass(milliseconds(1));
      most = std::max(most, Allocated());
    }
  }
  for (unsigned i = 0; i < 100; ++i) {
    Unplug(i);
    Tell("remove", i);
  }
  Pass(milliseconds(250));

  EXPECT_EQ(kEach - 100, List("stick")->devices.size());
  EXPECT_TRUE(std::ranges::all_of(List("stick")->devices, &Device::healthy));
  EXPECT_EQ(cards, Ids("card"));
  EXPECT_LE(List("stick")->revision, 8U) << "each is one message";
  EXPECT_EQ(1U, List("card")->revision);
  EXPECT_LE(most, before + (size_t{2} << 20));
  const uint64_t revision = List("stick")->revision;
  Pass(seconds(5));
  EXPECT_EQ(revision, List("stick")->revision) << "nothing was missed";
}

}  // namespace
}  // namespace tenon::histories
