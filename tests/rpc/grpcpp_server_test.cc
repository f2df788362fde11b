// We call a grpc++ server.

#include <gmock/gmock.h>
#include <grpc/grpc.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "grpcpp_bytes.h"
#include "rpc/channel.h"
#include "rpc/test_dir.h"

namespace tenon::rpc {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Serves every method by the last part of its name, on grpc++'s threads.
class Peer final : public grpc::CallbackGenericService {
 public:
  std::atomic<int> cancelled = 0;
  std::atomic<int> hanging = 0;

 private:
  class Call final : public grpc::ServerGenericBidiReactor {
   public:
    Call(Peer& peer, grpc::GenericCallbackServerContext& context)
        : peer_(peer),
          context_(context),
          method_(context.method().substr(context.method().rfind('/') + 1)) {
      StartRead(&request_);
    }
    void OnReadDone(bool ok) override {
      if (!ok) return Finish(grpc::Status::CANCELLED);
      if (method_ == "Echo") return Send(ToBytes(request_), 1);
      if (method_ == "Big") return Send(std::string(6 << 20, 'x'), 1);
      if (method_ == "Three") return Send("message", 3);
      if (method_ == "Hang") {
        hangs_ = true;
        ++peer_.hanging;
        return;
      }
      if (method_ == "Deadline") return Send(std::to_string(SecondsLeft()), 1);
      if (method_ == "Metadata") {
        context_.AddInitialMetadata("x-bin", std::string("\0\1\xff", 3));
        context_.AddInitialMetadata("x", "y");
        context_.AddTrailingMetadata("z-bin", std::string("\0", 1));
        return Send("with metadata", 1);
      }
      if (method_ == "Gzip") {
        context_.set_compression_algorithm(GRPC_COMPRESS_GZIP);
        return Send(std::string(10000, 'x'), 1);
      }
      if (method_ == "ThenFail") {
        fails_ = true;
        return Send("message", 2);
      }
      if (method_ == "Fail")
        return Finish({grpc::StatusCode::NOT_FOUND, "Ger\xc3\xa4t is 100% gone\n"});
      Finish({grpc::StatusCode::UNIMPLEMENTED, ""});
    }
    void OnWriteDone(bool ok) override {
      if (ok && --left_ == 0 && fails_) return Finish({grpc::StatusCode::ABORTED, "enough"});
      if (!ok || left_ == 0) return Finish(grpc::Status::OK);
      StartWrite(&response_);
    }
    void OnCancel() override {
      ++peer_.cancelled;
      if (hangs_) Finish(grpc::Status::CANCELLED);
    }
    void OnDone() override { delete this; }

   private:
    void Send(const std::string& bytes, int times) {
      response_ = ToBuffer(bytes);
      left_ = times;
      StartWrite(&response_);
    }
    int64_t SecondsLeft() const {
      auto left = context_.deadline() - std::chrono::system_clock::now();
      return std::chrono::duration_cast<seconds>(left).count();
    }
    Peer& peer_;
    grpc::GenericCallbackServerContext& context_;
    const std::string method_;
    grpc::ByteBuffer request_;
    grpc::ByteBuffer response_;
    int left_ = 0;
    bool fails_ = false;
    std::atomic<bool> hangs_ = false;
  };

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    return new Call(*this, *context);
  }
};

struct GrpcppServerTest : ::testing::Test {
  // Never undone: when a call was refused early, grpc++'s shutdown waits ten seconds for nothing.
  static void SetUpTestSuite() { grpc_init(); }
  GrpcppServerTest() {
    Serve({});
    channel = Channel::Connect(*loop, dir / "s", {});
  }
  /// A server with these channel arguments takes the place of the one before.
  void Serve(const std::vector<std::pair<std::string, int>>& arguments) {
    if (server) server->Shutdown(std::chrono::system_clock::now());
    server.reset();
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + (dir / "s"), grpc::InsecureServerCredentials());
    peer = std::make_unique<Peer>();
    builder.RegisterCallbackGenericService(peer.get());
    builder.SetMaxReceiveMessageSize(8 << 20);
    for (const auto& [name, value] : arguments)
      builder.AddChannelArgument(name, value);
    server = builder.BuildAndStart();
  }
  ~GrpcppServerTest() override {
    channel.reset();
    if (server) server->Shutdown(std::chrono::system_clock::now());
  }
  bool Run(const std::function<bool()>& done) {
    for (int i = 0; i < 4000; ++i) {
      if (done()) return true;
      loop->RunUntil([turned = false]() mutable { return std::exchange(turned, true); },
                     milliseconds(5));
    }
    return false;
  }
  std::string Call(std::string_view method, std::string request,
                   base::Duration deadline = seconds(20)) {
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
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  std::unique_ptr<Peer> peer;  // Serves one server only, and outlives it.
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<Channel> channel;
};

TEST_F(GrpcppServerTest, AUnaryCallIsAnswered) {
  EXPECT_EQ("rpc error: code = OK desc = hello", Call("/t.S/Echo", "hello"));
  EXPECT_EQ("rpc error: code = OK desc = ", Call("/t.S/Echo", ""));
}

