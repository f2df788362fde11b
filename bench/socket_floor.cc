#include "socket_floor.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "base/check.h"

namespace tenon::bench {
namespace {

constexpr size_t kMessageBytes = 128;
constexpr size_t kMostInFlight = 16;

[[noreturn]] void Echo(int socket) {
  std::array<char, kMostInFlight * kMessageBytes> buffer;
  for (;;) {
    ssize_t got = ::read(socket, buffer.data(), buffer.size());
    if (got <= 0 || ::write(socket, buffer.data(), static_cast<size_t>(got)) != got) ::_exit(0);
  }
}

}  // namespace

SocketFloor::SocketFloor() {
  std::array<int, 2> ends{};
  TENON_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  pid_ = ::fork();
  TENON_CHECK(pid_ >= 0);
  if (pid_ == 0) {
    ::close(ends[0]);
    Echo(ends[1]);
  }
  ::close(ends[1]);
  socket_ = base::UniqueFd(ends[0]);
}

SocketFloor::~SocketFloor() {
  socket_.Reset();
  ::waitpid(pid_, nullptr, 0);
}

void SocketFloor::Exchange(int width) {
  std::array<char, kMostInFlight * kMessageBytes> bytes{};
  size_t size = static_cast<size_t>(width) * kMessageBytes;
  TENON_CHECK(size <= bytes.size());
  TENON_CHECK(::write(socket_.get(), bytes.data(), size) == static_cast<ssize_t>(size));
  for (size_t left = size; left > 0;) {
    ssize_t got = ::read(socket_.get(), bytes.data(), left);
    TENON_CHECK(got > 0);
    left -= static_cast<size_t>(got);
  }
}

}  // namespace tenon::bench
