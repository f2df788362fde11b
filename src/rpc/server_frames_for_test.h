#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "loop/unix_socket.h"
#include "rpc/raw_peer.h"
#include "rpc/server.h"
#include "rpc/test_dir.h"

namespace tenon::rpc {

inline constexpr char kEcho[] = "/test.Service/Echo";
inline constexpr char kHold[] = "/test.Service/Hold";
inline constexpr char kWatch[] = "/test.Service/Watch";

/// The headers with this one set: pseudo-headers go first, others last.
inline HeaderList With(HeaderList headers, const std::string& name, const std::string& value) {
  std::erase_if(headers, [&](const auto& header) { return header.first == name; });
  bool pseudo = name[0] == ':';
  headers.insert(pseudo ? headers.begin() : headers.end(), {name, value});
  return headers;
}

/// A server, and a client that speaks HTTP/2 by hand.
struct ServerFramesTest : ::testing::Test {
  ServerFramesTest() { Serve({}); }
  void Serve(const Server::Options& options) {
    server.reset();
    server = *Server::Listen(*loop, log, dir / "s", options);
    server->AddUnary(kEcho, [this](std::string_view request, std::unique_ptr<UnaryCall> call) {
      ++echoed;
      call->Reply(std::string(request));
    });
    server->AddUnary(kHold, [this](std::string_view, std::unique_ptr<UnaryCall> call) {
      call->OnCancelled([this] { ++cancelled; });
      held.push_back(std::move(call));
    });
    server->AddStream(kWatch, [this](std::string_view, std::unique_ptr<ServerStream> call) {
      stream = std::move(call);
    });
  }
  std::unique_ptr<RawPeer> Connect() {
    return std::make_unique<RawPeer>(*loop::ConnectUnix(dir / "s"));
  }
  void Turn() {
    loop->RunUntil([turned = false]() mutable { return std::exchange(turned, true); },
                   std::chrono::milliseconds(2));
  }
  bool Await(RawPeer& of, const std::function<bool()>& done) {
    for (int i = 0; i < 3000; ++i) {
      of.Read();
      if (done()) return true;
      Turn();
    }
    return false;
  }
  bool Await(const std::function<bool()>& done) { return Await(*peer, done); }
  /// grpc-status and grpc-message of a stream, once they have come.
  std::string EndOf(uint32_t id) {
    Await([&] { return peer->HeadersOf(id).contains("grpc-status") || peer->closed(); });
    auto headers = peer->HeadersOf(id);
    return headers["grpc-status"] + " " + headers["grpc-message"];
  }
  /// Whether another client is served, whatever this one does.
  bool OthersAreServed() {
    auto other = Connect();
    other->Send(RawPeer::Preface() + RawPeer::Call(1, kEcho, "x"));
    return Await(*other, [&] { return other->HeadersOf(1)["grpc-status"] == "0"; });
  }
  bool IsCutOff() {
    return Await([&] { return peer->closed(); });
  }
  TestDir dir;
  base::SystemClock clock;
  base::RecordingLog log;
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  std::unique_ptr<Server> server;
  int echoed = 0;
  int cancelled = 0;
  std::vector<std::unique_ptr<UnaryCall>> held;
  std::unique_ptr<ServerStream> stream;
  std::unique_ptr<RawPeer> peer = nullptr;
};

/// Time by hand: nothing in these tests waits.
struct ServerTimeTest : ServerFramesTest {
  ServerTimeTest() {
    server.reset();
    loop = *loop::EventLoop::Create(fake_clock);
    Serve({});
    peer = Connect();
  }
  void Pass(base::Duration time) {
    fake_clock.Advance(time);
    Settle();
  }
  void Settle() {
    for (int i = 0; i < 5; ++i) {
      // A timer keeps the loop from waiting for time that does not pass by itself.
      auto now = loop->timers().After(base::Duration::zero(), [] {});
      loop->RunUntil([turned = false]() mutable { return std::exchange(turned, true); },
                     std::chrono::seconds(1));
    }
    peer->Read();
  }
  base::FakeClock fake_clock;
};

}  // namespace tenon::rpc