TEST_F(GrpcppServerTest, ErrorsArriveIntact) {
  EXPECT_EQ("rpc error: code = NotFound desc = Ger\xc3\xa4t is 100% gone\n", Call("/t.S/Fail", ""));
  EXPECT_EQ("rpc error: code = Unimplemented desc = ", Call("/t.S/Nope", ""));
}

TEST_F(GrpcppServerTest, LargeMessagesFlowBothWays) {
  std::string big(6 << 20, 'x');

  EXPECT_TRUE("rpc error: code = OK desc = " + big == Call("/t.S/Big", ""));
  EXPECT_TRUE("rpc error: code = OK desc = " + big == Call("/t.S/Echo", big));
}

TEST_F(GrpcppServerTest, LargerResponsesThanAllowedAreRefused) {
  channel = Channel::Connect(*loop, dir / "s", {.max_response_bytes = 4 << 20});

  EXPECT_EQ(
      "rpc error: code = ResourceExhausted desc = grpc: received message larger than max "
      "(6291456 vs. 4194304)",
      Call("/t.S/Big", ""));
  EXPECT_EQ("rpc error: code = OK desc = x", Call("/t.S/Echo", "x"));
}

TEST_F(GrpcppServerTest, LargerRequestsThanTheServerTakesAreRefused) {
  EXPECT_THAT(Call("/t.S/Echo", std::string(9 << 20, 'x')), HasSubstr("code = ResourceExhausted"));
}

TEST_F(GrpcppServerTest, OurDeadlineCancelsTheCallThere) {
  EXPECT_EQ("rpc error: code = DeadlineExceeded desc = context deadline exceeded",
            Call("/t.S/Hang", "", milliseconds(50)));

  EXPECT_TRUE(Run([&] { return peer->cancelled == 1; }));
}

TEST_F(GrpcppServerTest, OurCancellationArrivesThere) {
  auto call =
      channel->Unary("/t.S/Hang", "", seconds(20), [](const Status&, const std::string&) {});
  ASSERT_TRUE(Run([&] { return peer->hanging == 1; }));

  call.reset();

  EXPECT_TRUE(Run([&] { return peer->cancelled == 1; }));
}

TEST_F(GrpcppServerTest, AStreamArrivesInOrderAndEnds) {
  std::vector<std::string> messages;
  std::string end;
  auto call = channel->Stream(
      "/t.S/Three", "", [&](std::string_view message) { messages.emplace_back(message); },
      [&](const Status& status) { end = ToString(status); });

  EXPECT_TRUE(Run([&] { return !end.empty(); }));
  EXPECT_THAT(messages, ElementsAre("message", "message", "message"));
  EXPECT_EQ("rpc error: code = OK desc = ", end);
}

TEST_F(GrpcppServerTest, ManyCallsInFlightAreEachAnswered) {
  std::vector<std::unique_ptr<ClientCall>> calls;
  int right = 0;
  for (int i = 0; i < 300; ++i)
    calls.push_back(channel->Unary("/t.S/Echo", std::to_string(i), seconds(20),
                                   [&right, i](const Status& status, const std::string& response) {
                                     right += status.ok() && response == std::to_string(i);
                                   }));

  EXPECT_TRUE(Run([&] { return right == 300; }));
}

TEST_F(GrpcppServerTest, ItsShutdownEndsCallsAndTheChannel) {
  std::string end;
  std::string lost;
  channel->OnClosed([&](const Status& status) { lost = ToString(status); });
  auto call = channel->Stream(
      "/t.S/Hang", "", [](std::string_view) {},
      [&](const Status& status) { end = ToString(status); });
  ASSERT_TRUE(Run([&] { return peer->hanging == 1; }));

  server->Shutdown(std::chrono::system_clock::now());
  server.reset();

  EXPECT_TRUE(Run([&] { return !end.empty() && !lost.empty(); }));
  EXPECT_THAT(lost, HasSubstr("code = Unavailable"));
}

TEST_F(GrpcppServerTest, OurDeadlineIsKnownThere) {
  std::string answer = Call("/t.S/Deadline", "", seconds(1000));

  EXPECT_THAT(answer, ::testing::MatchesRegex("rpc error: code = OK desc = 9[0-9][0-9]"));
}

TEST_F(GrpcppServerTest, MetadataOfEveryKindIsTaken) {
  EXPECT_EQ("rpc error: code = OK desc = with metadata", Call("/t.S/Metadata", ""));
}

TEST_F(GrpcppServerTest, CompressedAnswersAreRefusedByName) {
  // It compresses though the client did not say that it understands that.
  EXPECT_EQ(
      "rpc error: code = Unimplemented desc = grpc: Decompressor is not installed for "
      "grpc-encoding \"gzip\"",
      Call("/t.S/Gzip", ""));
  EXPECT_EQ("rpc error: code = OK desc = x", Call("/t.S/Echo", "x"));
}

