// Any bytes from a client: none may crash the server, stop it, or leave anything behind.

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/check.h"
#include "rpc/server.h"

namespace tenon::rpc {
namespace {

/// One server for all inputs; it is the connections that come and go.
class Target final {
 public:
  Target() {
    server_->AddUnary("/t.S/Echo", [](std::string_view request, std::unique_ptr<UnaryCall> call) {
      call->Reply(std::string(request));
    });
    server_->AddUnary("/t.S/Hold", [this](std::string_view, std::unique_ptr<UnaryCall> call) {
      call->OnCancelled([this] { held_.clear(); });
      held_.push_back(std::move(call));
    });
    server_->AddStream("/t.S/Watch", [this](std::string_view, std::unique_ptr<ServerStream> call) {
      call->Write(body_, [this] { streams_.clear(); });
      streams_.push_back(std::move(call));
    });
  }

  void Run(const uint8_t* bytes, size_t size) {
    if (size == 0) return;
    std::array<int, 2> ends{};
    TENON_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) ==
                0);
    base::UniqueFd peer(ends[0]);
    TENON_CHECK(server_->Adopt(base::UniqueFd(ends[1])).has_value());
    size_t step = *bytes % 64 == 0 ? size : *bytes;
    std::string input = (*bytes & 1U) != 0 ? "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" : "";
    input.append(reinterpret_cast<const char*>(bytes) + 1, size - 1);
    for (size_t sent = 0; sent < input.size(); sent += step) {
      size_t length = std::min(step, input.size() - sent);
      if (::send(peer.get(), input.data() + sent, length, MSG_NOSIGNAL) < 0) break;
      Turn();
    }
    Drain(peer.get());
    peer.Reset();
    Turn();
    Turn();
    held_.clear();
    streams_.clear();
    Turn();
    // All that is left is nothing.
    TENON_CHECK(!loop_->timers().next_deadline());
  }

 private:
  void Turn() {
    auto now = loop_->timers().After(base::Duration::zero(), [] {});
    loop_->RunUntil([turned = false]() mutable { return std::exchange(turned, true); },
                    std::chrono::seconds(1));
  }
  void Drain(int fd) {
    std::array<char, 4096> chunk;
    while (::recv(fd, chunk.data(), chunk.size(), MSG_DONTWAIT) > 0)
      Turn();
  }
  static std::string Path() { return "/tmp/rpc_fuzz." + std::to_string(::getpid()); }

  base::FakeClock clock_;
  base::NullLog log_;
  std::unique_ptr<loop::EventLoop> loop_ = *loop::EventLoop::Create(clock_);
  std::vector<std::unique_ptr<UnaryCall>> held_;
  std::vector<std::unique_ptr<ServerStream>> streams_;
  const Payload body_ = std::make_shared<const std::string>(100000, 'x');
  std::unique_ptr<Server> server_ = *Server::Listen(*loop_, log_, Path(), {});
};

}  // namespace
}  // namespace tenon::rpc

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static tenon::rpc::Target target;
  target.Run(bytes, size);
  return 0;
}
