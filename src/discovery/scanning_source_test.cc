#include "discovery/scanning_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>

#include "discovery/sysfs_tree.h"
#include "discovery/usb_scanner.h"
#include "host/fake_file_watch.h"
#include "loop/event_loop.h"

namespace tenon::discovery {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::string_literals;

/// Counts how often it has to look.
class CountingScanner final : public Scanner {
 public:
  explicit CountingScanner(int& looks) : looks_(looks) {}
  Scan Look(host::Host&) override {
    ++looks_;
    return {};
  }
  bool needs_uevents() const override { return true; }
  bool Concerns(const host::Uevent& event) const override { return event.subsystem == "usb"; }

 private:
  int& looks_;
};

struct ScanningSourceTest : ::testing::Test {
  void SetUp() override {
    std::array<int, 2> fds{};
    ASSERT_EQ(0, ::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds.data()));
    kernel = base::UniqueFd(fds[0]);
    uevents = *host::UeventSocket::FromFd(*loop, base::UniqueFd(fds[1]));
  }
  void Send(const std::string& bytes) {
    while (::send(kernel.get(), bytes.data(), bytes.size(), 0) < 0)
      loop->RunUntil([] { return false; }, base::Duration::zero());
  }
  /// Lets the loop read what was sent, without waiting.
  void Settle() {
    for (int i = 0; i < 4; ++i)
      loop->RunUntil([] { return false; }, base::Duration::zero());
  }
  base::FakeClock clock;
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  SysfsTree sysfs;
  std::unique_ptr<host::Host> host = *host::PosixHost::Open(sysfs.tree.root());
  host::FakeFileWatch files;
  base::RecordingLog log;
  base::UniqueFd kernel;
  std::unique_ptr<host::UeventSocket> uevents;
  int looks = 0;
};

TEST_F(ScanningSourceTest, LooksAfterAnEventThatConcernsItOnceItHasSettled) {
  ScanningSource source({*host, &files, loop->timers(), log, uevents.get()},
                        std::make_unique<CountingScanner>(looks));
  source.Start([](const Snapshot&) {});
  Send("add@/devices/virtual/net/x\0SUBSYSTEM=net\0"s);
  Settle();
  clock.Advance(milliseconds(60));
  Settle();
  EXPECT_EQ(1, looks);

  Send("add@/devices/usb1/1-1\0SUBSYSTEM=usb\0"s);
  Settle();
  EXPECT_EQ(1, looks);
  clock.Advance(milliseconds(60));
  Settle();

  EXPECT_EQ(2, looks);
}

TEST_F(ScanningSourceTest, AStormOfTenThousandEventsInASecondIsAFewScans) {
  ScanningSource source({*host, &files, loop->timers(), log, uevents.get()},
                        std::make_unique<CountingScanner>(looks));
  source.Start([](const Snapshot&) {});

  for (int i = 0; i < 10'000; ++i) {
    Send("change@/devices/usb1/1-1\0SUBSYSTEM=usb\0"s);
    if (i % 10 == 0) {
      clock.Advance(milliseconds(1));
      Settle();
    }
  }
  Settle();
  clock.Advance(milliseconds(250));
  Settle();

  EXPECT_GE(looks, 2);
  EXPECT_LE(looks, 8);
  EXPECT_GT(loop->timers().next_deadline(), clock.Now() + seconds(1)) << "a scan is owed";
}

TEST_F(ScanningSourceTest, WithoutTheKernelsEventsItLooksEveryFiveSeconds) {
  ScanningSource with({*host, &files, loop->timers(), log, uevents.get()},
                      std::make_unique<CountingScanner>(looks));
  with.Start([](const Snapshot&) {});
  EXPECT_EQ(clock.Now() + seconds(60), loop->timers().next_deadline());

  ScanningSource without({*host, &files, loop->timers(), log},
                         std::make_unique<CountingScanner>(looks));
  without.Start([](const Snapshot&) {});

  EXPECT_EQ(clock.Now() + seconds(5), loop->timers().next_deadline());
}

TEST_F(ScanningSourceTest, AHotplugIsTheRightListInTheEnd) {
  if (!sysfs.tree.CharacterDevice("/dev/null", 1, 3)) GTEST_SKIP() << "needs CAP_MKNOD";
  ScanningSource source({*host, &files, loop->timers(), log, uevents.get()},
                        std::make_unique<UsbScanner>(UsbOptions{.any_of = {{.vendor = "0403"}}}));
  Snapshot last;
  source.Start([&](Snapshot snapshot) { last = std::move(snapshot); });
  EXPECT_THAT(last, IsEmpty());

  ASSERT_TRUE(sysfs.Usb("usb1/1-1/1-1.4", 1, 14, {{"idVendor", "0403"}, {"idProduct", "6001"}}));
  Send("add@/devices/usb1/1-1/1-1.4\0SUBSYSTEM=usb\0"s);
  Settle();
  clock.Advance(milliseconds(60));
  Settle();

  EXPECT_THAT(Texts(last), ElementsAre("usb-1-1.4 /dev/bus/usb/001/014"));
}

TEST_F(ScanningSourceTest, MayBeDestroyedInItsReportAfterAnEvent) {
  auto source = std::make_unique<ScanningSource>(
      Surroundings{*host, &files, loop->timers(), log, uevents.get()},
      std::make_unique<CountingScanner>(looks));
  bool destroy = false;
  source->Start([&](const Snapshot&) {
    if (destroy) source.reset();
  });
  destroy = true;

  Send("add@/devices/usb1/1-1\0SUBSYSTEM=usb\0"s);
  Settle();
  clock.Advance(milliseconds(60));
  Settle();

  EXPECT_EQ(nullptr, source);
}

}  // namespace
}  // namespace tenon::discovery
