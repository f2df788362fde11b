// Clients that attack: what they can make the server hold and do is bounded, and the other
// connections are served meanwhile.

#include <gtest/gtest.h>
#include <malloc.h>

#include <optional>

#include "rpc/http2_session.h"
#include "rpc/server_frames_for_test.h"

namespace tenon::rpc {
namespace {

/// What this thread's heap holds now. A sanitizer's heap is another one and looks empty here.
size_t HeapBytes() {
  struct mallinfo2 heap = ::mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

std::string Ping() {
  return Frame{RawPeer::kPing, 0, 0, "12345678"}.bytes();
}
std::string Reset(uint32_t stream) {
  return Frame{RawPeer::kReset, 0, stream, Frame::Number(kCancel)}.bytes();
}
std::string Open(uint32_t stream) {
  return RawPeer::Headers(stream, RawPeer::Request(kEcho)).bytes();
}
std::string Data(uint32_t stream, const std::string& bytes) {
  return RawPeer::DataFrame(stream, bytes, false).bytes();
}
/// A header of almost 4 KiB that goes into the table of the decoder, and then many of one byte
/// that each mean the same again.
std::string HeaderBomb(uint32_t stream) {
  std::string value(3900, 'v');
  std::string block = HeaderBlock(RawPeer::Request(kEcho));
  block += std::string("\x40\1x\x7f\xbd\x1d", 6) + value + std::string(12000, '\xbe');
  return Frame{RawPeer::kHeaders, RawPeer::kEndHeaders, stream, block}.bytes();
}
std::string LongHeaders(uint32_t stream) {
  HeaderList headers = RawPeer::Request(kEcho);
  headers.emplace_back("x", std::string(16000, 'v'));
  return RawPeer::Headers(stream, headers).bytes();
}

enum class End { kCutOff, kMayGoOn };

struct Flood {
  const char* name;
  std::string (*bytes)(uint32_t i);  ///< The i-th part; parts with odd streams use 2 * i + 1.
  End end;
  /// How much the server takes in before it ends the connection, the socket's buffer included:
  /// this bounds its work.
  size_t most_taken;
  bool reads = true;  ///< Whether the client reads the answers.
};

class FloodTest : public ServerFramesTest, public ::testing::WithParamInterface<Flood> {
 protected:
  static constexpr size_t kMaxHeap = size_t{2} << 20;
  static constexpr size_t kMostSent = size_t{32} << 20;

  /// One more call on the bystander's connection.
  bool BystanderIsServed() {
    next_call_ += 2;
    bystander_->Send(RawPeer::Call(next_call_, kEcho, "x"));
    return Await(*bystander_,
                 [&] { return bystander_->HeadersOf(next_call_)["grpc-status"] == "0"; });
  }
  void Send(const Flood& flood) {
    std::string pending;
    pending.reserve(1 << 18);
    size_t heap_before = HeapBytes();
    uint32_t part = 0;
    for (int idle = 0; taken_ < kMostSent && !peer->closed() && idle < 200;) {
      while (pending.size() < 60000)
        pending += flood.bytes(part++);
      size_t took = peer->Send(pending);
      pending.erase(0, took);
      taken_ += took;
      idle = took > 0 ? 0 : idle + 1;
      if (heap_before < HeapBytes()) most_heap_ = std::max(most_heap_, HeapBytes() - heap_before);
      Turn();
      if (flood.reads || idle > 10) peer->Skip();
    }
  }

  std::unique_ptr<RawPeer> bystander_;
  uint32_t next_call_ = 3;
  size_t taken_ = 0;
  size_t most_heap_ = 0;
};

TEST_P(FloodTest, IsBoundedAndNobodyElseSuffers) {
  bystander_ = Connect();
  bystander_->Send(RawPeer::Preface() + RawPeer::Call(1, kWatch, "") + RawPeer::Call(3, kHold, ""));
  ASSERT_TRUE(Await(*bystander_, [&] { return stream != nullptr && held.size() == 1; }));
  std::unique_ptr<UnaryCall> bystanders_call = std::move(held[0]);
  held.clear();
  ASSERT_TRUE(BystanderIsServed());
  peer = Connect();
  peer->Send(RawPeer::Preface());
  Turn();

  Send(GetParam());

  EXPECT_LE(most_heap_, kMaxHeap);
  EXPECT_LE(taken_, GetParam().most_taken);
  EXPECT_TRUE(BystanderIsServed());
  EXPECT_TRUE(GetParam().end == End::kMayGoOn || IsCutOff());
  EXPECT_TRUE(OthersAreServed());
  EXPECT_TRUE(BystanderIsServed());
  stream->Write(std::make_shared<const std::string>("list"), [] {});
  bystanders_call->Reply("late");
  EXPECT_TRUE(Await(*bystander_, [&] {
    return bystander_->BytesOf(1) == Message("list") && bystander_->BytesOf(3) == Message("late");
  }));
}

constexpr size_t kKiB = 1024;

INSTANTIATE_TEST_SUITE_P(
    All, FloodTest,
    ::testing::Values(
        Flood{"Pings", [](uint32_t) { return Ping(); }, End::kCutOff, 512 * kKiB},
        Flood{"PingsWhoseAnswersNobodyReads", [](uint32_t) { return Ping(); }, End::kCutOff,
              512 * kKiB, false},
        Flood{"PingAnswers",
              [](uint32_t) {
                return Frame{RawPeer::kPing, RawPeer::kAck, 0, "12345678"}.bytes();
              },
              End::kCutOff, 512 * kKiB},
        Flood{"Settings", [](uint32_t) { return Frame{RawPeer::kSettings}.bytes(); }, End::kCutOff,
              512 * kKiB},
        Flood{"SettingsWhoseAnswersNobodyReads",
              [](uint32_t) { return Frame{RawPeer::kSettings}.bytes(); }, End::kCutOff, 512 * kKiB,
              false},
        Flood{"LongSettings",
              [](uint32_t) {
                std::string settings;
                for (int i = 0; i < 2000; ++i)
                  settings += std::string("\0\4", 2) + Frame::Number(65535);
                return Frame{RawPeer::kSettings, 0, 0, settings}.bytes();
              },
              End::kCutOff, 5120 * kKiB},
        Flood{"UnknownFrames",
              [](uint32_t) {
                return Frame{0xee, 0, 0, std::string(100, 'x')}.bytes();
              },
              End::kCutOff, 5120 * kKiB},
        Flood{"WindowUpdates",
              [](uint32_t i) {
                return Frame{RawPeer::kWindowUpdate, 0, 0, Frame::Number(1 + i % 2)}.bytes();
              },
              End::kCutOff, 512 * kKiB},
        Flood{"Priorities",
              [](uint32_t i) {
                return Frame{RawPeer::kPriority, 0, 2 * i + 1, Frame::Number(0) + "x"}.bytes();
              },
              End::kCutOff, 512 * kKiB},
        Flood{"RapidResets",
              [](uint32_t i) { return RawPeer::Call(2 * i + 1, kHold, "x") + Reset(2 * i + 1); },
              End::kCutOff, 512 * kKiB},
        Flood{"ResetsOfOneStream",
              [](uint32_t i) { return i == 0 ? Open(1) + Reset(1) : Reset(1); }, End::kCutOff,
              512 * kKiB},
        Flood{"RequestsThatTheServerMustReset",
              [](uint32_t i) {
                return RawPeer::Headers(2 * i + 1, {{":x", "y"}}, true).bytes();
              },
              End::kCutOff, 512 * kKiB},
        Flood{"StreamsBeyondTheLimit",
              [](uint32_t i) { return RawPeer::Call(2 * i + 1, kHold, ""); }, End::kCutOff,
              512 * kKiB},
        Flood{"OpenRequests", [](uint32_t i) { return Open(2 * i + 1); }, End::kCutOff, 512 * kKiB},
        Flood{"Continuations",
              [](uint32_t i) {
                return i == 0
                           ? Frame{RawPeer::kHeaders, 0, 1, ""}.bytes()
                           : Frame{RawPeer::kContinuation, 0, 1, HeaderBlock({{"a", "b"}})}.bytes();
              },
              End::kCutOff, 512 * kKiB},
        Flood{"EmptyContinuations",
              [](uint32_t i) {
                return i == 0 ? Frame{RawPeer::kHeaders, 0, 1, ""}.bytes()
                              : Frame{RawPeer::kContinuation, 0, 1, ""}.bytes();
              },
              End::kCutOff, 512 * kKiB},
        Flood{"HeadersThatUnfold", [](uint32_t i) { return HeaderBomb(2 * i + 1); }, End::kCutOff,
              512 * kKiB},
        Flood{"LongHeaders", [](uint32_t i) { return LongHeaders(2 * i + 1); }, End::kCutOff,
              5120 * kKiB},
        Flood{"EmptyData", [](uint32_t i) { return i == 0 ? Open(1) : Data(1, ""); }, End::kCutOff,
              512 * kKiB},
        Flood{"DataOfARefusedCall",
              [](uint32_t i) {
                return i == 0 ? RawPeer::Headers(1, RawPeer::Request("/no/Method")).bytes()
                              : Data(1, std::string(16000, 'x'));
              },
              End::kMayGoOn, size_t{33} << 20},
        Flood{"OneMessageWithoutEnd",
              [](uint32_t i) {
                return i == 0 ? Open(1) + Data(1, std::string("\0\xff\xff\xff\xff", 5))
                              : Data(1, std::string(16000, 'x'));
              },
              End::kMayGoOn, size_t{33} << 20},
        Flood{"CallsWhoseAnswersNobodyReads",
              [](uint32_t i) { return RawPeer::Call(2 * i + 1, kEcho, std::string(1000, 'x')); },
              End::kMayGoOn, size_t{33} << 20, false}),
    [](const auto& test) { return std::string(test.param.name); });

TEST_F(ServerFramesTest, AFloodOfRapidResetsRunsNothing) {
  peer = Connect();
  peer->Send(RawPeer::Preface());
  for (uint32_t id = 1; id < 2000 && !peer->closed(); id += 2) {
    peer->Send(RawPeer::Call(id, kHold, "x") + Reset(id));
    if (id % 100 == 1) Turn();
    peer->Skip();
  }

  EXPECT_TRUE(IsCutOff());
  EXPECT_TRUE(held.empty());
}

TEST_F(ServerFramesTest, AnOpenStreamMakesTheServerKeepOneMessageAtMost) {
  peer = Connect();
  peer->Send(RawPeer::Preface() + RawPeer::Call(1, kWatch, ""));
  ASSERT_TRUE(Await([&] { return stream != nullptr; }));
  auto body = std::make_shared<const std::string>(1 << 20, 'x');
  int written = 0;

  stream->Write(body, [&] { ++written; });
  for (int i = 0; i < 50; ++i)
    Turn();

  // The client does not read: the message stays where it was, and is not copied.
  EXPECT_EQ(0, written);
  EXPECT_LE(body.use_count(), 5);
}

TEST_F(ServerFramesTest, RequestsInTheMakingShareOneLimit) {
  Serve({.max_request_bytes = size_t{1} << 30});
  std::vector<std::unique_ptr<RawPeer>> peers;
  std::string chunk(16384, 'x');
  bool refused = false;
  for (int i = 0; i < 20 && !refused; ++i) {
    peers.push_back(Connect());
    RawPeer& one = *peers.back();
    std::string head = Message("").substr(0, 1) + Frame::Number(1U << 29U);
    // The acknowledgement makes the large windows valid.
    std::string pending = RawPeer::Preface() + Frame{RawPeer::kSettings, RawPeer::kAck}.bytes() +
                          RawPeer::Headers(1, RawPeer::Request(kEcho)).bytes() +
                          RawPeer::DataFrame(1, head, false).bytes();
    for (int sent = 0; sent < 400 && !refused;) {
      for (; pending.size() < 100000 && sent < 400; ++sent)
        pending += RawPeer::DataFrame(1, chunk, false).bytes();
      pending.erase(0, one.Send(pending));
      Turn();
      one.Read();
      refused = one.HeadersOf(1)["grpc-status"] == "8";
    }
  }

  EXPECT_TRUE(refused);
  peers.clear();
  EXPECT_TRUE(OthersAreServed());
}

TEST_F(ServerTimeTest, PingsNowAndThenAreNoFlood) {
  peer->Send(RawPeer::Preface() + RawPeer::Call(1, kWatch, ""));
  std::string pings;
  for (int i = 0; i < 900; ++i)
    pings += Ping();
  for (int i = 0; i < 5; ++i) {
    peer->Send(pings);
    Pass(std::chrono::seconds(11));
  }
  EXPECT_FALSE(peer->closed());

  peer->Send(pings + pings);
  Settle();

  EXPECT_TRUE(peer->closed());
}

/// The slowest that each kind of request can come.
TEST_F(ServerTimeTest, SlowRequestsAreGivenUpWhateverTheyWaitFor) {
  std::vector<std::unique_ptr<RawPeer>> peers;
  std::string block = HeaderBlock(RawPeer::Request(kEcho));
  const std::vector<std::string> beginnings = {
      Frame{RawPeer::kHeaders, 0, 1, block}.bytes(),  // A block that does not end.
      Frame{RawPeer::kHeaders, 0, 1, block}.bytes() + Frame{RawPeer::kContinuation, 0, 1}.bytes(),
      Open(1),                                    // No message.
      Open(1) + Data(1, std::string("\0\0", 2)),  // Half a prefix.
      Open(1) + Data(1, Message("x")),            // A whole message, but no end.
  };
  for (const std::string& beginning : beginnings) {
    peers.push_back(Connect());
    peers.back()->Send(RawPeer::Preface() + beginning);
  }
  Settle();

  Pass(std::chrono::seconds(31));
  Pass(std::chrono::seconds(31));

  for (size_t i = 0; i < peers.size(); ++i) {
    peers[i]->Read();
    EXPECT_TRUE(peers[i]->closed() || peers[i]->HeadersOf(1)["grpc-status"] == "4") << i;
  }
}

}  // namespace
}  // namespace tenon::rpc
