// What the server makes of clients that speak HTTP/2 by hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "rpc/server_frames_for_test.h"

namespace tenon::rpc {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

TEST_F(ServerFramesTest, AnswersAUnaryCallInThreeFrames) {
  peer = Connect();
  peer->Send(RawPeer::Preface() + RawPeer::Call(1, kEcho, "hello"));

  EXPECT_EQ("0 ", EndOf(1));
  EXPECT_EQ(Message("hello"), peer->BytesOf(1));
  EXPECT_EQ("200", peer->HeadersOf(1)[":status"]);
  EXPECT_EQ("application/grpc", peer->HeadersOf(1)["content-type"]);
  int of_stream = 0;
  for (const Frame& frame : peer->frames())
    of_stream += frame.stream == 1;
  EXPECT_EQ(3, of_stream);
}

TEST_F(ServerFramesTest, TakesRequestsOneByteAtATime) {
  peer = Connect();
  for (char c : RawPeer::Preface() + RawPeer::Call(1, kEcho, "dribble")) {
    peer->Send(std::string_view(&c, 1));
    Turn();
  }

  EXPECT_EQ("0 ", EndOf(1));
  EXPECT_EQ(Message("dribble"), peer->BytesOf(1));
}

TEST_F(ServerFramesTest, TakesAMessageSpreadOverManyFrames) {
  peer = Connect();
  std::string bytes = RawPeer::Preface() + RawPeer::Headers(1, RawPeer::Request(kEcho)).bytes();
  for (char c : Message("spread"))
    bytes += RawPeer::DataFrame(1, std::string(1, c), false).bytes();
  peer->Send(bytes + RawPeer::DataFrame(1, "", true).bytes());

  EXPECT_EQ("0 ", EndOf(1));
  EXPECT_EQ(Message("spread"), peer->BytesOf(1));
}

TEST_F(ServerFramesTest, TakesAnyAuthority) {
  peer = Connect();
  peer->Send(RawPeer::Preface());
  uint32_t id = 1;
  for (const char* authority :
       {"/var/lib/kubelet/device-plugins/x.sock", "%2Fvar%2Flib%2Fkubelet%2Fx.sock", "", "a b"}) {
    HeaderList headers = RawPeer::Request(kEcho);
    headers[3].second = authority;
    peer->Send(RawPeer::Headers(id, headers));
    peer->Send(RawPeer::DataFrame(id, Message("x"), true));
    EXPECT_EQ("0 ", EndOf(id)) << authority;
    id += 2;
  }
}

struct Refused {
  const char* name;
  HeaderList headers;
  std::string body;
  const char* http_status;
  const char* end;
};

class RefusedRequestTest : public ServerFramesTest,
                           public ::testing::WithParamInterface<Refused> {};

TEST_P(RefusedRequestTest, IsAnsweredAndTheConnectionLives) {
  peer = Connect();
  peer->Send(RawPeer::Preface() + RawPeer::Headers(1, GetParam().headers).bytes() +
             RawPeer::DataFrame(1, GetParam().body, true).bytes() +
             RawPeer::Call(3, kEcho, "next"));

  EXPECT_EQ(GetParam().end, EndOf(1));
  EXPECT_EQ(GetParam().http_status, peer->HeadersOf(1)[":status"]);
  EXPECT_EQ("0 ", EndOf(3));
  EXPECT_EQ(1, echoed);
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusedRequestTest,
    ::testing::Values(
        Refused{"Get", With(RawPeer::Request(kEcho), ":method", "GET"), Message("x"), "405",
                "13 Received a HEADERS frame with :method \"GET\" which should be POST"},
        Refused{"Html", With(RawPeer::Request(kEcho), "content-type", "text/html"), Message("x"),
                "415", "3 invalid gRPC request content-type \"text/html\""},
        Refused{"BadTimeout", With(RawPeer::Request(kEcho), "grpc-timeout", "1 hour"), Message("x"),
                "400", "13 malformed grpc-timeout: \"1 hour\""},
        Refused{"PastDeadline", With(RawPeer::Request(kHold), "grpc-timeout", "0n"), Message("x"),
                "200", "4 context deadline exceeded"},
        Refused{"RelativePath", With(RawPeer::Request(""), ":path", "test"), Message("x"), "200",
                "12 malformed method name: \"test\""},
        Refused{"UnknownMethod", RawPeer::Request("/test.Service/No%\n"), Message("x"), "200",
                "12 unknown method No%25\\n for service test.Service"},
        Refused{"Gzip", With(RawPeer::Request(kEcho), "grpc-encoding", "gzip"), Message("x", 1),
                "200", "12 grpc: Decompressor is not installed for grpc-encoding \"gzip\""},
        Refused{"FlagWithoutEncoding", RawPeer::Request(kEcho), Message("x", 1), "200",
                "13 grpc: compressed flag set with identity or empty encoding"},
        Refused{"NoMessage", RawPeer::Request(kEcho), "", "200",
                "13 received no request message for this method"},
        Refused{"HalfAMessage", RawPeer::Request(kEcho), Message("xyz").substr(0, 7), "200",
                "13 unexpected EOF"},
        Refused{"TwoMessages", RawPeer::Request(kEcho), Message("x") + Message("y"), "200",
                "13 received more than the one message of this method's request"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST_F(ServerFramesTest, SaysWhichCompressionItTakes) {
  peer = Connect();
  HeaderList gzip = With(RawPeer::Request(kEcho), "grpc-encoding", "gzip");
  peer->Send(RawPeer::Preface() + RawPeer::Headers(1, gzip).bytes() +
             RawPeer::DataFrame(1, Message("x", 1), true).bytes());

  EndOf(1);
  EXPECT_EQ("identity", peer->HeadersOf(1)["grpc-accept-encoding"]);
}

TEST_F(ServerFramesTest, TakesAnUncompressedMessageWhateverTheEncoding) {
  peer = Connect();
  HeaderList gzip = With(RawPeer::Request(kEcho), "grpc-encoding", "gzip");
  peer->Send(RawPeer::Preface() + RawPeer::Headers(1, gzip).bytes() +
             RawPeer::DataFrame(1, Message("x"), true).bytes());

  EXPECT_EQ("0 ", EndOf(1));
}

TEST_F(ServerFramesTest, AnAnswerBeforeTheEndOfTheRequestAsksForNoMore) {
  peer = Connect();
  peer->Send(RawPeer::Preface() + RawPeer::Headers(1, RawPeer::Request("/no/Method")).bytes());

  EXPECT_EQ("12 unknown service no", EndOf(1));
  ASSERT_TRUE(Await([&] { return peer->Find(RawPeer::kReset, 1) != nullptr; }));
  EXPECT_EQ(Frame::Number(0), peer->Find(RawPeer::kReset, 1)->payload);
}

TEST_F(ServerFramesTest, IgnoresTheTrailersOfARequest) {
  peer = Connect();
  peer->Send(RawPeer::Preface() + RawPeer::Headers(1, RawPeer::Request(kEcho)).bytes() +
             RawPeer::DataFrame(1, Message("x"), false).bytes() +
             RawPeer::Headers(1, {{"x", "y"}}, true).bytes());

  EXPECT_EQ("0 ", EndOf(1));
}

TEST_F(ServerFramesTest, AnswersPings) {
  peer = Connect();
  peer->Send(RawPeer::Preface());
  peer->Send({.type = RawPeer::kPing, .payload = "12345678"});

  ASSERT_TRUE(Await([&] { return peer->Find(RawPeer::kPing) != nullptr; }));
  EXPECT_EQ("12345678", peer->Find(RawPeer::kPing)->payload);
  EXPECT_EQ(RawPeer::kAck, peer->Find(RawPeer::kPing)->flags);
}

TEST_F(ServerFramesTest, APeerThatDiesWithinAMessageLeavesNothing) {
  for (size_t cut : {30U, 60U, 100U, 150U}) {
    peer = Connect();
    peer->Send(
        (RawPeer::Preface() + RawPeer::Call(1, kEcho, std::string(100, 'x'))).substr(0, cut));
    Turn();
    peer->Close();
    Turn();
  }

  EXPECT_TRUE(OthersAreServed());
  EXPECT_EQ(1, echoed);
}

TEST_F(ServerFramesTest, ACallIsCancelledByReset) {
  peer = Connect();
  peer->Send(RawPeer::Preface() + RawPeer::Call(1, kHold, ""));
  ASSERT_TRUE(Await([&] { return !held.empty(); }));

  peer->Send({RawPeer::kReset, 0, 1, Frame::Number(8)});

  EXPECT_TRUE(Await([&] { return cancelled == 1; }));
}

TEST_F(ServerFramesTest, CallsAreCancelledByTheLossOfTheConnection) {
  peer = Connect();
  peer->Send(RawPeer::Preface() + RawPeer::Call(1, kHold, "") + RawPeer::Call(3, kHold, ""));
  ASSERT_TRUE(Await([&] { return held.size() == 2; }));

  peer->Close();

  for (int i = 0; i < 100 && cancelled < 2; ++i)
    Turn();
  EXPECT_EQ(2, cancelled);
}

TEST_F(ServerFramesTest, ARequestResetBeforeItsTurnIsNeverRun) {
  peer = Connect();
  peer->Send(RawPeer::Preface() + RawPeer::Call(1, kEcho, "x") +
             Frame{RawPeer::kReset, 0, 1, Frame::Number(8)}.bytes() + RawPeer::Call(3, kEcho, "y"));

  EXPECT_EQ("0 ", EndOf(3));
  EXPECT_EQ(1, echoed);
}

TEST_F(ServerFramesTest, TooManyHeadersEndTheCallOnly) {
  HeaderList headers = RawPeer::Request(kEcho);
  headers.emplace_back("x", std::string(16300, 'v'));
  std::string block = HeaderBlock(headers);
  peer = Connect();
  peer->Send(RawPeer::Preface() + Frame{RawPeer::kHeaders, 0, 1, block.substr(0, 16000)}.bytes() +
             Frame{RawPeer::kContinuation, RawPeer::kEndHeaders, 1, block.substr(16000)}.bytes() +
             RawPeer::DataFrame(1, Message("x"), true).bytes() + RawPeer::Call(3, kEcho, "y"));

  EXPECT_EQ("0 ", EndOf(3));
  ASSERT_NE(nullptr, peer->Find(RawPeer::kReset, 1));
  EXPECT_EQ(Frame::Number(11), peer->Find(RawPeer::kReset, 1)->payload);
  EXPECT_EQ(1, echoed);
}

TEST_F(ServerFramesTest, AWriteWaitsForAReaderWhoDoesNotRead) {
  peer = Connect();
  // All the window there is, so that only the socket holds the server back.
  peer->Send(
      RawPeer::Preface() +
      Frame{RawPeer::kSettings, 0, 0, std::string("\0\4", 2) + Frame::Number(0x7fffffff)}.bytes() +
      Frame{RawPeer::kWindowUpdate, 0, 0, Frame::Number(0x7fff0000 - 65535)}.bytes() +
      RawPeer::Call(1, kWatch, ""));
  ASSERT_TRUE(Await([&] { return stream != nullptr; }));
  bool written = false;
  auto body = std::make_shared<const std::string>(8 << 20, 'x');

  stream->Write(body, [&] { written = true; });
  for (int i = 0; i < 20; ++i)
    Turn();
  EXPECT_FALSE(written);

  EXPECT_TRUE(Await([&] { return written; }));
  EXPECT_TRUE(Await([&] { return peer->BytesOf(1).size() == body->size() + 5; }));
}

TEST_F(ServerFramesTest, AWriteWaitsForTheFlowControlWindow) {
  peer = Connect();
  peer->Send(RawPeer::Preface() + RawPeer::Call(1, kWatch, ""));
  ASSERT_TRUE(Await([&] { return stream != nullptr; }));
  bool written = false;

  stream->Write(std::make_shared<const std::string>(65535, 'x'), [&] { written = true; });
  EXPECT_TRUE(Await([&] { return peer->BytesOf(1).size() == 65535; }));
  EXPECT_FALSE(written);
  peer->Send({RawPeer::kWindowUpdate, 0, 0, Frame::Number(5)});
  peer->Send({RawPeer::kWindowUpdate, 0, 1, Frame::Number(5)});

  EXPECT_TRUE(Await([&] { return written; }));
}

TEST_F(ServerFramesTest, WhenFullTheConnectionThatIsIdleLongestMakesWay) {
  Serve({.max_connections = 2});
  auto busy = Connect();
  busy->Send(RawPeer::Preface() + RawPeer::Call(1, kHold, "x"));
  ASSERT_TRUE(Await(*busy, [&] { return !held.empty(); }));
  peer = Connect();
  peer->Send(RawPeer::Preface() + RawPeer::Call(1, kEcho, "x"));
  EXPECT_EQ("0 ", EndOf(1));

  EXPECT_TRUE(OthersAreServed());

  EXPECT_TRUE(IsCutOff());
  busy->Read();
  EXPECT_FALSE(busy->closed());
}

TEST_F(ServerFramesTest, WhenFullOfCallsTheNewestConnectionIsClosed) {
  Serve({.max_connections = 1});
  auto busy = Connect();
  busy->Send(RawPeer::Preface() + RawPeer::Call(1, kHold, "x"));
  ASSERT_TRUE(Await(*busy, [&] { return !held.empty(); }));

  peer = Connect();

  EXPECT_TRUE(IsCutOff());
  EXPECT_THAT(log.lines(), ::testing::Contains(HasSubstr("too many connections")));
}

TEST_F(ServerTimeTest, AClientThatSaysNothingIsCutOff) {
  Settle();
  Pass(seconds(19));
  EXPECT_FALSE(peer->closed());
  Pass(seconds(2));
  EXPECT_TRUE(peer->closed());
}

TEST_F(ServerTimeTest, ARequestThatNeverEndsIsGivenUp) {
  peer->Send(RawPeer::Preface() + RawPeer::Headers(1, RawPeer::Request(kEcho)).bytes());
  Settle();
  peer->Send(RawPeer::DataFrame(1, Message("slow").substr(0, 6), false));
  Pass(seconds(59));
  EXPECT_EQ("", peer->HeadersOf(1)["grpc-status"]);

  Pass(seconds(2));

  EXPECT_EQ("4", peer->HeadersOf(1)["grpc-status"]);
  EXPECT_EQ("the request did not arrive in time", peer->HeadersOf(1)["grpc-message"]);
}

TEST_F(ServerTimeTest, AnIdleConnectionIsClosedWithGoAway) {
  peer->Send(RawPeer::Preface() + RawPeer::Call(1, kEcho, "x"));
  Settle();
  Pass(std::chrono::minutes(29));
  peer->Send(RawPeer::Call(3, kEcho, "x"));
  Settle();
  ASSERT_EQ("0", peer->HeadersOf(3)["grpc-status"]);
  Pass(std::chrono::minutes(29));
  EXPECT_FALSE(peer->closed());

  Pass(std::chrono::minutes(1));

  EXPECT_TRUE(peer->closed());
  ASSERT_NE(nullptr, peer->Find(RawPeer::kGoAway));
  EXPECT_EQ(Frame::Number(3) + Frame::Number(0), peer->Find(RawPeer::kGoAway)->payload);
}

TEST_F(ServerTimeTest, AConnectionWithACallIsNotIdle) {
  peer->Send(RawPeer::Preface() + RawPeer::Call(1, kHold, "x"));
  Settle();
  ASSERT_EQ(1U, held.size());
  Pass(std::chrono::hours(5));
  EXPECT_FALSE(peer->closed());

  held[0]->Reply("x");
  Pass(std::chrono::minutes(29));
  EXPECT_EQ("0", peer->HeadersOf(1)["grpc-status"]);
  EXPECT_FALSE(peer->closed());
  Pass(std::chrono::minutes(1));

  EXPECT_TRUE(peer->closed());
}

TEST_F(ServerTimeTest, TheDeadlineOfAStuckStreamResetsIt) {
  HeaderList headers = With(RawPeer::Request(kWatch), "grpc-timeout", "30m");
  peer->Send(RawPeer::Preface() + RawPeer::Headers(1, headers).bytes() +
             RawPeer::DataFrame(1, Message(""), true).bytes());
  Settle();
  ASSERT_NE(nullptr, stream);
  bool closed = false;
  stream->OnClosed([&] { closed = true; });
  stream->Write(std::make_shared<const std::string>(1 << 20, 'x'), [] { FAIL(); });
  Pass(milliseconds(29));
  EXPECT_FALSE(closed);

  Pass(milliseconds(1));

  EXPECT_TRUE(closed);
  EXPECT_NE(nullptr, peer->Find(RawPeer::kReset, 1));
}

TEST_F(ServerTimeTest, NothingWakesAnIdleServerForMinutes) {
  peer->Send(RawPeer::Preface() + RawPeer::Call(1, kEcho, "x"));
  Settle();
  ASSERT_EQ("0", peer->HeadersOf(1)["grpc-status"]);

  ASSERT_TRUE(loop->timers().next_deadline());
  EXPECT_GE(*loop->timers().next_deadline() - fake_clock.Now(), std::chrono::minutes(29));
  peer->Close();
  Settle();
  EXPECT_EQ(std::nullopt, loop->timers().next_deadline());
}

}  // namespace
}  // namespace tenon::rpc