TEST_F(GrpcppServerTest, UnknownServicesAreUnimplemented) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + (dir / "none"), grpc::InsecureServerCredentials());
  auto queue = builder.AddCompletionQueue();
  auto none = builder.BuildAndStart();
  std::thread polling([&] {
    void* tag = nullptr;
    for (bool ok = false; queue->Next(&tag, &ok);) {
    }
  });
  channel = Channel::Connect(*loop, dir / "none", {});

  EXPECT_EQ("rpc error: code = Unimplemented desc = ", Call("/t.S/Echo", "x"));

  none->Shutdown(std::chrono::system_clock::now());
  queue->Shutdown();
  polling.join();
}

TEST_F(GrpcppServerTest, AnErrorAfterMessagesComesAfterThem) {
  std::vector<std::string> messages;
  std::string end;
  auto call = channel->Stream(
      "/t.S/ThenFail", "", [&](std::string_view message) { messages.emplace_back(message); },
      [&](const Status& status) { end = ToString(status); });

  EXPECT_TRUE(Run([&] { return !end.empty(); }));
  EXPECT_THAT(messages, ElementsAre("message", "message"));
  EXPECT_EQ("rpc error: code = Aborted desc = enough", end);
}

TEST_F(GrpcppServerTest, CallsBeyondItsLimitOfStreamsWaitForTheirTurn) {
  channel.reset();
  Serve({{GRPC_ARG_MAX_CONCURRENT_STREAMS, 2}});
  channel = Channel::Connect(*loop, dir / "s", {});
  std::vector<std::unique_ptr<ClientCall>> calls;
  int right = 0;
  for (int i = 0; i < 50; ++i)
    calls.push_back(channel->Unary("/t.S/Echo", std::to_string(i), seconds(20),
                                   [&right, i](const Status& status, const std::string& response) {
                                     right += status.ok() && response == std::to_string(i);
                                   }));

  EXPECT_TRUE(Run([&] { return right == 50; }));
}

TEST_F(GrpcppServerTest, ItsKeepAliveIsAnswered) {
  channel.reset();
  Serve({{GRPC_ARG_KEEPALIVE_TIME_MS, 20},
         {GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10000},
         {GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0}});
  channel = Channel::Connect(*loop, dir / "s", {});
  std::string end;
  auto call = channel->Stream(
      "/t.S/Hang", "", [](std::string_view) {},
      [&](const Status& status) { end = ToString(status); });
  ASSERT_TRUE(Run([&] { return peer->hanging == 1; }));

  // Some twenty pings; without an answer to the first there would be no second.
  loop->RunUntil([] { return false; }, milliseconds(400));

  EXPECT_EQ("", end);
  EXPECT_EQ("rpc error: code = OK desc = x", Call("/t.S/Echo", "x"));
}

TEST_F(GrpcppServerTest, ItsGracefulShutdownEndsTheChannelAndRefusesTheNextCall) {
  std::string lost;
  channel->OnClosed([&](const Status& status) { lost = ToString(status); });
  auto call =
      channel->Unary("/t.S/Hang", "", seconds(20), [](const Status&, const std::string&) {});
  ASSERT_TRUE(Run([&] { return peer->hanging == 1; }));
  // It waits for the call, which ends when we give it up.
  std::thread shutdown([&] { server->Shutdown(std::chrono::system_clock::now() + seconds(20)); });

  // Until it has heard of the shutdown a call may succeed, or be cancelled there.
  EXPECT_TRUE(
      Run([&] { return Call("/t.S/Echo", "x").find("code = Unavailable") != std::string::npos; }));
  EXPECT_EQ("", lost);
  call.reset();

  EXPECT_TRUE(Run([&] { return !lost.empty(); }));
  shutdown.join();
}

TEST_F(GrpcppServerTest, ACallMayBeCancelledAtAnyMoment) {
  for (int moment = 0; moment < 60; ++moment) {
    auto call =
        channel->Unary(moment % 2 == 0 ? "/t.S/Echo" : "/t.S/Hang", std::string(100000, 'x'),
                       seconds(20), [](const Status&, const std::string&) {});
    for (int turn = 0; turn < moment / 2; ++turn)
      loop->RunUntil([turned = false]() mutable { return std::exchange(turned, true); },
                     milliseconds(1));
  }

  EXPECT_EQ("rpc error: code = OK desc = x", Call("/t.S/Echo", "x"));
}

TEST_F(GrpcppServerTest, IsFoundWhenItComesLater) {
  channel.reset();
  server->Shutdown(std::chrono::system_clock::now());
  server.reset();
  channel = Channel::Connect(*loop, dir / "s", {.retry_connect = true});
  std::string result;
  auto call = channel->Unary("/t.S/Echo", "x", seconds(20),
                             [&](const Status& status, const std::string& response) {
                               result = ToString(status) + response;
                             });
  loop->RunUntil([] { return false; }, milliseconds(20));

  Serve({});

  EXPECT_TRUE(Run([&] { return !result.empty(); }));
  EXPECT_EQ("rpc error: code = OK desc = x", result);
}

}  // namespace
}  // namespace tenon::rpc
