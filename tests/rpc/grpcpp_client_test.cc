// grpc++ calls our server.

#include <gmock/gmock.h>
#include <grpc/grpc.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "grpcpp_bytes.h"
#include "rpc/server.h"
#include "rpc/test_dir.h"

namespace tenon::rpc {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;

struct GrpcppClientTest : ::testing::Test {
  // Never undone: when a call was refused early, grpc++'s shutdown waits ten seconds for nothing.
  static void SetUpTestSuite() { grpc_init(); }
  GrpcppClientTest() {
    server->AddUnary("/t.S/Echo", [](std::string_view request, std::unique_ptr<UnaryCall> call) {
      call->Reply(std::string(request));
    });
    server->AddUnary("/t.S/Hang", [this](std::string_view, std::unique_ptr<UnaryCall> call) {
      time_left = call->time_left();
      call->OnCancelled([this] { cancelled = true; });
      held.push_back(std::move(call));
    });
    server->AddStream("/t.S/Watch", [this](std::string_view, std::unique_ptr<ServerStream> s) {
      s->OnClosed([this] { cancelled = true; });
      stream = std::move(s);
    });
  }
  std::shared_ptr<grpc::Channel> Connect(const std::string& authority = "",
                                         grpc::ChannelArguments arguments = {}) {
    arguments.SetMaxReceiveMessageSize(32 << 20);
    if (!authority.empty()) arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, authority);
    // A channel of its own for each test, not one that grpc++ shares between them.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel("unix:" + (dir / "s"), grpc::InsecureChannelCredentials(),
                                     arguments);
  }
  bool Run(const std::function<bool()>& done) {
    // The other end is on other threads: look again at least every few milliseconds.
    for (int i = 0; i < 4000; ++i) {
      if (done()) return true;
      loop->RunUntil([turned = false]() mutable { return std::exchange(turned, true); },
                     milliseconds(5));
    }
    return false;
  }
  /// A call in progress on grpc++'s threads. Must be run to its end before it is destroyed.
  struct Unary {
    grpc::ClientContext context;
    grpc::ByteBuffer request;
    grpc::ByteBuffer response;
    grpc::Status status;
    std::atomic<bool> done = false;
  };
  void Start(Unary& call, const std::string& method, const std::string& request) {
    call.request = ToBuffer(request);
    stub.UnaryCall(&call.context, method, {}, &call.request, &call.response,
                   [&call](const grpc::Status& status) {
                     call.status = status;
                     call.done = true;
                   });
  }
  std::string Call(const std::string& method, const std::string& request) {
    Unary call;
    Start(call, method, request);
    EXPECT_TRUE(Run([&] { return call.done.load(); }));
    return Ended(call);
  }
  static std::string Ended(const Unary& call) {
    if (call.status.ok()) return "OK " + ToBytes(call.response);
    return std::to_string(call.status.error_code()) + " " + call.status.error_message();
  }
  TestDir dir;
  base::SystemClock clock;
  base::NullLog log;
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  std::unique_ptr<Server> server = *Server::Listen(*loop, log, dir / "s", {});
  std::vector<std::unique_ptr<UnaryCall>> held;
  std::optional<base::Duration> time_left;
  std::unique_ptr<ServerStream> stream;
  bool cancelled = false;
  grpc::GenericStub stub{Connect()};
};

TEST_F(GrpcppClientTest, AUnaryCallIsAnswered) {
  EXPECT_EQ("OK hello", Call("/t.S/Echo", "hello"));
  EXPECT_EQ("OK ", Call("/t.S/Echo", ""));
}

TEST_F(GrpcppClientTest, AnyAuthorityIsTaken) {
  for (const char* authority :
       {"/var/lib/kubelet/device-plugins/x.sock", "%2Fvar%2Flib%2Fx.sock"}) {
    stub = grpc::GenericStub(Connect(authority));
    EXPECT_EQ("OK x", Call("/t.S/Echo", "x")) << authority;
  }
}

TEST_F(GrpcppClientTest, ErrorsArriveIntact) {
  server->AddUnary("/t.S/Fail", [](std::string_view, std::unique_ptr<UnaryCall> call) {
    call->Fail({StatusCode::kNotFound, "Ger\xc3\xa4t is 100% gone\n"});
  });

  EXPECT_EQ("5 Ger\xc3\xa4t is 100% gone\n", Call("/t.S/Fail", ""));
}

