#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "rpc/channel.h"
#include "rpc/server.h"
#include "rpc/test_dir.h"

namespace tenon::rpc {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::StartsWith;

const char kEcho[] = "/test.Service/Echo";
const char kWatch[] = "/test.Service/Watch";

struct CallTest : ::testing::Test {
  CallTest() {
    server->AddUnary(kEcho, [](std::string_view request, std::unique_ptr<UnaryCall> call) {
      call->Reply(std::string(request));
    });
  }
  bool Run(const std::function<bool()>& done) { return loop->RunUntil(done, seconds(60)); }
  void Turns(int count) {
    for (int i = 0; i < count; ++i)
      loop->RunUntil([turned = false]() mutable { return std::exchange(turned, true); },
                     seconds(1));
  }
  /// The rendered end of a unary call, followed by its response.
  std::string Call(std::string_view method, std::string request,
                   base::Duration deadline = seconds(60)) {
    std::string result;
    auto call = channel->Unary(method, std::move(request), deadline,
                               [&](const Status& status, const std::string& response) {
                                 result = ToString(status) + response;
                               });
    EXPECT_TRUE(Run([&] { return !result.empty(); }));
    return result;
  }
  TestDir dir;
  base::SystemClock clock;
  base::NullLog log;
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  std::unique_ptr<Server> server = *Server::Listen(*loop, log, dir / "s", {});
  std::unique_ptr<Channel> channel = Channel::Connect(*loop, dir / "s", {});
};

TEST_F(CallTest, AUnaryCallIsAnswered) {
  EXPECT_EQ("rpc error: code = OK desc = hello", Call(kEcho, "hello"));
  EXPECT_EQ("rpc error: code = OK desc = ", Call(kEcho, ""));
}

TEST_F(CallTest, AnErrorArrivesWithCodeAndMessageIntact) {
  server->AddUnary("/test.Service/Fail", [](std::string_view, std::unique_ptr<UnaryCall> call) {
    call->Fail({StatusCode::kNotFound, "Ger\xc3\xa4t \"x\" is 100% gone\n"});
  });

  EXPECT_EQ("rpc error: code = NotFound desc = Ger\xc3\xa4t \"x\" is 100% gone\n",
            Call("/test.Service/Fail", "x"));
}

TEST_F(CallTest, UnknownMethodsAreUnimplementedByName) {
  EXPECT_EQ("rpc error: code = Unimplemented desc = unknown method Nope for service test.Service",
            Call("/test.Service/Nope", ""));
  EXPECT_EQ("rpc error: code = Unimplemented desc = unknown service other.Service",
            Call("/other.Service/Echo", ""));
  EXPECT_EQ("rpc error: code = Unimplemented desc = malformed method name: \"/Echo\"",
            Call("/Echo", ""));
}

TEST_F(CallTest, ManyMebibytesFlowBothWays) {
  server = *Server::Listen(*loop, log, dir / "big", {.max_request_bytes = 20 << 20});
  server->AddUnary(kEcho, [](std::string_view request, std::unique_ptr<UnaryCall> call) {
    call->Reply(std::string(request));
  });
  channel = Channel::Connect(*loop, dir / "big", {});
  std::string big(size_t{16} << 20, 'x');
  big[12345678] = 'y';

  EXPECT_TRUE("rpc error: code = OK desc = " + big == Call(kEcho, big));
}

TEST_F(CallTest, ALargerRequestThanTheServerTakesIsRefused) {
  std::string big((size_t{4} << 20) + 1, 'x');

  EXPECT_EQ(
      "rpc error: code = ResourceExhausted desc = grpc: received message larger than max "
      "(4194305 vs. 4194304)",
      Call(kEcho, big));
  EXPECT_EQ("rpc error: code = OK desc = still here", Call(kEcho, "still here"));
}

TEST_F(CallTest, ALargerResponseThanTheClientTakesIsRefused) {
  channel = Channel::Connect(*loop, dir / "s", {.max_response_bytes = 10});

  EXPECT_EQ(
      "rpc error: code = ResourceExhausted desc = grpc: received message larger than max "
      "(11 vs. 10)",
      Call(kEcho, "01234567890"));
  EXPECT_EQ("rpc error: code = OK desc = 0123456789", Call(kEcho, "0123456789"));
}

TEST_F(CallTest, ManyCallsInFlightAreEachAnswered) {
  std::vector<std::unique_ptr<ClientCall>> calls;
  int right = 0;
  for (int i = 0; i < 500; ++i)
    calls.push_back(channel->Unary(kEcho, std::to_string(i), seconds(10),
                                   [&right, i](const Status& status, const std::string& response) {
                                     right += status.ok() && response == std::to_string(i);
                                   }));

  EXPECT_TRUE(Run([&] { return right == 500; }));
}

TEST_F(CallTest, AMethodMayAnswerLater) {
  std::unique_ptr<UnaryCall> held;
  server->AddUnary("/test.Service/Later", [&](std::string_view, std::unique_ptr<UnaryCall> call) {
    held = std::move(call);
  });
  std::string got;
  auto call = channel->Unary("/test.Service/Later", "", seconds(10),
                             [&](const Status&, std::string response) { got = response; });
  ASSERT_TRUE(Run([&] { return held != nullptr; }));

  held->Reply("finally");

  EXPECT_TRUE(Run([&] { return got == "finally"; }));
}

TEST_F(CallTest, ACallDroppedByItsMethodIsUnavailable) {
  server->AddUnary("/test.Service/Drop", [](std::string_view, std::unique_ptr<UnaryCall>) {});

  EXPECT_EQ("rpc error: code = Unavailable desc = the method ended without an answer",
            Call("/test.Service/Drop", ""));
}

TEST_F(CallTest, WithoutADeadlineThereIsNoTimeLeftToTell) {
  std::optional<base::Duration> left = seconds(1);
  server->AddStream("/test.Service/S", [](std::string_view, std::unique_ptr<ServerStream>) {});
  server->AddUnary("/test.Service/U", [&](std::string_view, std::unique_ptr<UnaryCall> call) {
    left = call->time_left();
  });
  std::string end;
  auto call = channel->Stream(
      "/test.Service/U", "", [](std::string_view) {},
      [&](const Status& status) { end = ToString(status); });

  ASSERT_TRUE(Run([&] { return !end.empty(); }));
  EXPECT_EQ(std::nullopt, left);
}

TEST_F(CallTest, AnExpiredDeadlineIsToldInALaterTurn) {
  std::string result;
  auto call = channel->Unary(kEcho, "", seconds(0), [&](const Status& status, const std::string&) {
    result = ToString(status);
  });
  EXPECT_EQ("", result);

  EXPECT_TRUE(Run([&] {
    return result == "rpc error: code = DeadlineExceeded desc = context deadline exceeded";
  }));
}

TEST_F(CallTest, DestroyingACallCancelsItAtTheServer) {
  std::unique_ptr<UnaryCall> held;
  bool cancelled = false;
  server->AddUnary("/test.Service/Hang", [&](std::string_view, std::unique_ptr<UnaryCall> call) {
    held = std::move(call);
    held->OnCancelled([&] { cancelled = true; });
  });
  bool called = false;
  auto call = channel->Unary("/test.Service/Hang", "", seconds(10),
                             [&](const Status&, const std::string&) { called = true; });
  ASSERT_TRUE(Run([&] { return held != nullptr; }));

  call.reset();

  EXPECT_TRUE(Run([&] { return cancelled; }));
  EXPECT_FALSE(called);
}

TEST_F(CallTest, ACallDestroyedBeforeItIsSentNeverArrives) {
  int arrived = 0;
  server->AddUnary("/test.Service/Count", [&](std::string_view, std::unique_ptr<UnaryCall> call) {
    ++arrived;
    call->Reply("");
  });
  auto late = Channel::Connect(*loop, dir / "later", {.retry_connect = true});
  auto call =
      late->Unary("/test.Service/Count", "", seconds(10), [](const Status&, const std::string&) {});
  call.reset();
  auto server2 = *Server::Listen(*loop, log, dir / "later", {});
  bool connected = false;
  late->OnConnected([&](const Status& status) { connected = status.ok(); });

  EXPECT_TRUE(Run([&] { return connected; }));
  EXPECT_EQ(0, arrived);
}

/// Time by hand.
struct CallTimeTest : ::testing::Test {
  void Pass(base::Duration time) {
    clock.Advance(time);
    for (int i = 0; i < 8; ++i) {
      // A timer keeps the loop from waiting for time that does not pass by itself.
      auto now = loop->timers().After(base::Duration::zero(), [] {});
      loop->RunUntil([turned = false]() mutable { return std::exchange(turned, true); },
                     seconds(1));
    }
  }
  TestDir dir;
  base::FakeClock clock;
  base::NullLog log;
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  std::unique_ptr<Server> server = *Server::Listen(*loop, log, dir / "s", {});
  std::unique_ptr<Channel> channel = Channel::Connect(*loop, dir / "s", {});
};

TEST_F(CallTimeTest, TheDeadlineEndsACallAndTheMethodHears) {
  std::unique_ptr<UnaryCall> held;
  bool cancelled = false;
  server->AddUnary("/test.Service/Hang", [&](std::string_view, std::unique_ptr<UnaryCall> call) {
    held = std::move(call);
    held->OnCancelled([&] { cancelled = true; });
  });
  std::string end;
  auto call = channel->Unary("/test.Service/Hang", "", seconds(30),
                             [&](const Status& s, const std::string&) { end = ToString(s); });
  Pass(seconds(0));
  ASSERT_NE(nullptr, held);
  EXPECT_EQ(seconds(30), held->time_left());
  Pass(seconds(10));
  EXPECT_EQ(seconds(20), held->time_left());
  Pass(seconds(19));
  EXPECT_EQ("", end);

  Pass(seconds(1));

  EXPECT_EQ("rpc error: code = DeadlineExceeded desc = context deadline exceeded", end);
  EXPECT_TRUE(cancelled);
  EXPECT_EQ(std::nullopt, held->time_left());
  held->Reply("too late");
}

struct StreamTest : CallTest {
  StreamTest() {
    server->AddStream(kWatch, [this](std::string_view, std::unique_ptr<ServerStream> stream) {
      stream->OnClosed([this] { closed = true; });
      served = std::move(stream);
    });
  }
  void Open() {
    call = channel->Stream(
        kWatch, "", [this](std::string_view message) { messages.emplace_back(message); },
        [this](const Status& status) { end = ToString(status); });
    ASSERT_TRUE(Run([&] { return served != nullptr; }));
  }
  void Write(std::string message) {
    bool written = false;
    served->Write(std::make_shared<const std::string>(std::move(message)),
                  [&written] { written = true; });
    EXPECT_TRUE(Run([&] { return written; }));
  }
  std::unique_ptr<ServerStream> served;
  bool closed = false;
  std::unique_ptr<ClientCall> call;
  std::vector<std::string> messages;
  std::string end;
};

TEST_F(StreamTest, MessagesArriveInOrderAndThenTheEnd) {
  Open();

  Write("one");
  Write("");
  Write("three");
  served->Finish({});

  EXPECT_TRUE(Run([&] { return !end.empty(); }));
  EXPECT_THAT(messages, ElementsAre("one", "", "three"));
  EXPECT_EQ("rpc error: code = OK desc = ", end);
  EXPECT_TRUE(served->closed());
}

TEST_F(StreamTest, AnEndDuringAWriteComesAfterTheMessage) {
  Open();

  served->Write(std::make_shared<const std::string>(1 << 20, 'x'), [] {});
  served->Finish({StatusCode::kAborted, "enough"});

  EXPECT_TRUE(Run([&] { return !end.empty(); }));
  ASSERT_EQ(1U, messages.size());
  EXPECT_EQ(size_t{1} << 20, messages[0].size());
  EXPECT_EQ("rpc error: code = Aborted desc = enough", end);
}

TEST_F(StreamTest, AnEndWithoutAnyMessageIsOneFrame) {
  Open();

  served->Finish({StatusCode::kFailedPrecondition, "not here"});

  EXPECT_TRUE(Run([&] { return !end.empty(); }));
  EXPECT_EQ("rpc error: code = FailedPrecondition desc = not here", end);
}

TEST_F(StreamTest, AStreamDroppedByItsMethodIsUnavailable) {
  Open();
  Write("one");

  served.reset();

  EXPECT_TRUE(Run([&] { return !end.empty(); }));
  EXPECT_EQ("rpc error: code = Unavailable desc = the method ended without an answer", end);
}

TEST_F(StreamTest, TheServerHearsThatTheClientCancelled) {
  Open();
  Write("one");

  call.reset();

  EXPECT_TRUE(Run([&] { return closed; }));
  EXPECT_TRUE(served->closed());
  served->Write(std::make_shared<const std::string>("x"), [] { FAIL(); });
  served->Finish({});
}

TEST_F(StreamTest, TheServerHearsThatTheConnectionIsGone) {
  Open();

  channel.reset();

  EXPECT_TRUE(Run([&] { return closed; }));
}

TEST_F(StreamTest, OnClosedSetTooLateIsStillCalled) {
  Open();
  channel.reset();
  ASSERT_TRUE(Run([&] { return served->closed(); }));
  bool told = false;

  served->OnClosed([&] { told = true; });

  EXPECT_TRUE(Run([&] { return told; }));
}

TEST_F(StreamTest, TheClientHearsThatTheServerIsGone) {
  Open();
  std::string lost;
  channel->OnClosed([&](const Status& status) { lost = ToString(status); });

  server.reset();

  EXPECT_TRUE(Run([&] { return !end.empty() && !lost.empty(); }));
  // "EOF", or "read: connection reset by peer" if the server had not read everything.
  EXPECT_THAT(end, StartsWith("rpc error: code = Unavailable desc = error reading from server: "));
  EXPECT_EQ(end, lost);
  EXPECT_EQ(lost, Call(kEcho, "after"));
}

TEST_F(StreamTest, OneBodyIsSharedByAllStreamsThatSendIt) {
  std::vector<std::unique_ptr<ServerStream>> streams;
  server->AddStream("/test.Service/Many", [&](std::string_view, std::unique_ptr<ServerStream> s) {
    streams.push_back(std::move(s));
  });
  size_t bytes = 0;
  std::vector<std::unique_ptr<ClientCall>> calls;
  for (int i = 0; i < 10; ++i)
    calls.push_back(channel->Stream(
        "/test.Service/Many", "", [&](std::string_view message) { bytes += message.size(); },
        [](const Status&) {}));
  ASSERT_TRUE(Run([&] { return streams.size() == 10; }));
  auto body = std::make_shared<const std::string>(size_t{1} << 20, 'x');

  for (auto& stream : streams)
    stream->Write(body, [] {});

  EXPECT_TRUE(Run([&] { return bytes == 10 * body->size(); }));
  EXPECT_TRUE(Run([&] { return body.use_count() == 1; }));
}

TEST_F(CallTest, ConnectingToNothingFailsAtOnce) {
  auto lost = Channel::Connect(*loop, dir / "none", {});
  std::string told;
  lost->OnConnected([&](const Status& status) { told = ToString(status); });

  EXPECT_TRUE(Run([&] { return !told.empty(); }));
  EXPECT_EQ(
      "rpc error: code = Unavailable desc = connection error: desc = \"transport: Error "
      "while dialing: dial unix " +
          (dir / "none") + ": connect: no such file or directory\"",
      told);
  channel = std::move(lost);
  EXPECT_EQ(told, Call(kEcho, ""));
}

TEST_F(CallTest, RetryingFindsAServerThatComesLater) {
  auto patient = Channel::Connect(*loop, dir / "late", {.retry_connect = true});
  std::string told;
  patient->OnConnected([&](const Status& status) { told = ToString(status); });
  Turns(2);
  auto late = *Server::Listen(*loop, log, dir / "late", {});

  EXPECT_TRUE(Run([&] { return told == "rpc error: code = OK desc = "; }));
}

TEST_F(CallTest, RetryingEndsWithTheConnectTimeout) {
  auto patient = Channel::Connect(*loop, dir / "none",
                                  {.connect_timeout = milliseconds(80), .retry_connect = true});
  channel = std::move(patient);

  EXPECT_EQ(
      "rpc error: code = Unavailable desc = connection error: desc = \"transport: Error "
      "while dialing: dial unix " +
          (dir / "none") + ": connect: no such file or directory\"",
      Call(kEcho, ""));
}

struct DrainTest : StreamTest {
  std::unique_ptr<UnaryCall> held;
  DrainTest() {
    server->AddUnary("/test.Service/Hold", [this](std::string_view, std::unique_ptr<UnaryCall> c) {
      held = std::move(c);
    });
  }
};

TEST_F(DrainTest, WaitsForUnaryCallsAndEndsStreams) {
  Open();
  std::string answer;
  auto unary =
      channel->Unary("/test.Service/Hold", "", seconds(10),
                     [&](const Status& s, const std::string& r) { answer = ToString(s) + r; });
  ASSERT_TRUE(Run([&] { return held != nullptr; }));
  bool drained = false;

  server->Drain(seconds(10), [&] { drained = true; });

  EXPECT_TRUE(Run([&] { return !end.empty() && closed; }));
  EXPECT_EQ("rpc error: code = Unavailable desc = the server is shutting down", end);
  EXPECT_FALSE(server->socket_is_ours());
  EXPECT_EQ("rpc error: code = Unavailable desc = the connection is draining", Call(kEcho, ""));
  EXPECT_FALSE(drained);
  held->Reply("done");
  EXPECT_TRUE(Run([&] { return drained && !answer.empty(); }));
  EXPECT_EQ("rpc error: code = OK desc = done", answer);
}

TEST_F(DrainTest, EndsWithItsLimit) {
  auto unary = channel->Unary("/test.Service/Hold", "", seconds(10),
                              [](const Status&, const std::string&) {});
  ASSERT_TRUE(Run([&] { return held != nullptr; }));
  bool drained = false;

  server->Drain(milliseconds(20), [&] {
    drained = true;
    server.reset();
  });

  EXPECT_TRUE(Run([&] { return drained; }));
  held->Reply("too late");
}

TEST_F(DrainTest, IsDoneAtOnceWhenNothingIsOpen) {
  bool drained = false;

  server->Drain(seconds(10), [&] { drained = true; });

  EXPECT_FALSE(drained);
  EXPECT_TRUE(Run([&] { return drained; }));
}

}  // namespace
}  // namespace tenon::rpc
