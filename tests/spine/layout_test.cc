// The kernel's events, in the kernel's own format, about the layout of a real machine.

#include "spine/layout.h"

#include <gmock/gmock.h>
#include <sys/socket.h>

#include <array>
#include <filesystem>

#include "discovery/scanning_source.h"
#include "discovery/sysfs_tree.h"
#include "discovery/usb_scanner.h"
#include "host/fake_file_watch.h"
#include "loop/event_loop.h"

namespace tenon::spine {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

constexpr const char* kStick = "/devices/pci0000:00/0000:00:14.0/usb1/1-1/1-1.4/1-1.4.2";

struct LayoutTest : ::testing::Test {
  void SetUp() override {
    if (!sysfs.tree.CharacterDevice("/dev/null", 1, 3)) GTEST_SKIP() << "needs CAP_MKNOD";
    if (!MakeSysOfLayout(LAYOUTS_PATH "/usb.umockdev", sysfs.tree.root()))
      GTEST_SKIP() << "needs umockdev-run";
    for (unsigned number : {2U, 3U, 14U, 15U, 16U})
      ASSERT_TRUE(
          sysfs.tree.CharacterDevice(discovery::SysfsTree::UsbNode(1, number), 189, number));
    std::array<int, 2> fds{};
    ASSERT_EQ(0, ::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds.data()));
    kernel = base::UniqueFd(fds[0]);
    uevents = *host::UeventSocket::FromFd(*loop, base::UniqueFd(fds[1]));
  }
  std::string Sys(const std::string& path) const { return sysfs.tree.root() + "/sys" + path; }

  /// As the kernel writes it: a header, then NAME=VALUE, each ended by a zero byte.
  void Send(const std::string& action, const std::string& path, const std::string& type) {
    std::string bytes = action + "@" + path;
    for (const std::string& field :
         {"ACTION=" + action, "DEVPATH=" + path, std::string("SUBSYSTEM=usb"), "DEVTYPE=" + type,
          std::string("SEQNUM=4711")})
      bytes += '\0' + field;
    bytes += '\0';
    ASSERT_EQ(static_cast<ssize_t>(bytes.size()),
              ::send(kernel.get(), bytes.data(), bytes.size(), 0));
  }
  void LetSettle() {
    for (int i = 0; i < 8; ++i) {
      if (i == 4) clock.Advance(std::chrono::milliseconds(90));
      loop->RunUntil([] { return false; }, base::Duration::zero());
    }
  }
  std::vector<std::string> Ids() const {
    std::vector<std::string> ids;
    for (const auto& device : last)
      ids.push_back(device->id.value);
    return ids;
  }

  base::FakeClock clock;
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  discovery::SysfsTree sysfs;
  std::unique_ptr<host::Host> host = *host::PosixHost::Open(sysfs.tree.root());
  host::FakeFileWatch files;
  base::RecordingLog log;
  base::UniqueFd kernel;
  std::unique_ptr<host::UeventSocket> uevents;
  discovery::Snapshot last;
};

TEST_F(LayoutTest, AStickBehindTwoHubsThatIsPulledAndComesBackIsSeenByTheKernelsEvents) {
  discovery::ScanningSource source({*host, &files, loop->timers(), log, uevents.get()},
                                   std::make_unique<discovery::UsbScanner>(
                                       discovery::UsbOptions{.any_of = {{.vendor = "0403"}}}));
  source.Start([this](discovery::Snapshot snapshot) { last = std::move(snapshot); });
  LetSettle();
  ASSERT_THAT(Ids(), ElementsAre("usb-1-1.4.2", "usb-1-1.4.10"));

  const std::string kept = sysfs.tree.root() + "/kept";
  fs::rename(Sys(kStick), kept);
  const fs::path link = fs::read_symlink(Sys("/bus/usb/devices/1-1.4.2"));
  fs::remove(Sys("/bus/usb/devices/1-1.4.2"));
  Send("remove", std::string(kStick) + "/1-1.4.2:1.0", "usb_interface");
  Send("remove", kStick, "usb_device");
  LetSettle();
  EXPECT_THAT(Ids(), ElementsAre("usb-1-1.4.10"));

  fs::rename(kept, Sys(kStick));
  fs::create_symlink(link, Sys("/bus/usb/devices/1-1.4.2"));
  Send("add", kStick, "usb_device");
  Send("bind", kStick, "usb_device");
  LetSettle();
  EXPECT_THAT(Ids(), ElementsAre("usb-1-1.4.2", "usb-1-1.4.10"));
}

}  // namespace
}  // namespace tenon::spine