TEST_F(GrpcppClientTest, EveryCodeArrives) {
  server->AddUnary("/t.S/Code", [](std::string_view request, std::unique_ptr<UnaryCall> call) {
    call->Fail({static_cast<StatusCode>(std::stoi(std::string(request))), "m"});
  });
  for (int code = 1; code <= 16; ++code)
    EXPECT_EQ(std::to_string(code) + " m", Call("/t.S/Code", std::to_string(code)));
}

TEST_F(GrpcppClientTest, UnknownMethodsAreUnimplementedByName) {
  EXPECT_EQ("12 unknown method Nope for service t.S", Call("/t.S/Nope", "x"));
}

TEST_F(GrpcppClientTest, UnknownServicesAreUnimplementedByName) {
  EXPECT_EQ("12 unknown service t.Other", Call("/t.Other/Echo", "x"));
}

TEST_F(GrpcppClientTest, MetadataOfEveryKindIsTaken) {
  Unary call;
  call.context.AddMetadata("x", "y");
  call.context.AddMetadata("x", "y again");
  call.context.AddMetadata("x-bin", std::string("\0\1\xff", 3));
  call.context.AddMetadata("long", std::string(8000, 'v'));
  Start(call, "/t.S/Echo", "hello");

  EXPECT_TRUE(Run([&] { return call.done.load(); }));
  EXPECT_EQ("OK hello", Ended(call));
}

TEST_F(GrpcppClientTest, MoreMetadataThanAllowedEndsTheCallOnly) {
  Unary call;
  call.context.AddMetadata("long", std::string(17000, 'v'));
  Start(call, "/t.S/Echo", "hello");

  EXPECT_TRUE(Run([&] { return call.done.load(); }));
  EXPECT_EQ(grpc::StatusCode::RESOURCE_EXHAUSTED, call.status.error_code()) << Ended(call);
  EXPECT_EQ("OK x", Call("/t.S/Echo", "x"));
}

TEST_F(GrpcppClientTest, LargeMessagesFlow) {
  std::string big(4 << 20, 'x');
  big.resize(big.size() - 1);
  server->AddUnary("/t.S/Big", [&](std::string_view request, std::unique_ptr<UnaryCall> call) {
    call->Reply(std::string(request) + std::string(request));
  });

  EXPECT_TRUE("OK " + big + big == Call("/t.S/Big", big));
}

TEST_F(GrpcppClientTest, LargerRequestsThanAllowedAreRefused) {
  EXPECT_EQ("8 grpc: received message larger than max (4194305 vs. 4194304)",
            Call("/t.S/Echo", std::string((4 << 20) + 1, 'x')));
}

TEST_F(GrpcppClientTest, CompressedRequestsAreRefusedByName) {
  Unary call;
  call.context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  Start(call, "/t.S/Echo", std::string(10000, 'x'));

  EXPECT_TRUE(Run([&] { return call.done.load(); }));
  EXPECT_EQ("12 grpc: Decompressor is not installed for grpc-encoding \"gzip\"", Ended(call));
}

TEST_F(GrpcppClientTest, TheClientsDeadlineReachesTheMethod) {
  // On a busy machine a short deadline may pass before the method hears of the call.
  for (auto deadline = milliseconds(100); held.empty() && deadline < seconds(20); deadline *= 2) {
    Unary call;
    call.context.set_deadline(std::chrono::system_clock::now() + deadline);
    Start(call, "/t.S/Hang", "");

    ASSERT_TRUE(Run([&] { return call.done.load(); }));
    EXPECT_EQ(grpc::StatusCode::DEADLINE_EXCEEDED, call.status.error_code());
  }

  EXPECT_TRUE(Run([&] { return cancelled; }));
  EXPECT_GT(time_left, base::Duration::zero());
  EXPECT_LE(time_left, seconds(20));
}

TEST_F(GrpcppClientTest, TheClientsCancellationReachesTheMethod) {
  Unary call;
  Start(call, "/t.S/Hang", "");
  ASSERT_TRUE(Run([&] { return !held.empty(); }));

  call.context.TryCancel();

  EXPECT_TRUE(Run([&] { return call.done.load() && cancelled; }));
  EXPECT_EQ(grpc::StatusCode::CANCELLED, call.status.error_code());
}

