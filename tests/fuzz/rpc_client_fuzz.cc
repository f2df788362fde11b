// Any bytes from a server: none may crash the client, and every call ends exactly once.

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "rpc/channel.h"

namespace tenon::rpc {
namespace {

void Turn(loop::EventLoop& loop) {
  auto now = loop.timers().After(base::Duration::zero(), [] {});
  loop.RunUntil([turned = false]() mutable { return std::exchange(turned, true); },
                std::chrono::seconds(1));
}

void Run(const uint8_t* bytes, size_t size) {
  base::FakeClock clock;
  auto loop = *loop::EventLoop::Create(clock);
  std::array<int, 2> ends{};
  TENON_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) ==
              0);
  base::UniqueFd peer(ends[0]);
  auto channel = Channel::FromSocket(*loop, base::UniqueFd(ends[1]), {.max_response_bytes = 1000});
  int unary_ends = 0;
  int stream_ends = 0;
  auto unary = channel->Unary("/t.S/Unary", "request", std::chrono::seconds(5),
                              [&](const Status&, const std::string&) { ++unary_ends; });
  auto stream = channel->Stream(
      "/t.S/Stream", "request", [&](std::string_view) { TENON_CHECK(stream_ends == 0); },
      [&](const Status&) { ++stream_ends; });
  size_t step = *bytes % 64 == 0 ? size : *bytes;
  for (size_t sent = 1; sent < size; sent += step) {
    size_t length = std::min(step, size - sent);
    if (::send(peer.get(), bytes + sent, length, MSG_NOSIGNAL) < 0) break;
    Turn(*loop);
  }
  peer.Reset();
  for (int i = 0; i < 3; ++i)
    Turn(*loop);
  TENON_CHECK(unary_ends == 1 && stream_ends == 1);
}

}  // namespace
}  // namespace tenon::rpc

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size > 0) tenon::rpc::Run(bytes, size);
  return 0;
}
