// What the channel makes of servers that speak HTTP/2 by hand, and mostly badly.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "rpc/channel_frames_for_test.h"

namespace tenon::rpc {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST_F(ChannelFramesTest, SendsWhatAGrpcServerWants) {
  StartUnary("hello", seconds(20));

  ASSERT_TRUE(Await([&] { return peer->BytesOf(1).size() == 10; }));
  EXPECT_EQ(Message("hello"), peer->BytesOf(1));
  EXPECT_EQ(RawPeer::kEndStream, peer->Find(RawPeer::kData, 1)->flags);
  auto headers = peer->HeadersOf(1);
  EXPECT_EQ("POST", headers[":method"]);
  EXPECT_EQ("/test.Service/Echo", headers[":path"]);
  EXPECT_EQ("http", headers[":scheme"]);
  EXPECT_EQ("localhost", headers[":authority"]);
  EXPECT_EQ("application/grpc", headers["content-type"]);
  EXPECT_EQ("trailers", headers["te"]);
  EXPECT_EQ("20000000u", headers["grpc-timeout"]);
  EXPECT_THAT(headers["user-agent"], StartsWith("tenon/"));
}

TEST_F(ChannelFramesTest, TakesAnAnswerOneByteAtATime) {
  StartUnary();
  for (char c : Settings() + Answer("hello")) {
    peer->Send(std::string_view(&c, 1));
    Turn();
  }

  EXPECT_TRUE(Await([&] { return !end.empty(); }));
  EXPECT_EQ("rpc error: code = OK desc = ", end);
  EXPECT_THAT(messages, ElementsAre("hello"));
}

TEST_F(ChannelFramesTest, TakesAnInterimResponseBeforeTheRealOne) {
  StartUnary();

  EXPECT_EQ("rpc error: code = OK desc = ",
            EndAfter(Settings() + RawPeer::Headers(1, {{":status", "103"}}).bytes() + Answer("x")));
}

TEST_F(ChannelFramesTest, IsConnectedWhenThePeerHasSpoken) {
  std::string told;
  channel->OnConnected([&](const Status& status) { told = ToString(status); });
  for (int i = 0; i < 5; ++i)
    Turn();
  EXPECT_EQ("", told);

  peer->Send(Settings());

  EXPECT_TRUE(Await([&] { return told == "rpc error: code = OK desc = "; }));
}

TEST_F(ChannelFramesTest, ASilentPeerFailsTheConnectionAndItsCalls) {
  Open({.connect_timeout = milliseconds(30)});
  StartUnary();
  std::string told;
  channel->OnConnected([&](const Status& status) { told = ToString(status); });

  EXPECT_TRUE(Await([&] { return !told.empty() && !end.empty(); }));
  EXPECT_EQ(
      "rpc error: code = Unavailable desc = connection error: desc = \"error reading server "
      "preface: context deadline exceeded\"",
      told);
  EXPECT_EQ(told, end);
  EXPECT_TRUE(Await([&] { return peer->closed(); }));
}

TEST_F(ChannelFramesTest, APeerThatHangsUpAtOnceFailsTheConnection) {
  StartUnary();
  ASSERT_TRUE(Await([&] { return peer->Find(RawPeer::kData, 1) != nullptr; }));
  peer->Close();

  EXPECT_EQ(
      "rpc error: code = Unavailable desc = connection error: desc = \"error reading server "
      "preface: EOF\"",
      EndAfter(""));
}

TEST_F(ChannelFramesTest, APeerThatIsNoHttp2ServerFailsTheConnection) {
  StartUnary();

  EXPECT_THAT(EndAfter("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"),
              StartsWith("rpc error: code = Unavailable desc = connection error: desc = \"error "
                         "reading server preface: "));
}

struct BadAnswer {
  const char* name;
  std::string frames;
  const char* end;
};

class BadAnswerTest : public ChannelFramesTest, public ::testing::WithParamInterface<BadAnswer> {};

TEST_P(BadAnswerTest, EndsTheCallWithTheReasonAndTheConnectionLives) {
  StartUnary();

  EXPECT_EQ(std::string("rpc error: code = ") + GetParam().end,
            EndAfter(Settings() + GetParam().frames));

  end.clear();
  StartUnary();
  peer->Send(RawPeer::Headers(3, TrailersOnly("5", "next"), true));
  EXPECT_EQ("rpc error: code = NotFound desc = next", EndAfter(""));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadAnswerTest,
    ::testing::Values(
        BadAnswer{"Error", RawPeer::Headers(1, TrailersOnly("9", "100%25 %C3%A4"), true).bytes(),
                  "FailedPrecondition desc = 100% \xc3\xa4"},
        BadAnswer{
            "ErrorAfterMessage",
            RawPeer::Headers(1, Response()).bytes() +
                RawPeer::DataFrame(1, Message("x"), false).bytes() +
                RawPeer::Headers(1, {{"grpc-status", "10"}, {"grpc-message", "no"}}, true).bytes(),
            "Aborted desc = no"},
        BadAnswer{"UnknownCode", RawPeer::Headers(1, TrailersOnly("99", "what"), true).bytes(),
                  "Unknown desc = what"},
        BadAnswer{"NoStatusInTrailers",
                  RawPeer::Headers(1, Response()).bytes() +
                      RawPeer::DataFrame(1, Message("x"), false).bytes() +
                      RawPeer::Headers(1, {{"a", "b"}}, true).bytes(),
                  "Unknown desc = the server sent no grpc-status"},
        BadAnswer{"NoTrailers",
                  RawPeer::Headers(1, Response()).bytes() +
                      RawPeer::DataFrame(1, Message("x"), true).bytes(),
                  "Internal desc = server closed the stream without sending trailers"},
        BadAnswer{"NoMessage", RawPeer::Headers(1, TrailersOnly("0", ""), true).bytes(),
                  "Internal desc = received no response message for a unary method"},
        BadAnswer{"TwoMessages",
                  RawPeer::Headers(1, Response()).bytes() +
                      RawPeer::DataFrame(1, Message("x") + Message("y"), false).bytes() +
                      RawPeer::Headers(1, {{"grpc-status", "0"}}, true).bytes(),
                  "Internal desc = received more than the one response message of a unary method"},
        BadAnswer{"HalfAMessage",
                  RawPeer::Headers(1, Response()).bytes() +
                      RawPeer::DataFrame(1, Message("xyz").substr(0, 7), false).bytes() +
                      RawPeer::Headers(1, {{"grpc-status", "0"}}, true).bytes(),
                  "Internal desc = unexpected EOF"},
        BadAnswer{"Http404",
                  RawPeer::Headers(1, {{":status", "404"}, {"content-type", "text/html"}}).bytes(),
                  "Unimplemented desc = unexpected HTTP status code received from server: 404 "
                  "(Not Found)"},
        BadAnswer{"Http503", RawPeer::Headers(1, {{":status", "503"}}, true).bytes(),
                  "Unavailable desc = unexpected HTTP status code received from server: 503 "
                  "(Service Unavailable)"},
        BadAnswer{"Html",
                  RawPeer::Headers(1, {{":status", "200"}, {"content-type", "text/html"}}).bytes(),
                  "Unknown desc = transport: received unexpected content-type \"text/html\""},
        BadAnswer{"NoContentType", RawPeer::Headers(1, {{":status", "200"}}).bytes(),
                  "Unknown desc = malformed header: missing HTTP content-type"},
        BadAnswer{"NoHttpStatus",
                  RawPeer::Headers(1, {{"content-type", "application/grpc"}}).bytes(),
                  "Internal desc = stream terminated by RST_STREAM with error code: "
                  "PROTOCOL_ERROR"},
        BadAnswer{"Compressed",
                  RawPeer::Headers(1, {{":status", "200"},
                                       {"content-type", "application/grpc"},
                                       {"grpc-encoding", "gzip"}})
                          .bytes() +
                      RawPeer::DataFrame(1, Message("x", 1), false).bytes(),
                  "Unimplemented desc = grpc: Decompressor is not installed for grpc-encoding "
                  "\"gzip\""},
        BadAnswer{"TooLarge",
                  RawPeer::Headers(1, Response()).bytes() +
                      RawPeer::DataFrame(1, std::string("\0\2\0\0\0", 5), false).bytes(),
                  "ResourceExhausted desc = grpc: received message larger than max (33554432 vs. "
                  "16777216)"},
        BadAnswer{"Reset", Frame{RawPeer::kReset, 0, 1, Frame::Number(8)}.bytes(),
                  "Canceled desc = stream terminated by RST_STREAM with error code: CANCEL"},
        BadAnswer{"Refused", Frame{RawPeer::kReset, 0, 1, Frame::Number(7)}.bytes(),
                  "Unavailable desc = stream terminated by RST_STREAM with error code: "
                  "REFUSED_STREAM"},
        BadAnswer{"ManyHeaders",
                  RawPeer::Headers(1, {{":status", "200"}, {"x", std::string(16350, 'v')}}).bytes(),
                  "ResourceExhausted desc = stream terminated by RST_STREAM with error code: "
                  "ENHANCE_YOUR_CALM"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST_F(ChannelFramesTest, AnEndedCallIsNotResetAgain) {
  StartUnary();
  EXPECT_EQ("rpc error: code = OK desc = ", EndAfter(Settings() + Answer("x")));
  call.reset();
  for (int i = 0; i < 5; ++i)
    Turn();

  peer->Read();
  EXPECT_EQ(nullptr, peer->Find(RawPeer::kReset, 1));
}

TEST_F(ChannelFramesTest, TheDeadlineResetsTheStream) {
  StartUnary("x", milliseconds(20));
  peer->Send(Settings());

  EXPECT_EQ("rpc error: code = DeadlineExceeded desc = context deadline exceeded", EndAfter(""));
  ASSERT_TRUE(Await([&] { return peer->Find(RawPeer::kReset, 1) != nullptr; }));
  EXPECT_EQ(Frame::Number(8), peer->Find(RawPeer::kReset, 1)->payload);
}

TEST_F(ChannelFramesTest, GoAwayEndsTheCallsThatItNamesAndNoOthers) {
  StartUnary();
  std::string second;
  auto rejected =
      channel->Unary("/test.Service/Echo", "x", seconds(20),
                     [&](const Status& status, const std::string&) { second = ToString(status); });
  peer->Send(Settings() +
             Frame{RawPeer::kGoAway, 0, 0, Frame::Number(1) + Frame::Number(0)}.bytes());

  EXPECT_TRUE(Await([&] { return !second.empty(); }));
  EXPECT_EQ(
      "rpc error: code = Unavailable desc = the stream is rejected because server is draining the "
      "connection",
      second);
  EXPECT_EQ("", end);
  std::string third;
  auto late =
      channel->Unary("/test.Service/Echo", "x", seconds(20),
                     [&](const Status& status, const std::string&) { third = ToString(status); });
  EXPECT_TRUE(Await([&] { return !third.empty(); }));
  EXPECT_EQ("rpc error: code = Unavailable desc = the connection is draining", third);
  EXPECT_EQ("rpc error: code = OK desc = ", EndAfter(Answer("x")));
}

TEST_F(ChannelFramesTest, TheReasonOfAGoAwayIsTold) {
  StartStream();
  std::string lost;
  channel->OnClosed([&](const Status& status) { lost = ToString(status); });
  peer->Send(Settings() +
             Frame{RawPeer::kGoAway, 0, 0, Frame::Number(1) + Frame::Number(11) + "too_many_pings"}
                 .bytes());
  Turn();
  ASSERT_TRUE(Await([&] { return peer->Find(RawPeer::kData, 1) != nullptr; }));
  peer->Close();

  EXPECT_TRUE(Await([&] { return !lost.empty() && !end.empty(); }));
  EXPECT_THAT(lost, HasSubstr("received prior goaway: code: ENHANCE_YOUR_CALM, debug data: "
                              "\"too_many_pings\""));
  EXPECT_EQ(lost, end);
}

TEST_F(ChannelFramesTest, AnIdleChannelEndsWithGoAway) {
  std::string lost;
  channel->OnClosed([&](const Status& status) { lost = ToString(status); });

  peer->Send(Settings() +
             Frame{RawPeer::kGoAway, 0, 0, Frame::Number(0) + Frame::Number(0)}.bytes());

  EXPECT_TRUE(Await([&] { return !lost.empty(); }));
  EXPECT_TRUE(Await([&] { return peer->closed(); }));
}

TEST_F(ChannelFramesTest, MessagesBeforeTheLossAreDelivered) {
  StartStream();
  ASSERT_TRUE(Await([&] { return peer->Find(RawPeer::kData, 1) != nullptr; }));
  peer->Send(Settings() + RawPeer::Headers(1, Response()).bytes() +
             RawPeer::DataFrame(1, Message("one") + Message("two") + "\0", false).bytes());
  peer->Close();

  EXPECT_THAT(EndAfter(""), StartsWith("rpc error: code = Unavailable desc = error reading from "
                                       "server: "));
  EXPECT_THAT(messages, ElementsAre("one", "two"));
}

TEST_F(ChannelFramesTest, AMessageIsDeliveredBeforeTheStreamEnds) {
  StartStream();

  peer->Send(Settings() + RawPeer::Headers(1, Response()).bytes() +
             RawPeer::DataFrame(1, Message("one"), false).bytes());

  EXPECT_TRUE(Await([&] { return messages.size() == 1; }));
  EXPECT_EQ("", end);
}

TEST_F(ChannelFramesTest, TheServersLimitOfStreamsMakesCallsWait) {
  peer->Send(Frame{RawPeer::kSettings, 0, 0, std::string("\0\3", 2) + Frame::Number(1)}.bytes());
  Turn();
  StartUnary();
  bool second_done = false;
  auto second =
      channel->Unary("/test.Service/Echo", "x", seconds(20),
                     [&](const Status& status, const std::string&) { second_done = status.ok(); });
  for (int i = 0; i < 5; ++i)
    Turn();
  peer->Read();
  EXPECT_EQ(nullptr, peer->Find(RawPeer::kHeaders, 3));

  peer->Send(Answer("x"));

  EXPECT_TRUE(Await([&] { return peer->Find(RawPeer::kHeaders, 3) != nullptr; }));
  EXPECT_FALSE(second_done);
}

std::string Push() {
  return Frame{5, RawPeer::kEndHeaders, 1, Frame::Number(2) + HeaderBlock(RawPeer::Request("/x"))}
      .bytes();
}

TEST_F(ChannelFramesTest, APushBeforeItsRefusalIsKnownIsReset) {
  StartUnary();
  ASSERT_TRUE(Await([&] { return peer->Find(RawPeer::kData, 1) != nullptr; }));

  EXPECT_EQ("rpc error: code = OK desc = ",
            EndAfter(Settings() + Push() + RawPeer::Headers(2, Response()).bytes() + Answer("x")));
  EXPECT_TRUE(Await([&] { return peer->Find(RawPeer::kReset, 2) != nullptr; }));
}

TEST_F(ChannelFramesTest, APushAfterItsRefusalEndsTheConnection) {
  StartUnary();
  ASSERT_TRUE(Await([&] { return peer->Find(RawPeer::kData, 1) != nullptr; }));

  EXPECT_THAT(EndAfter(Settings() + Frame{RawPeer::kSettings, RawPeer::kAck}.bytes() + Push()),
              HasSubstr("error reading from server"));
}

TEST_F(ChannelFramesTest, AFloodOfPingsEndsTheConnection) {
  StartStream();
  peer->Send(Settings());
  std::string pings;
  for (int i = 0; i < 1000; ++i)
    pings += Frame{RawPeer::kPing, 0, 0, "12345678"}.bytes();
  for (int i = 0; i < 100 && end.empty(); ++i) {
    peer->Send(pings);
    Turn();
    peer->Read();
  }

  EXPECT_EQ(
      "rpc error: code = Unavailable desc = error reading from server: too many frames that carry "
      "nothing",
      EndAfter(""));
}

TEST_F(ChannelFramesTest, ALargeRequestWaitsForTheWindow) {
  StartUnary(std::string(size_t{1} << 20, 'x'));
  peer->Send(Settings());
  ASSERT_TRUE(Await([&] { return peer->BytesOf(1).size() == 65535; }));

  peer->Send({RawPeer::kWindowUpdate, 0, 0, Frame::Number(2 << 20)});
  peer->Send({RawPeer::kWindowUpdate, 0, 1, Frame::Number(2 << 20)});

  EXPECT_TRUE(Await([&] { return peer->BytesOf(1).size() == (size_t{1} << 20) + 5; }));
}

}  // namespace
}  // namespace tenon::rpc
