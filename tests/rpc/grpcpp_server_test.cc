// We call a grpc++ server.

#include <gmock/gmock.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
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
    Call(Peer& peer, const std::string& method)
        : peer_(peer), method_(method.substr(method.rfind('/') + 1)) {
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
      if (method_ == "Fail")
        return Finish({grpc::StatusCode::NOT_FOUND, "Ger\xc3\xa4t is 100% gone\n"});
      Finish({grpc::StatusCode::UNIMPLEMENTED, ""});
    }
    void OnWriteDone(bool ok) override {
      if (!ok || --left_ == 0) return Finish(grpc::Status::OK);
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
    Peer& peer_;
    const std::string method_;
    grpc::ByteBuffer request_;
    grpc::ByteBuffer response_;
    int left_ = 0;
    std::atomic<bool> hangs_ = false;
  };

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    return new Call(*this, context->method());
  }
};

struct GrpcppServerTest : ::testing::Test {
  GrpcppServerTest() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + (dir / "s"), grpc::InsecureServerCredentials());
    builder.RegisterCallbackGenericService(&peer);
    builder.SetMaxReceiveMessageSize(8 << 20);
    server = builder.BuildAndStart();
    channel = Channel::Connect(*loop, dir / "s", {});
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
  Peer peer;
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

  EXPECT_TRUE(Run([&] { return peer.cancelled == 1; }));
}

TEST_F(GrpcppServerTest, OurCancellationArrivesThere) {
  auto call =
      channel->Unary("/t.S/Hang", "", seconds(20), [](const Status&, const std::string&) {});
  ASSERT_TRUE(Run([&] { return peer.hanging == 1; }));

  call.reset();

  EXPECT_TRUE(Run([&] { return peer.cancelled == 1; }));
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
  ASSERT_TRUE(Run([&] { return peer.hanging == 1; }));

  server->Shutdown(std::chrono::system_clock::now());
  server.reset();

  EXPECT_TRUE(Run([&] { return !end.empty() && !lost.empty(); }));
  EXPECT_THAT(lost, HasSubstr("code = Unavailable"));
}

}  // namespace
}  // namespace tenon::rpc