TEST_F(GrpcppClientTest, ManyCallsInFlightAreEachAnswered) {
  std::vector<std::unique_ptr<Unary>> calls;
  for (int i = 0; i < 300; ++i) {
    calls.push_back(std::make_unique<Unary>());
    Start(*calls.back(), "/t.S/Echo", std::to_string(i));
  }
  for (int i = 0; i < 300; ++i) {
    Unary& call = *calls[static_cast<size_t>(i)];
    EXPECT_TRUE(Run([&] { return call.done.load(); }));
    EXPECT_EQ("OK " + std::to_string(i), Ended(call));
  }
}

TEST_F(GrpcppClientTest, CallsBeyondTheLimitOfStreamsWaitForTheirTurn) {
  server = *Server::Listen(*loop, log, dir / "few", {.max_streams = 2});
  server->AddUnary("/t.S/Hang", [&](std::string_view, std::unique_ptr<UnaryCall> call) {
    held.push_back(std::move(call));
  });
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  stub = grpc::GenericStub(grpc::CreateCustomChannel(
      "unix:" + (dir / "few"), grpc::InsecureChannelCredentials(), arguments));
  std::vector<std::unique_ptr<Unary>> calls;
  for (int i = 0; i < 20; ++i) {
    calls.push_back(std::make_unique<Unary>());
    Start(*calls.back(), "/t.S/Hang", "");
  }

  size_t most = 0;
  for (size_t answered = 0; answered < calls.size(); ++answered) {
    ASSERT_TRUE(Run([&] { return !held.empty(); }));
    most = std::max(most, held.size());
    held.front()->Reply("");
    held.erase(held.begin());
  }

  for (auto& call : calls) {
    EXPECT_TRUE(Run([&] { return call->done.load(); }));
    EXPECT_EQ("OK ", Ended(*call));
  }
  EXPECT_LE(most, 2U);
}

TEST_F(GrpcppClientTest, ItsKeepAliveIsAnswered) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  stub = grpc::GenericStub(Connect("", arguments));
  Unary call;
  Start(call, "/t.S/Hang", "");
  ASSERT_TRUE(Run([&] { return !held.empty(); }));

  // Some twenty pings; without an answer to the first there would be no second.
  loop->RunUntil([] { return false; }, milliseconds(400));
  held[0]->Reply("still here");

  EXPECT_TRUE(Run([&] { return call.done.load(); }));
  EXPECT_EQ("OK still here", Ended(call));
}

TEST_F(GrpcppClientTest, ADrainLetsTheCallInFlightEndAndRefusesTheNext) {
  Unary call;
  Start(call, "/t.S/Hang", "");
  ASSERT_TRUE(Run([&] { return !held.empty(); }));
  bool drained = false;
  server->Drain(seconds(20), [&] { drained = true; });

  Unary next;
  next.context.set_deadline(std::chrono::system_clock::now() + seconds(20));
  Start(next, "/t.S/Echo", "x");
  EXPECT_TRUE(Run([&] { return next.done.load(); }));
  EXPECT_EQ(grpc::StatusCode::UNAVAILABLE, next.status.error_code());
  EXPECT_FALSE(drained);
  held[0]->Reply("last words");

  EXPECT_TRUE(Run([&] { return call.done.load() && drained; }));
  EXPECT_EQ("OK last words", Ended(call));
}

TEST_F(GrpcppClientTest, FindsAServerThatHasBeenRestarted) {
  EXPECT_EQ("OK one", Call("/t.S/Echo", "one"));
  server.reset();
  server = *Server::Listen(*loop, log, dir / "s", {});
  server->AddUnary("/t.S/Echo", [](std::string_view request, std::unique_ptr<UnaryCall> call) {
    call->Reply("again " + std::string(request));
  });

  // The first may still go to the old connection, whose end it has not seen.
  std::string answer;
  for (int i = 0; i < 5 && !answer.starts_with("OK"); ++i) {
    Unary call;
    call.context.set_wait_for_ready(true);
    Start(call, "/t.S/Echo", "two");
    ASSERT_TRUE(Run([&] { return call.done.load(); }));
    answer = Ended(call);
  }

  EXPECT_EQ("OK again two", answer);
}

TEST_F(GrpcppClientTest, ACallMayBeCancelledAtAnyMoment) {
  for (int moment = 0; moment < 60; ++moment) {
    Unary call;
    Start(call, moment % 2 == 0 ? "/t.S/Echo" : "/t.S/Hang", std::string(100000, 'x'));
    for (int turn = 0; turn < moment / 2; ++turn)
      loop->RunUntil([turned = false]() mutable { return std::exchange(turned, true); },
                     milliseconds(1));
    call.context.TryCancel();
    ASSERT_TRUE(Run([&] { return call.done.load(); }));
    held.clear();
  }

  EXPECT_EQ("OK x", Call("/t.S/Echo", "x"));
}

