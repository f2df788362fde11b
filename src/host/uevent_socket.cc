#include "host/uevent_socket.h"

#include <linux/netlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/errno_error.h"

namespace tenon::host {
namespace {

/// Multicast group of the kernel itself; group 2 is udevd's.
constexpr unsigned kKernelGroup = 1;
/// The kernel's UEVENT_BUFFER_SIZE is 2048, and the header comes on top of it.
constexpr size_t kMostBytes = 8192;
/// Messages in one turn at most, so that a storm does not keep the loop from other work.
constexpr int kMostInATurn = 256;

struct Listener {
  UeventSocket::Callback callback;
  bool ended = false;
};
using Listeners = std::vector<std::shared_ptr<Listener>>;

class Subscription final : public UeventSubscription {
 public:
  Subscription(Listeners& all, std::shared_ptr<Listener> listener)
      : all_(all), listener_(std::move(listener)) {}
  ~Subscription() override {
    listener_->ended = true;
    std::erase(all_, listener_);
  }

 private:
  Listeners& all_;
  const std::shared_ptr<Listener> listener_;
};

class DatagramUevents final : public UeventSocket {
 public:
  explicit DatagramUevents(base::UniqueFd fd) : fd_(std::move(fd)) {}

  Result<void> Start(loop::EventLoop& loop) {
    TENON_TRY(watch_, loop.WatchFd(fd_.get(), loop::kReadable, [this](unsigned) { OnReadable(); }));
    return {};
  }
  std::unique_ptr<UeventSubscription> Subscribe(Callback callback) override {
    auto listener = std::make_shared<Listener>(Listener{std::move(callback)});
    listeners_.push_back(listener);
    return std::make_unique<Subscription>(listeners_, std::move(listener));
  }

 private:
  void OnReadable();
  void Tell(const Uevent* event) const;

  const base::UniqueFd fd_;
  loop::FdWatch watch_;  // After fd_: ends before the descriptor is closed.
  Listeners listeners_;
};

void DatagramUevents::OnReadable() {
  std::array<char, kMostBytes> buffer;
  for (int i = 0; i < kMostInATurn; ++i) {
    sockaddr_nl sender{};
    socklen_t sender_size = sizeof sender;
    const ssize_t got = ::recvfrom(fd_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT,
                                   reinterpret_cast<sockaddr*>(&sender), &sender_size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == ENOBUFS) {
      Tell(nullptr);
      continue;
    }
    if (got < 0) return;
    if (got == 0) return watch_.Cancel();  // The writer of a socket pair has closed it.
    // Whoever may send to the group has an address; the kernel has none.
    if (sender.nl_family == AF_NETLINK && sender.nl_pid != 0) continue;
    if (auto event = ParseUevent({buffer.data(), static_cast<size_t>(got)})) Tell(&*event);
  }
}

void DatagramUevents::Tell(const Uevent* event) const {
  for (const auto& listener : Listeners(listeners_))
    if (!listener->ended) listener->callback(event);
}

}  // namespace

Result<std::unique_ptr<UeventSocket>> UeventSocket::FromFd(loop::EventLoop& loop,
                                                           base::UniqueFd fd) {
  auto socket = std::make_unique<DatagramUevents>(std::move(fd));
  TENON_TRY_VOID(socket->Start(loop));
  return std::unique_ptr<UeventSocket>(std::move(socket));
}

Result<std::unique_ptr<UeventSocket>> UeventSocket::Open(loop::EventLoop& loop) {
  base::UniqueFd fd(
      ::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT));
  if (!fd.valid()) return base::ErrnoError("socket", "uevent netlink");
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = kKernelGroup;
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return base::ErrnoError("bind", "uevent netlink");
  return FromFd(loop, std::move(fd));
}

}  // namespace tenon::host
