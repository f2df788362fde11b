// Servers that break the rules of HTTP/2, or use its freedoms: what the channel does then. The
// second half are gRPC's own negative cases for clients, under the names that it gives them.

#include <gtest/gtest.h>

#include "rpc/channel_frames_for_test.h"
#include "rpc/http2_session.h"

namespace tenon::rpc {
namespace {

constexpr uint32_t kFlowControlError = 3, kFrameSizeError = 6, kCompressionError = 9;
constexpr uint8_t kPadded = 8;

std::string Setting(uint16_t id, uint32_t value) {
  return Frame{
      RawPeer::kSettings, 0, 0,
      std::string{static_cast<char>(id >> 8U), static_cast<char>(id)} + Frame::Number(value)}
      .bytes();
}
std::string Ping(uint8_t flags = 0) {
  return Frame{RawPeer::kPing, flags, 0, "12345678"}.bytes();
}
std::string Reset(uint32_t error) {
  return Frame{RawPeer::kReset, 0, 1, Frame::Number(error)}.bytes();
}
std::string Begin() {
  return RawPeer::Headers(1, Response()).bytes();
}
std::string Data(const std::string& bytes) {
  return RawPeer::DataFrame(1, bytes, false).bytes();
}
std::string Raw(uint32_t stream, const std::string& block) {
  return Frame{RawPeer::kHeaders, RawPeer::kEndHeaders, stream, block}.bytes();
}

struct Case {
  const char* name;
  std::string bytes;   ///< After the server's SETTINGS.
  uint32_t error = 0;  ///< HTTP/2's code for it.
};

std::string NameOf(const ::testing::TestParamInfo<Case>& test) {
  return test.param.name;
}

class BrokenServerTest : public ChannelFramesTest, public ::testing::WithParamInterface<Case> {};

TEST_P(BrokenServerTest, EndsTheConnectionAndItsCalls) {
  std::string lost;
  channel->OnClosed([&](const Status& status) { lost = ToString(status); });
  StartUnary();
  ASSERT_TRUE(Await([&] { return peer->Find(RawPeer::kData, 1) != nullptr; }));

  peer->Send(Settings() + GetParam().bytes);

  EXPECT_TRUE(Await([&] { return !end.empty() && !lost.empty() && peer->closed(); }));
  EXPECT_TRUE(end.starts_with("rpc error: code = Unavailable")) << end;
  ASSERT_NE(nullptr, peer->Find(RawPeer::kGoAway));
  EXPECT_EQ(GetParam().error,
            Frame::Number(std::string_view(peer->Find(RawPeer::kGoAway)->payload).substr(4)));
}

INSTANTIATE_TEST_SUITE_P(
    All, BrokenServerTest,
    ::testing::Values(
        Case{"BlockThatCannotBeDecoded", Raw(1, "\xff\xff\xff\xff\xff"), kCompressionError},
        Case{"IndexOfNothing", Raw(1, HeaderBlock(Response()) + "\x80"), kCompressionError},
        Case{"DataLongerThanAFrame", Begin() + Data(std::string(16385, 'x')), kFrameSizeError},
        Case{"DataOnStreamZero", RawPeer::DataFrame(0, "x", false).bytes(), kProtocolError},
        Case{"DataOnAStreamThatIsNot", RawPeer::DataFrame(7, "x", false).bytes(), kProtocolError},
        Case{"DataPaddedBeyondItsEnd", Begin() + Frame{RawPeer::kData, kPadded, 1, "\x7f"}.bytes(),
             kProtocolError},
        Case{"HeadersOnAStreamOfItsOwn", Raw(2, HeaderBlock(Response())), kProtocolError},
        Case{"ResetOfStreamZero", Frame{RawPeer::kReset, 0, 0, Frame::Number(8)}.bytes(),
             kProtocolError},
        Case{"ResetOfBadLength", Frame{RawPeer::kReset, 0, 1, "123"}.bytes(), kFrameSizeError},
        Case{"SettingsOnAStream", Frame{RawPeer::kSettings, 0, 1, ""}.bytes(), kProtocolError},
        Case{"SettingsOfBadLength", Frame{RawPeer::kSettings, 0, 0, "123"}.bytes(),
             kFrameSizeError},
        Case{"InitialWindowTooLarge", Setting(4, 0x80000000), kFlowControlError},
        Case{"FrameSizeTooSmall", Setting(5, 16383), kProtocolError},
        Case{"PushSwitchedOn", Setting(2, 1), kProtocolError},
        Case{"PingOfBadLength", Frame{RawPeer::kPing, 0, 0, "123"}.bytes(), kFrameSizeError},
        Case{"GoAwayThatTakesBackAnother",
             Frame{RawPeer::kGoAway, 0, 0, Frame::Number(1) + Frame::Number(0)}.bytes() +
                 Frame{RawPeer::kGoAway, 0, 0, Frame::Number(3) + Frame::Number(0)}.bytes(),
             kProtocolError},
        Case{"ConnectionWindowOfNothing",
             Frame{RawPeer::kWindowUpdate, 0, 0, Frame::Number(0)}.bytes(), kProtocolError},
        Case{"ConnectionWindowTooLarge",
             Frame{RawPeer::kWindowUpdate, 0, 0, Frame::Number(0x7fffffff)}.bytes(),
             kFlowControlError},
        Case{"ContinuationAlone",
             Frame{RawPeer::kContinuation, RawPeer::kEndHeaders, 1, ""}.bytes(), kProtocolError}),
    NameOf);

class GoodServerTest : public ChannelFramesTest, public ::testing::WithParamInterface<Case> {};

TEST_P(GoodServerTest, IsUnderstood) {
  StartUnary();
  peer->Send(Settings() + GetParam().bytes);

  EXPECT_EQ("rpc error: code = OK desc = ", EndAfter(""));
  ASSERT_EQ(1U, messages.size());
  EXPECT_EQ("hello", messages[0]);
}

std::string Trailers(HeaderList headers = {}) {
  headers.emplace_back("grpc-status", "0");
  return RawPeer::Headers(1, headers, true).bytes();
}

INSTANTIATE_TEST_SUITE_P(
    All, GoodServerTest,
    ::testing::Values(
        Case{"FrameOfUnknownType", Frame{0xee, 0xff, 0, "what"}.bytes() + Answer("hello")},
        Case{"SettingOfUnknownKind", Setting(0xffff, 1) + Answer("hello")},
        Case{"NoHeaderTable", Setting(1, 0) + Answer("hello")},
        Case{"PingAckWithoutPing", Ping(RawPeer::kAck) + Answer("hello")},
        Case{"PriorityOfNothing",
             Frame{RawPeer::kPriority, 0, 9, Frame::Number(0) + "x"}.bytes() + Answer("hello")},
        Case{"AnswerInTwoFrames", Begin() + Data(Message("hello").substr(0, 3)) +
                                      Data(Message("hello").substr(3)) + Trailers()},
        Case{"EmptyDataBetween",
             Begin() + Data("") + Data(Message("hello")) + Data("") + Trailers()},
        Case{"MetadataOfEveryKind", RawPeer::Headers(1, {{":status", "200"},
                                                         {"content-type", "application/grpc+proto"},
                                                         {"x", "y"},
                                                         {"x-bin", "AAECAw"},
                                                         {"y-bin", "not base64!"},
                                                         {"grpc-no-such-thing", "1"}})
                                            .bytes() +
                                        Data(Message("hello")) +
                                        Trailers({{"x", "z"}, {"z-bin", ""}})}),
    NameOf);

// gRPC's cases: a server that sends GOAWAY, resets a stream at each of three moments, pings, has a
// limit of streams (those two are in channel_frames_test.cc, too), and pads its frames.

TEST_F(ChannelFramesTest, RstAfterHeaderEndsTheCall) {
  StartUnary();

  EXPECT_EQ(
      "rpc error: code = Internal desc = stream terminated by RST_STREAM with error code: NO_ERROR",
      EndAfter(Settings() + Begin() + Reset(kNoError)));
}

TEST_F(ChannelFramesTest, RstDuringDataEndsTheCallWithoutAMessage) {
  StartStream();

  EXPECT_EQ(
      "rpc error: code = Internal desc = stream terminated by RST_STREAM with error code: NO_ERROR",
      EndAfter(Settings() + Begin() + Data(Message("hello").substr(0, 7)) + Reset(kNoError)));
  EXPECT_TRUE(messages.empty());
}

TEST_F(ChannelFramesTest, RstAfterDataEndsTheStreamAfterItsMessage) {
  StartStream();

  EXPECT_EQ(
      "rpc error: code = Internal desc = stream terminated by RST_STREAM with error code: NO_ERROR",
      EndAfter(Settings() + Begin() + Data(Message("hello")) + Reset(kNoError)));
  EXPECT_EQ(std::vector<std::string>{"hello"}, messages);
}

TEST_F(ChannelFramesTest, RstAfterDataFailsAUnaryCall) {
  StartUnary();

  EXPECT_EQ(
      "rpc error: code = Internal desc = stream terminated by RST_STREAM with error code: NO_ERROR",
      EndAfter(Settings() + Begin() + Data(Message("hello")) + Reset(kNoError)));
}

TEST_F(ChannelFramesTest, PingsAreAnsweredBeforeWithinAndAfterACall) {
  StartUnary();
  auto answers = [&] {
    return std::ranges::count_if(peer->frames(), [](const Frame& frame) {
      return frame.type == RawPeer::kPing && frame.flags == RawPeer::kAck &&
             frame.payload == "12345678";
    });
  };

  EXPECT_EQ("rpc error: code = OK desc = ",
            EndAfter(Settings() + Ping() + Begin() + Ping() + Data(Message("x")) + Ping() +
                     Trailers() + Ping()));
  EXPECT_TRUE(Await([&] { return answers() == 4; }));
}

TEST_F(ChannelFramesTest, DataFramePaddingIsTakenOffAndGivenBackToTheWindow) {
  StartUnary();
  peer->Send(Settings() + Begin());
  // Frames that are nearly all padding: 2 MiB in all, twice the window of the stream.
  std::string message = Message(std::string(size_t{8} << 10, 'x'));
  std::string frames;
  for (char c : message)
    frames += Frame{RawPeer::kData, kPadded, 1, "\xff" + std::string(1, c) + std::string(255, '\0')}
                  .bytes();
  while (!frames.empty() && !peer->closed()) {
    frames.erase(0, peer->Send(std::string_view(frames).substr(0, 100000)));
    Turn();
    peer->Read();
  }

  EXPECT_EQ("rpc error: code = OK desc = ", EndAfter(Trailers()));
  ASSERT_EQ(1U, messages.size());
  EXPECT_EQ(size_t{8} << 10, messages[0].size());
}

TEST_F(ChannelFramesTest, ManySettingsAndWindowsInOneBatchAreTakenInOrder) {
  StartUnary(std::string(100, 'x'));
  peer->Send(Setting(4, 0) + Setting(4, 3) + Setting(4, 0) +
             Frame{RawPeer::kWindowUpdate, 0, 1, Frame::Number(7)}.bytes());

  ASSERT_TRUE(Await([&] { return peer->Find(RawPeer::kHeaders, 1) != nullptr; }));
  peer->Send(Setting(4, 200));
  EXPECT_TRUE(Await([&] { return peer->BytesOf(1).size() == 105; }));
}

struct Flood {
  const char* name;
  std::string (*bytes)(uint32_t i);
};

class ServerThatFloodsTest : public ChannelFramesTest,
                             public ::testing::WithParamInterface<Flood> {};

TEST_P(ServerThatFloodsTest, IsGivenUp) {
  StartStream();
  peer->Send(Settings());
  size_t taken = 0;
  std::string pending;
  uint32_t part = 0;
  for (int i = 0; i < 2000 && !peer->closed(); ++i) {
    while (pending.size() < 50000)
      pending += GetParam().bytes(part++);
    size_t took = peer->Send(pending);
    pending.erase(0, took);
    taken += took;
    Turn();
    peer->Skip();
  }

  EXPECT_TRUE(peer->closed());
  EXPECT_LE(taken, size_t{5} << 20);
  EXPECT_TRUE(Await([&] { return !end.empty(); }));
  EXPECT_FALSE(end.starts_with("rpc error: code = OK"));
}

INSTANTIATE_TEST_SUITE_P(
    All, ServerThatFloodsTest,
    ::testing::Values(
        Flood{"Pings", [](uint32_t) { return Ping(); }},
        Flood{"Settings", [](uint32_t) { return Frame{RawPeer::kSettings}.bytes(); }},
        Flood{"WindowUpdates",
              [](uint32_t) {
                return Frame{RawPeer::kWindowUpdate, 0, 0, Frame::Number(1)}.bytes();
              }},
        Flood{"InterimResponses",
              [](uint32_t) {
                return RawPeer::Headers(1, {{":status", "103"}}).bytes();
              }},
        Flood{"Continuations",
              [](uint32_t i) {
                return i == 0
                           ? Frame{RawPeer::kHeaders, 0, 1, ""}.bytes()
                           : Frame{RawPeer::kContinuation, 0, 1, HeaderBlock({{"a", "b"}})}.bytes();
              }},
        Flood{"EmptyData", [](uint32_t i) { return i == 0 ? Begin() : Data(""); }},
        Flood{"UnknownFrames",
              [](uint32_t) {
                return Frame{0xee, 0, 0, "x"}.bytes();
              }}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace tenon::rpc
