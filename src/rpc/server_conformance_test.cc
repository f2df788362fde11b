// The rules of HTTP/2 and HPACK that a client can break, section by section: what the server does
// then, and that no other connection feels it. The sections are those of RFC 9113 and RFC 7541;
// the cases are those that h2spec tries, as far as a gRPC server has the part they are about.

#include <gtest/gtest.h>

#include "rpc/http2_session.h"
#include "rpc/server_frames_for_test.h"

namespace tenon::rpc {
namespace {

constexpr uint32_t kFlowControlError = 3, kStreamClosed = 5, kFrameSizeError = 6,
                   kCompressionError = 9;
constexpr uint8_t kPadded = 8, kPriorityFlag = 32;

struct Case {
  const char* name;
  std::string bytes;   ///< After the preface.
  uint32_t error = 0;  ///< HTTP/2's code for it.
};

std::string NameOf(const ::testing::TestParamInfo<Case>& test) {
  return test.param.name;
}

std::string Open(uint32_t stream) {
  return RawPeer::Headers(stream, RawPeer::Request(kEcho)).bytes();
}
std::string Call(uint32_t stream) {
  return RawPeer::Call(stream, kEcho, "x");
}
std::string Data(uint32_t stream, bool end = false) {
  return RawPeer::DataFrame(stream, Message("x"), end).bytes();
}
std::string Setting(uint16_t id, uint32_t value) {
  return std::string{static_cast<char>(id >> 8U), static_cast<char>(id)} + Frame::Number(value);
}
std::string Settings(const std::string& settings) {
  return Frame{RawPeer::kSettings, 0, 0, settings}.bytes();
}
std::string WindowUpdate(uint32_t stream, uint32_t increment) {
  return Frame{RawPeer::kWindowUpdate, 0, stream, Frame::Number(increment)}.bytes();
}
std::string Ping(uint32_t stream = 0, uint8_t flags = 0) {
  return Frame{RawPeer::kPing, flags, stream, "12345678"}.bytes();
}
std::string Priority(uint32_t stream, uint32_t depends_on = 0) {
  return Frame{RawPeer::kPriority, 0, stream, Frame::Number(depends_on) + "x"}.bytes();
}
std::string Block() {
  return HeaderBlock(RawPeer::Request(kEcho));
}
std::string Raw(uint32_t stream, const std::string& block, uint8_t flags = RawPeer::kEndHeaders) {
  return Frame{RawPeer::kHeaders, flags, stream, block}.bytes();
}
std::string Continuation(uint32_t stream, const std::string& block, uint8_t flags = 0) {
  return Frame{RawPeer::kContinuation, flags, stream, block}.bytes();
}

class ConnectionErrorTest : public ServerFramesTest, public ::testing::WithParamInterface<Case> {};

TEST_P(ConnectionErrorTest, EndsThisConnectionAndNoOther) {
  peer = Connect();
  peer->Send(RawPeer::Preface() + GetParam().bytes);

  EXPECT_TRUE(IsCutOff());
  ASSERT_NE(nullptr, peer->Find(RawPeer::kGoAway));
  EXPECT_EQ(GetParam().error,
            Frame::Number(std::string_view(peer->Find(RawPeer::kGoAway)->payload).substr(4)));
  EXPECT_TRUE(OthersAreServed());
}

INSTANTIATE_TEST_SUITE_P(
    Section4, ConnectionErrorTest,
    ::testing::Values(
        Case{"HeadersLongerThanAFrame", Raw(1, std::string(16385, 'x')), kFrameSizeError},
        Case{"DataLongerThanAFrame",
             Open(1) + Frame{RawPeer::kData, 0, 1, std::string(16385, 'x')}.bytes(),
             kFrameSizeError},
        Case{"BlockThatCannotBeDecoded", Raw(1, "\xff\xff\xff\xff\xff"), kCompressionError},
        Case{"PriorityWithinABlock", Raw(1, Block(), 0) + Priority(1), kProtocolError},
        Case{"AnotherStreamWithinABlock", Raw(1, Block(), 0) + Open(3), kProtocolError}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Section5, ConnectionErrorTest,
    ::testing::Values(
        Case{"DataOnAnIdleStream", Data(1), kProtocolError},
        Case{"ResetOfAnIdleStream", Frame{RawPeer::kReset, 0, 1, Frame::Number(8)}.bytes(),
             kProtocolError},
        Case{"WindowOfAnIdleStream", WindowUpdate(1, 1), kProtocolError},
        Case{"ContinuationOfAnIdleStream", Continuation(1, Block(), RawPeer::kEndHeaders),
             kProtocolError},
        Case{"DataAfterTheEnd", RawPeer::Call(1, kHold, "x") + Data(1), kStreamClosed},
        Case{"HeadersAfterTheEnd", RawPeer::Call(1, kHold, "x") + Open(1), kStreamClosed},
        Case{"EvenStream", Open(2), kProtocolError},
        Case{"UnknownFrameWithinABlock", Raw(1, Block(), 0) + Frame{0xee, 0, 0, "x"}.bytes(),
             kProtocolError}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Section6, ConnectionErrorTest,
    ::testing::Values(
        Case{"DataOnStreamZero", Data(0), kProtocolError},
        Case{"DataPaddedBeyondItsEnd", Open(1) + Frame{RawPeer::kData, kPadded, 1, "\x7f"}.bytes(),
             kProtocolError},
        Case{"HeadersOnStreamZero", Raw(0, Block()), kProtocolError},
        Case{"HeadersPaddedBeyondTheirEnd",
             Raw(1, "\xff" + Block(), RawPeer::kEndHeaders | kPadded), kProtocolError},
        Case{"PriorityOnStreamZero", Priority(0), kProtocolError},
        Case{"PriorityOfBadLength", Frame{RawPeer::kPriority, 0, 1, "1234"}.bytes(),
             kFrameSizeError},
        Case{"ResetOfStreamZero", Frame{RawPeer::kReset, 0, 0, Frame::Number(8)}.bytes(),
             kProtocolError},
        Case{"ResetOfBadLength", Open(1) + Frame{RawPeer::kReset, 0, 1, "123"}.bytes(),
             kFrameSizeError},
        Case{"SettingsAckWithContent",
             Frame{RawPeer::kSettings, RawPeer::kAck, 0, Setting(3, 1)}.bytes(), kFrameSizeError},
        Case{"SettingsAckThatAcknowledgesNothing",
             Frame{RawPeer::kSettings, RawPeer::kAck}.bytes() +
                 Frame{RawPeer::kSettings, RawPeer::kAck}.bytes() +
                 Frame{RawPeer::kSettings, RawPeer::kAck}.bytes(),
             kProtocolError},
        Case{"SettingsOnAStream", Frame{RawPeer::kSettings, 0, 1, ""}.bytes(), kProtocolError},
        Case{"SettingsOfBadLength", Settings("123"), kFrameSizeError},
        Case{"PushThatIsNeitherOnNorOff", Settings(Setting(2, 2)), kProtocolError},
        Case{"InitialWindowTooLarge", Settings(Setting(4, 0x80000000)), kFlowControlError},
        Case{"FrameSizeTooSmall", Settings(Setting(5, 16383)), kProtocolError},
        Case{"FrameSizeTooLarge", Settings(Setting(5, 1U << 24U)), kProtocolError},
        Case{"PushPromise", Open(1) + Frame{5, RawPeer::kEndHeaders, 1, Frame::Number(2)}.bytes(),
             kProtocolError},
        Case{"PingOnAStream", Ping(1), kProtocolError},
        Case{"PingOfBadLength", Frame{RawPeer::kPing, 0, 0, "123456"}.bytes(), kFrameSizeError},
        Case{"GoAwayOnAStream",
             Frame{RawPeer::kGoAway, 0, 1, Frame::Number(0) + Frame::Number(0)}.bytes(),
             kProtocolError},
        Case{"ConnectionWindowOfNothing", WindowUpdate(0, 0), kProtocolError},
        Case{"StreamWindowOfNothing", Open(1) + WindowUpdate(1, 0), kProtocolError},
        Case{"WindowUpdateOfBadLength", Frame{RawPeer::kWindowUpdate, 0, 0, "123"}.bytes(),
             kFrameSizeError},
        Case{"ConnectionWindowTooLarge", WindowUpdate(0, 0x7fffffff), kFlowControlError},
        Case{"ContinuationOfStreamZero", Raw(1, "", 0) + Continuation(0, Block()), kProtocolError},
        Case{"ContinuationAfterTheBlock", Open(1) + Continuation(1, Block()), kProtocolError},
        Case{"ContinuationAfterData", Open(1) + Data(1) + Continuation(1, Block()),
             kProtocolError}),
    NameOf);

// RFC 7541. Each block is right up to its last representation.
INSTANTIATE_TEST_SUITE_P(
    Hpack, ConnectionErrorTest,
    ::testing::Values(
        Case{"IndexOfNothing", Raw(1, Block() + "\x80"), kCompressionError},
        Case{"IndexBeyondTheTable", Raw(1, Block() + "\xc6"), kCompressionError},
        Case{"NameBeyondTheTable", Raw(1, Block() + std::string("\x7f\x07\1x", 4)),
             kCompressionError},
        Case{"TableSizeAfterAHeader", Raw(1, Block() + "\x20"), kCompressionError},
        Case{"TableLargerThanAllowed", Raw(1, "\x3f\xe1\xff\x03" + Block()), kCompressionError},
        Case{"IntegerWithoutEnd", Raw(1, Block() + "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
             kCompressionError},
        Case{"TextLongerThanTheBlock", Raw(1, Block() + std::string("\0\1x\x7f\x10yyy", 8)),
             kCompressionError},
        Case{"HuffmanEndOfString", Raw(1, Block() + std::string("\0\1x\x84\xff\xff\xff\xff", 8)),
             kCompressionError},
        Case{"HuffmanPaddedByMoreThanSevenBits",
             Raw(1, Block() + std::string("\0\1x\x82\x1f\xff", 6)), kCompressionError},
        Case{"HuffmanPaddedWithZeros", Raw(1, Block() + std::string("\0\1x\x81\x18", 5)),
             kCompressionError}),
    NameOf);

class StreamErrorTest : public ServerFramesTest, public ::testing::WithParamInterface<Case> {};

TEST_P(StreamErrorTest, ResetsThisStreamAndNoOther) {
  peer = Connect();
  peer->Send(RawPeer::Preface() + GetParam().bytes + RawPeer::Call(99, kEcho, "next"));

  EXPECT_EQ("0 ", EndOf(99));
  ASSERT_NE(nullptr, peer->Find(RawPeer::kReset, 1));
  EXPECT_EQ(Frame::Number(GetParam().error), peer->Find(RawPeer::kReset, 1)->payload);
  EXPECT_EQ(1, echoed);
}

/// A request whose headers break the rules of RFC 9113 §8.
Case Malformed(const char* name, HeaderList headers) {
  return {name, RawPeer::Headers(1, headers).bytes() + Data(1, true), kProtocolError};
}

INSTANTIATE_TEST_SUITE_P(Section6, StreamErrorTest,
                         ::testing::Values(Case{"StreamWindowTooLarge",
                                                Open(1) + WindowUpdate(1, 0x7fffffff),
                                                kFlowControlError}),
                         NameOf);

INSTANTIATE_TEST_SUITE_P(
    Section8, StreamErrorTest,
    ::testing::Values(
        Malformed("NoMethod", {{":scheme", "http"}, {":path", kEcho}}),
        Malformed("NoPath", {{":scheme", "http"}, {":method", "POST"}}),
        Malformed("EmptyPath", With(RawPeer::Request(kEcho), ":path", "")),
        Malformed("NoScheme", {{":method", "POST"}, {":path", kEcho}}),
        Malformed("TwoMethods",
                  {{":scheme", "http"}, {":method", "POST"}, {":path", kEcho}, {":method", "GET"}}),
        Malformed("TwoPaths",
                  {{":scheme", "http"}, {":method", "POST"}, {":path", kEcho}, {":path", "/x"}}),
        Malformed(
            "TwoSchemes",
            {{":scheme", "http"}, {":method", "POST"}, {":path", kEcho}, {":scheme", "https"}}),
        Malformed("UnknownPseudoHeader", With(RawPeer::Request(kEcho), ":x", "y")),
        Malformed("PseudoHeaderOfResponses", With(RawPeer::Request(kEcho), ":status", "200")),
        Malformed("PseudoHeaderAfterOthers",
                  {{":scheme", "http"}, {":method", "POST"}, {"a", "b"}, {":path", kEcho}}),
        Malformed("UpperCase", With(RawPeer::Request(kEcho), "Te", "trailers")),
        Malformed("Connection", With(RawPeer::Request(kEcho), "connection", "keep-alive")),
        Malformed("TeThatIsNotTrailers", With(RawPeer::Request(kEcho), "te", "gzip")),
        Malformed("ContentLengthThatIsNone", With(RawPeer::Request(kEcho), "content-length", "-6")),
        Malformed("TwoContentLengths", {{":scheme", "http"},
                                        {":method", "POST"},
                                        {":path", kEcho},
                                        {"content-type", "application/grpc"},
                                        {"content-length", "6"},
                                        {"content-length", "7"}}),
        Malformed("LessThanTheContentLength", With(RawPeer::Request(kEcho), "content-length", "7")),
        Malformed("MoreThanTheContentLength", With(RawPeer::Request(kEcho), "content-length", "5")),
        Case{"MoreThanTheContentLengthInSeveralFrames",
             RawPeer::Headers(1, With(RawPeer::Request(kEcho), "content-length", "6")).bytes() +
                 Data(1) + Data(1, true),
             kProtocolError},
        Case{"SecondHeadersThatEndNothing", Open(1) + Open(1) + Data(1, true), kProtocolError},
        Case{"PseudoHeaderInTrailers",
             Open(1) + Data(1) + RawPeer::Headers(1, {{":path", kEcho}}, true).bytes(),
             kProtocolError}),
    NameOf);

class ToleratedTest : public ServerFramesTest, public ::testing::WithParamInterface<Case> {};

TEST_P(ToleratedTest, IsServedAsIfNothingHadBeen) {
  peer = Connect();
  peer->Send(RawPeer::Preface() + GetParam().bytes + RawPeer::Call(99, kEcho, "next"));

  EXPECT_EQ("0 ", EndOf(99));
  EXPECT_EQ(Message("next"), peer->BytesOf(99));
  EXPECT_EQ(nullptr, peer->Find(RawPeer::kGoAway));
}

INSTANTIATE_TEST_SUITE_P(
    All, ToleratedTest,
    ::testing::Values(
        Case{"FrameOfUnknownType", Frame{0xee, 0xff, 0, "what"}.bytes()},
        Case{"FlagsWithoutMeaning", Ping(0, 0xfe)},
        Case{"ReservedBitOfTheStream", Ping(0x80000000)},
        Case{"PingAckWithoutPing", Ping(0, RawPeer::kAck)},
        Case{"SettingOfUnknownKind", Settings(Setting(0xffff, 7))},
        Case{"SameSettingTwice", Settings(Setting(4, 1) + Setting(4, 65535))},
        Case{"NoHeaderTable", Settings(Setting(1, 0))},
        Case{"FullFrame",
             Open(1) + RawPeer::DataFrame(1, Message(std::string(16379, 'x')), true).bytes()},
        Case{"PaddedData", Open(1) + Frame{RawPeer::kData, kPadded, 1,
                                           "\x03" + Message("x") + std::string(3, '\0')}
                                         .bytes()},
        Case{"PaddedHeaders",
             Raw(1, "\x03" + Block() + std::string(3, '\0'), RawPeer::kEndHeaders | kPadded) +
                 Data(1, true)},
        Case{"HeadersWithPriority", Raw(1, Frame::Number(0x80000000) + "x" + Block(),
                                        RawPeer::kEndHeaders | kPriorityFlag) +
                                        Data(1, true)},
        Case{"PriorityOfAnIdleStream", Priority(7)},
        Case{"ManyContinuations",
             Raw(1, Block().substr(0, 1), 0) + Continuation(1, Block().substr(1, 9)) +
                 Continuation(1, Block().substr(10), RawPeer::kEndHeaders) + Data(1, true)},
        Case{"HeaderTableSizeAtTheStart", Raw(1, "\x20" + Block()) + Data(1, true)},
        Case{"UnknownErrorCodeInAReset",
             Open(1) + Frame{RawPeer::kReset, 0, 1, Frame::Number(0xffff)}.bytes()},
        Case{"DataAfterAReset",
             Open(1) + Frame{RawPeer::kReset, 0, 1, Frame::Number(8)}.bytes() + Data(1)},
        Case{"HeadersAfterAReset", Open(1) +
                                       Frame{RawPeer::kReset, 0, 1, Frame::Number(8)}.bytes() +
                                       RawPeer::Headers(1, {{"x", "y"}}, true).bytes()},
        // The server cannot tell it from the trailers of a stream that it has reset itself.
        Case{"HeadersOfAStreamBelowTheLast", Call(5) + Call(3)},
        Case{"WindowAfterAReset",
             Open(1) + Frame{RawPeer::kReset, 0, 1, Frame::Number(8)}.bytes() + WindowUpdate(1, 1)},
        Case{"ContentLengthThatIsRight",
             RawPeer::Headers(1, With(RawPeer::Request(kEcho), "content-length", "6")).bytes() +
                 Data(1, true)},
        Case{"BinaryAndReservedHeaders", RawPeer::Headers(1, {{":method", "POST"},
                                                              {":scheme", "http"},
                                                              {":path", kEcho},
                                                              {"content-type", "application/grpc"},
                                                              {"x-bin", "AAECAw"},
                                                              {"y-bin", "not base64!"},
                                                              {"grpc-previous-rpc-attempts", "1"},
                                                              {"grpc-no-such-thing", "\x01\xff"},
                                                              {"x", ""}})
                                                 .bytes() +
                                             Data(1, true)}),
    NameOf);

TEST_F(ServerFramesTest, CutsOffWhatIsNotHttp2) {
  for (const char* text :
       {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "\x16\x03\x01", "PRI * HTTP/2.0\r\n\r\nXX"}) {
    peer = Connect();
    peer->Send(std::string_view(text));
    EXPECT_TRUE(IsCutOff()) << text;
  }
  EXPECT_TRUE(OthersAreServed());
}

TEST_F(ServerFramesTest, AcknowledgesSettings) {
  peer = Connect();
  peer->Send(RawPeer::Preface());

  EXPECT_TRUE(Await([&] {
    for (const Frame& frame : peer->frames())
      if (frame.type == RawPeer::kSettings && frame.flags == RawPeer::kAck) return true;
    return false;
  }));
}

TEST_F(ServerFramesTest, AStreamBeyondTheLimitIsRefused) {
  Serve({.max_streams = 2});
  peer = Connect();
  peer->Send(RawPeer::Preface() + RawPeer::Call(1, kHold, "") + RawPeer::Call(3, kHold, "") +
             RawPeer::Call(5, kHold, ""));

  ASSERT_TRUE(Await([&] { return peer->Find(RawPeer::kReset, 5) != nullptr; }));
  EXPECT_EQ(Frame::Number(kRefusedStream), peer->Find(RawPeer::kReset, 5)->payload);
  EXPECT_EQ(2U, held.size());
}

TEST_F(ServerFramesTest, SendsNoMoreThanTheWindowThatAnotherSettingLeaves) {
  peer = Connect();
  peer->Send(RawPeer::Preface() + Settings(Setting(4, 3)) + Call(1));
  ASSERT_TRUE(Await([&] { return peer->BytesOf(1).size() == 3; }));

  peer->Send(Settings(Setting(4, 1)) + WindowUpdate(1, 1));  // It is at -1 now.
  peer->Send(Ping());
  ASSERT_TRUE(Await([&] { return peer->Find(RawPeer::kPing) != nullptr; }));
  EXPECT_EQ(3U, peer->BytesOf(1).size());
  peer->Send(WindowUpdate(1, 100));

  EXPECT_EQ("0 ", EndOf(1));
  EXPECT_EQ(Message("x"), peer->BytesOf(1));
}

TEST_F(ServerFramesTest, AClientsGoAwayLeavesItsCallsAlone) {
  peer = Connect();
  peer->Send(RawPeer::Preface() + RawPeer::Call(1, kHold, "x") +
             Frame{RawPeer::kGoAway, 0, 0, Frame::Number(0) + Frame::Number(0)}.bytes());
  ASSERT_TRUE(Await([&] { return !held.empty(); }));

  held[0]->Reply("late");

  EXPECT_EQ("0 ", EndOf(1));
  EXPECT_TRUE(IsCutOff());
}

// RFC 9113 §6.8: a client may open a stream, and give it up, before it sees the GOAWAY.
TEST_F(ServerFramesTest, ACallThatCrossesTheGoAwayOfADrainHarmsNoOther) {
  peer = Connect();
  peer->Send(RawPeer::Preface() + RawPeer::Call(1, kHold, "x"));
  ASSERT_TRUE(Await([&] { return !held.empty(); }));
  bool drained = false;
  server->Drain(std::chrono::seconds(20), [&] { drained = true; });
  peer->Send(RawPeer::Call(3, kEcho, "crosses") +
             Frame{RawPeer::kReset, 0, 3, Frame::Number(8)}.bytes() +
             RawPeer::Call(5, kEcho, "crosses, too") + Ping());
  ASSERT_TRUE(Await([&] { return peer->Find(RawPeer::kPing) != nullptr; }));
  EXPECT_EQ("14 the server is shutting down", EndOf(5));
  EXPECT_FALSE(drained);

  held[0]->Reply("last words");

  EXPECT_EQ("0 ", EndOf(1));
  EXPECT_TRUE(Await([&] { return drained && peer->closed(); }));
  EXPECT_EQ(0, echoed);
}

}  // namespace
}  // namespace tenon::rpc
