#include "host/uevent_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <string>
#include <vector>

namespace tenon::host {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using namespace std::string_literals;

TEST(Uevent, IsReadFromTheKernelsFormat) {
  auto event = ParseUevent(
      "add@/devices/pci0000:00/usb1/1-1\0ACTION=add\0DEVPATH=/devices/pci0000:00/usb1/1-1\0SUBSYSTEM=usb\0SEQNUM=7\0"s);

  ASSERT_TRUE(event);
  EXPECT_EQ((Uevent{"add", "/devices/pci0000:00/usb1/1-1", "usb"}), *event);
}

TEST(Uevent, WithoutASubsystemOrAZeroByteAtTheEndIsStillRead) {
  EXPECT_EQ((Uevent{"change", "/x", ""}), ParseUevent("change@/x\0"s));
  EXPECT_EQ((Uevent{"change", "/x", "tty"}), ParseUevent("change@/x\0SUBSYSTEM=tty"s));
}

TEST(Uevent, AnythingElseIsRefused) {
  for (const std::string& bytes :
       {""s, "\0"s, "libudev\0\xFE\xED"s, "add@relative\0"s, "@/x\0"s, "add@/x"s, "noise"s})
    EXPECT_EQ(std::nullopt, ParseUevent(bytes)) << bytes;
}

struct UeventSocketTest : ::testing::Test {
  void SetUp() override {
    std::array<int, 2> fds{};
    ASSERT_EQ(0, ::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds.data()));
    kernel = base::UniqueFd(fds[0]);
    socket = *UeventSocket::FromFd(*loop, base::UniqueFd(fds[1]));
  }
  void Send(const std::string& bytes) const {
    ASSERT_EQ(static_cast<ssize_t>(bytes.size()),
              ::send(kernel.get(), bytes.data(), bytes.size(), 0));
  }
  std::unique_ptr<UeventSubscription> Record(std::vector<std::string>& into) {
    return socket->Subscribe(
        [&into](const Uevent* event) { into.push_back(event == nullptr ? "lost" : event->path); });
  }
  base::SystemClock clock;
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  base::UniqueFd kernel;
  std::unique_ptr<UeventSocket> socket;
  std::vector<std::string> seen;
};

TEST_F(UeventSocketTest, TellsEverySubscriberAndSkipsWhatIsNoEvent) {
  std::vector<std::string> others;
  auto first = Record(seen);
  auto second = Record(others);
  Send("add@/a\0SUBSYSTEM=usb\0"s);
  Send("noise");
  Send("remove@/b\0"s);

  EXPECT_TRUE(loop->RunUntil([&] { return seen.size() == 2 && others.size() == 2; }, seconds(5)));

  EXPECT_THAT(seen, ElementsAre("/a", "/b"));
}

TEST_F(UeventSocketTest, ASubscriptionThatEndedIsNotCalledNotEvenInTheSameEvent) {
  std::unique_ptr<UeventSubscription> victim;
  auto killer = socket->Subscribe([&](const Uevent*) { victim.reset(); });
  victim = Record(seen);
  bool told = false;
  auto last = socket->Subscribe([&](const Uevent*) { told = true; });
  Send("add@/a\0"s);

  EXPECT_TRUE(loop->RunUntil([&] { return told; }, seconds(5)));

  EXPECT_TRUE(seen.empty());
}

TEST_F(UeventSocketTest, AStormIsReadInTurnsAndNothingIsKept) {
  size_t count = 0;
  auto subscription = socket->Subscribe([&](const Uevent*) { ++count; });
  size_t sent = 0;
  const std::string message = "add@/devices/x\0SUBSYSTEM=usb\0"s;
  while (sent < 2000) {
    if (::send(kernel.get(), message.data(), message.size(), 0) > 0)
      ++sent;
    else
      loop->RunUntil([] { return false; }, base::Duration::zero());
  }

  EXPECT_TRUE(loop->RunUntil([&] { return count == sent; }, seconds(5)));
}

TEST(UeventNetlink, TheKernelLetsUsListen) {
  base::SystemClock clock;
  auto loop = *loop::EventLoop::Create(clock);

  auto socket = UeventSocket::Open(*loop);

  if (!socket) GTEST_SKIP() << socket.error().message();
  auto subscription = (*socket)->Subscribe([](const Uevent*) {});
  EXPECT_NE(nullptr, subscription);
}

}  // namespace
}  // namespace tenon::host
