#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rpc/channel.h"
#include "rpc/raw_peer.h"

namespace tenon::rpc {

/// A channel, and a server that speaks HTTP/2 by hand.
struct ChannelFramesTest : ::testing::Test {
  ChannelFramesTest() { Open({}); }
  void Open(const Channel::Options& options) {
    std::array<int, 2> ends{};
    EXPECT_EQ(0, ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()));
    channel = Channel::FromSocket(*loop, base::UniqueFd(ends[0]), options);
    peer = std::make_unique<RawPeer>(base::UniqueFd(ends[1]));
  }
  void Turn() {
    loop->RunUntil([turned = false]() mutable { return std::exchange(turned, true); },
                   std::chrono::milliseconds(2));
  }
  bool Await(const std::function<bool()>& done) {
    for (int i = 0; i < 3000; ++i) {
      peer->Read();
      if (done()) return true;
      Turn();
    }
    return false;
  }
  void StartUnary(std::string request = "request",
                  base::Duration deadline = std::chrono::seconds(20)) {
    call = channel->Unary("/test.Service/Echo", std::move(request), deadline,
                          [this](const Status& status, const std::string& response) {
                            end = ToString(status);
                            messages.push_back(response);
                          });
  }
  void StartStream() {
    call = channel->Stream(
        "/test.Service/Watch", "request",
        [this](std::string_view message) { messages.emplace_back(message); },
        [this](const Status& status) { end = ToString(status); });
  }
  std::string Settings() { return Frame{RawPeer::kSettings}.bytes(); }
  std::string EndAfter(const std::string& bytes) {
    peer->Send(bytes);
    Await([&] { return !end.empty(); });
    return end;
  }
  base::SystemClock clock;
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  std::unique_ptr<Channel> channel;
  std::unique_ptr<RawPeer> peer;
  std::unique_ptr<ClientCall> call;
  std::vector<std::string> messages;
  std::string end;
};

inline HeaderList Response() {
  return {{":status", "200"}, {"content-type", "application/grpc"}};
}

inline HeaderList TrailersOnly(const std::string& status, const std::string& message) {
  return {{":status", "200"},
          {"content-type", "application/grpc"},
          {"grpc-status", status},
          {"grpc-message", message}};
}

inline std::string Answer(std::string_view body) {
  return RawPeer::Headers(1, Response()).bytes() +
         RawPeer::DataFrame(1, Message(body), false).bytes() +
         RawPeer::Headers(1, {{"grpc-status", "0"}}, true).bytes();
}

}  // namespace tenon::rpc
