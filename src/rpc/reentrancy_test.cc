// Every callback may destroy what it came from, and nothing runs or leaks afterwards.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rpc/channel.h"
#include "rpc/server.h"
#include "rpc/test_dir.h"

namespace tenon::rpc {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct ReentrancyTest : ::testing::Test {
  bool Run(const std::function<bool()>& done) { return loop->RunUntil(done, seconds(20)); }
  /// Lets whatever is left over happen, where a sanitizer would see it.
  void Settle() {
    for (int i = 0; i < 10; ++i)
      loop->RunUntil([turned = false]() mutable { return std::exchange(turned, true); },
                     milliseconds(1));
  }
  void Dead() {
    destroyed = true;
    Settle();
  }
  void Unary(const Channel::UnaryDone& done) {
    call = channel->Unary("/s.S/M", "request", seconds(10), done);
  }
  void Stream(const Channel::MessageFn& on_message, const Channel::EndFn& on_end) {
    call = channel->Stream("/s.S/M", "request", on_message, on_end);
  }
  TestDir dir;
  base::SystemClock clock;
  base::NullLog log;
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  std::unique_ptr<Server> server = *Server::Listen(*loop, log, dir / "s", {});
  std::unique_ptr<Channel> channel = Channel::Connect(*loop, dir / "s", {});
  std::unique_ptr<ClientCall> call;
  std::unique_ptr<UnaryCall> unary;
  std::unique_ptr<ServerStream> stream;
  std::string ended;
  bool destroyed = false;
};

void Ignore(const Status&, const std::string&) {}
void IgnoreMessage(std::string_view) {}
void IgnoreEnd(const Status&) {}
const auto kBody = std::make_shared<const std::string>("body");

TEST_F(ReentrancyTest, AUnaryMethodMayDestroyTheServer) {
  server->AddUnary("/s.S/M", [this](std::string_view request, std::unique_ptr<UnaryCall> c) {
    server.reset();
    destroyed = request == "request";
    c->Reply("x");
  });
  Unary([this](const Status& status, const std::string&) { ended = ToString(status); });

  EXPECT_TRUE(Run([&] { return destroyed && !ended.empty(); }));
  Settle();
}

TEST_F(ReentrancyTest, AMethodMayDestroyTheServerWhileOthersWait) {
  int ran = 0;
  server->AddUnary("/s.S/M", [&](std::string_view, std::unique_ptr<UnaryCall>) {
    ++ran;
    server.reset();
  });
  std::vector<std::unique_ptr<ClientCall>> calls;
  for (int i = 0; i < 10; ++i)
    calls.push_back(channel->Unary("/s.S/M", "", seconds(10), Ignore));

  EXPECT_TRUE(Run([&] { return ran > 0; }));
  Settle();
  EXPECT_EQ(1, ran);
}

TEST_F(ReentrancyTest, AStreamMethodMayDestroyTheServer) {
  server->AddStream("/s.S/M", [this](std::string_view, std::unique_ptr<ServerStream> s) {
    server.reset();
    destroyed = s->closed();
  });
  Stream(IgnoreMessage, IgnoreEnd);

  EXPECT_TRUE(Run([&] { return destroyed; }));
  Settle();
}

TEST_F(ReentrancyTest, AMethodMayDrainTheServer) {
  server->AddUnary("/s.S/M", [this](std::string_view, std::unique_ptr<UnaryCall> c) {
    server->Drain(seconds(10), [this] {
      server.reset();
      destroyed = true;
    });
    c->Reply("last");
  });
  Unary([this](const Status&, const std::string& response) { ended = response; });

  EXPECT_TRUE(Run([&] { return destroyed && ended == "last"; }));
  Settle();
}

TEST_F(ReentrancyTest, AMethodMayDestroyTheClient) {
  server->AddUnary("/s.S/M", [this](std::string_view, std::unique_ptr<UnaryCall> c) {
    call.reset();
    channel.reset();
    c->Reply("x");
    destroyed = true;
  });
  Unary([](const Status&, const std::string&) { FAIL(); });

  EXPECT_TRUE(Run([&] { return destroyed; }));
  Settle();
}

TEST_F(ReentrancyTest, OnCancelledMayDestroyTheCallAndTheServer) {
  server->AddUnary("/s.S/M", [this](std::string_view, std::unique_ptr<UnaryCall> c) {
    unary = std::move(c);
    unary->OnCancelled([this] {
      unary.reset();
      server.reset();
      destroyed = true;
    });
    call.reset();
  });
  Unary(Ignore);

  EXPECT_TRUE(Run([&] { return destroyed; }));
  Settle();
}

TEST_F(ReentrancyTest, OnWrittenMayDestroyTheStreamAndTheServer) {
  server->AddStream("/s.S/M", [this](std::string_view, std::unique_ptr<ServerStream> s) {
    stream = std::move(s);
    stream->Write(kBody, [this] {
      stream.reset();
      server.reset();
      destroyed = true;
    });
  });
  Stream(IgnoreMessage, IgnoreEnd);

  EXPECT_TRUE(Run([&] { return destroyed; }));
  Settle();
}

TEST_F(ReentrancyTest, OnWrittenMayWriteAgainForEver) {
  int written = 0;
  std::function<void()> again = [&] {
    ++written;
    stream->Write(kBody, again);
  };
  server->AddStream("/s.S/M", [&](std::string_view, std::unique_ptr<ServerStream> s) {
    stream = std::move(s);
    again();
  });
  Stream(IgnoreMessage, IgnoreEnd);

  EXPECT_TRUE(Run([&] { return written == 1000; }));
  stream.reset();
}

TEST_F(ReentrancyTest, AWrittenMessageIsNotToldOnceTheStreamIsDestroyed) {
  bool told = false;
  server->AddStream("/s.S/M", [&](std::string_view, std::unique_ptr<ServerStream> s) {
    s->Write(kBody, [&] { told = true; });
    destroyed = true;
  });
  Stream(IgnoreMessage, IgnoreEnd);

  EXPECT_TRUE(Run([&] { return destroyed; }));
  Settle();
  EXPECT_FALSE(told);
}

TEST_F(ReentrancyTest, OnClosedMayDestroyTheStreamAndTheServer) {
  server->AddStream("/s.S/M", [this](std::string_view, std::unique_ptr<ServerStream> s) {
    stream = std::move(s);
    stream->OnClosed([this] {
      stream.reset();
      server.reset();
      destroyed = true;
    });
    channel.reset();
  });
  Stream(IgnoreMessage, IgnoreEnd);

  EXPECT_TRUE(Run([&] { return destroyed; }));
  Settle();
}

TEST_F(ReentrancyTest, OnClosedIsNotToldAfterFinish) {
  bool told = false;
  server->AddStream("/s.S/M", [&](std::string_view, std::unique_ptr<ServerStream> s) {
    stream = std::move(s);
    stream->OnClosed([&] { told = true; });
    stream->Finish({});
    destroyed = true;
  });
  Stream(IgnoreMessage, IgnoreEnd);

  EXPECT_TRUE(Run([&] { return destroyed; }));
  channel.reset();
  Settle();
  EXPECT_FALSE(told);
}

TEST_F(ReentrancyTest, DoneMayDestroyTheCallAndTheChannel) {
  server->AddUnary("/s.S/M", [](std::string_view, std::unique_ptr<UnaryCall> c) { c->Reply("x"); });
  Unary([this](const Status&, const std::string& response) {
    call.reset();
    channel.reset();
    destroyed = response == "x";
  });

  EXPECT_TRUE(Run([&] { return destroyed; }));
  Settle();
}

TEST_F(ReentrancyTest, OnMessageMayDestroyTheCall) {
  server->AddStream("/s.S/M", [this](std::string_view, std::unique_ptr<ServerStream> s) {
    stream = std::move(s);
    stream->Write(kBody, [] {});
  });
  Stream(
      [this](std::string_view message) {
        call.reset();
        destroyed = message == "body";
      },
      [](const Status&) { FAIL(); });

  EXPECT_TRUE(Run([&] { return destroyed; }));
  Settle();
}

TEST_F(ReentrancyTest, OnMessageMayDestroyTheChannelButNotTheCall) {
  server->AddStream("/s.S/M", [this](std::string_view, std::unique_ptr<ServerStream> s) {
    stream = std::move(s);
    stream->Write(kBody, [this] { stream->Write(kBody, [] {}); });
  });
  Stream(
      [this](std::string_view) {
        EXPECT_FALSE(destroyed);
        channel.reset();
        destroyed = true;
      },
      [](const Status&) { FAIL(); });

  EXPECT_TRUE(Run([&] { return destroyed; }));
  Settle();
}

TEST_F(ReentrancyTest, OnEndMayDestroyTheCallAndTheChannel) {
  server->AddStream("/s.S/M",
                    [](std::string_view, std::unique_ptr<ServerStream> s) { s->Finish({}); });
  Stream(IgnoreMessage, [this](const Status&) {
    call.reset();
    channel.reset();
    destroyed = true;
  });

  EXPECT_TRUE(Run([&] { return destroyed; }));
  Settle();
}

TEST_F(ReentrancyTest, OnConnectedAndOnClosedMayDestroyTheChannel) {
  channel->OnConnected([this](const Status&) {
    channel.reset();
    destroyed = true;
  });
  EXPECT_TRUE(Run([&] { return destroyed; }));
  destroyed = false;
  channel = Channel::Connect(*loop, dir / "s", {});
  channel->OnClosed([this](const Status&) {
    channel.reset();
    destroyed = true;
  });
  bool connected = false;
  channel->OnConnected([&](const Status&) { connected = true; });
  EXPECT_TRUE(Run([&] { return connected; }));

  server.reset();

  EXPECT_TRUE(Run([&] { return destroyed; }));
  Settle();
}

TEST_F(ReentrancyTest, AFailedConnectionsCallbackMayDestroyTheChannel) {
  channel = Channel::Connect(*loop, dir / "none", {});
  channel->OnConnected([this](const Status&) {
    call.reset();
    channel.reset();
    destroyed = true;
  });
  Unary(Ignore);

  EXPECT_TRUE(Run([&] { return destroyed; }));
  Settle();
}

TEST_F(ReentrancyTest, TheChannelsDestructionSilencesItsCalls) {
  server->AddUnary("/s.S/M", [](std::string_view, std::unique_ptr<UnaryCall> c) { c->Reply("x"); });
  Unary([](const Status&, const std::string&) { FAIL(); });
  auto expired =
      channel->Unary("/s.S/M", "", seconds(0), [](const Status&, const std::string&) { FAIL(); });

  channel.reset();

  Settle();
  call.reset();
}

TEST_F(ReentrancyTest, HandlesMayOutliveTheServer) {
  server->AddUnary(
      "/s.S/M", [this](std::string_view, std::unique_ptr<UnaryCall> c) { unary = std::move(c); });
  server->AddStream("/s.S/W", [this](std::string_view, std::unique_ptr<ServerStream> s) {
    stream = std::move(s);
  });
  Unary(Ignore);
  auto watch = channel->Stream("/s.S/W", "", IgnoreMessage, IgnoreEnd);
  ASSERT_TRUE(Run([&] { return unary && stream; }));

  server.reset();

  unary->Reply("x");
  EXPECT_EQ(std::nullopt, unary->time_left());
  stream->Write(kBody, [] { FAIL(); });
  EXPECT_TRUE(stream->closed());
  unary.reset();
  stream.reset();
  Settle();
}

}  // namespace
}  // namespace tenon::rpc