/// Reads a stream on grpc++'s threads.
class Reader final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  void OnReadDone(bool ok) override {
    std::lock_guard lock(mutex_);
    if (!ok) return;
    messages_.push_back(ToBytes(message_));
    if (!paused_) StartRead(&message_);
  }
  void OnDone(const grpc::Status& status) override {
    std::lock_guard lock(mutex_);
    end_ = std::to_string(status.error_code()) + " " + status.error_message();
  }
  void Start(grpc::GenericStub& stub, const std::string& method) {
    stub.PrepareBidiStreamingCall(&context_, method, {}, this);
    StartWriteLast(&request_, {});
    StartRead(&message_);
    StartCall();
  }
  std::vector<std::string> messages() {
    std::lock_guard lock(mutex_);
    return messages_;
  }
  std::string end() {
    std::lock_guard lock(mutex_);
    return end_;
  }
  void Cancel() { context_.TryCancel(); }
  /// Reads one message more and then none until Resume().
  void Pause() { paused_ = true; }
  void Resume() {
    paused_ = false;
    StartRead(&message_);
  }

 private:
  grpc::ClientContext context_;
  grpc::ByteBuffer request_ = ToBuffer("request");
  grpc::ByteBuffer message_;
  std::mutex mutex_;
  std::vector<std::string> messages_;
  std::string end_;
  std::atomic<bool> paused_ = false;
};

struct GrpcppStreamTest : GrpcppClientTest {
  void Open() {
    reader.Start(stub, "/t.S/Watch");
    ASSERT_TRUE(Run([&] { return stream != nullptr; }));
  }
  void Write(std::string message) {
    bool written = false;
    stream->Write(std::make_shared<const std::string>(std::move(message)), [&] { written = true; });
    EXPECT_TRUE(Run([&] { return written; }));
  }
  ~GrpcppStreamTest() override {
    reader.Cancel();
    Run([&] { return !reader.end().empty(); });
  }
  Reader reader;
};

TEST_F(GrpcppStreamTest, MessagesArriveInOrderAndThenTheEnd) {
  Open();
  Write("one");
  Write("");
  Write(std::string(3 << 20, 'x'));

  EXPECT_TRUE(Run([&] { return reader.messages().size() == 3; }));
  stream->Finish({StatusCode::kAborted, "enough"});

  EXPECT_TRUE(Run([&] { return !reader.end().empty(); }));
  EXPECT_THAT(reader.messages(), ElementsAre("one", "", std::string(3 << 20, 'x')));
  EXPECT_EQ("10 enough", reader.end());
}

TEST_F(GrpcppStreamTest, CancellationReachesTheServer) {
  Open();
  Write("one");

  reader.Cancel();

  EXPECT_TRUE(Run([&] { return cancelled; }));
}

TEST_F(GrpcppStreamTest, ADrainEndsTheStream) {
  Open();
  Write("one");
  bool drained = false;

  server->Drain(seconds(10), [&] { drained = true; });

  EXPECT_TRUE(Run([&] { return drained && !reader.end().empty(); }));
  EXPECT_EQ("14 the server is shutting down", reader.end());
}

TEST_F(GrpcppStreamTest, AStreamMayEndWithoutAnyMessage) {
  Open();

  stream->Finish({});

  EXPECT_TRUE(Run([&] { return !reader.end().empty(); }));
  EXPECT_THAT(reader.messages(), ElementsAre());
  EXPECT_EQ("0 ", reader.end());
}

TEST_F(GrpcppStreamTest, AReaderWhoStopsHoldsBackTheWriteAndGoesOnWhereHeStopped) {
  Open();
  reader.Pause();
  Write("one");
  ASSERT_TRUE(Run([&] { return reader.messages().size() == 1; }));
  bool written = false;

  // More than all windows and buffers between here and there.
  const std::string large(12 << 20, 'x');
  stream->Write(std::make_shared<const std::string>(large), [&] { written = true; });
  loop->RunUntil([&] { return written; }, milliseconds(100));
  EXPECT_FALSE(written);
  reader.Resume();

  EXPECT_TRUE(Run([&] { return written && reader.messages().size() == 2; }));
  EXPECT_TRUE(reader.messages()[1] == large);
}

}  // namespace
}  // namespace tenon::rpc
