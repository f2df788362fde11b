#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"
#include "rpc/message_reader.h"
#include "rpc/output_queue.h"
#include "rpc/status.h"

namespace tenon::rpc {

class Http2Session;

/// HTTP/2 error codes that we send or look for. Source: RFC 9113 §7.
enum Http2Error : uint32_t {
  kNoError = 0,
  kProtocolError = 1,
  kInternalError = 2,
  kRefusedStream = 7,
  kCancel = 8,
  kEnhanceYourCalm = 11,
};

/// One HTTP/2 stream: what arrives on it, and what is being sent. Owned by the session.
/// The On… functions run in the midst of the session's work: they may send and reset, but must
/// not run code of others.
class Http2Stream {
 public:
  Http2Stream() = default;
  Http2Stream(const Http2Stream&) = delete;
  Http2Stream& operator=(const Http2Stream&) = delete;
  virtual ~Http2Stream() = default;

  int32_t id() const { return id_; }
  bool headers_sent() const { return headers_sent_; }
  bool peer_ended() const { return peer_ended_; }
  /// Whether a message is on its way into the output.
  bool sending() const { return body_ != nullptr; }

 protected:
  virtual void OnHeader(std::string_view name, std::string_view value) = 0;
  /// A block of headers is complete; `last` if it ends what the peer sends.
  virtual void OnHeadersEnd(bool last) = 0;
  virtual void OnBytes(std::string_view bytes) = 0;
  /// The peer sends no more.
  virtual void OnEnd() = 0;
  /// All of the message has been handed to the socket.
  virtual void OnMessageWritten() {}
  /// The stream is over and is destroyed next.
  virtual void OnClosed(uint32_t error) = 0;

 private:
  friend class Http2Session;
  int32_t id_ = 0;
  bool headers_sent_ = false;
  bool peer_ended_ = false;
  size_t header_bytes_ = 0;
  std::array<char, kMessagePrefixSize> prefix_{};
  std::shared_ptr<const std::string> body_;  ///< Null: no message is being sent.
  size_t body_sent_ = 0;                     ///< The prefix counts.
  std::optional<Status> trailers_;           ///< To be sent after the message.
};

/// gRPC's use of HTTP/2 on one connection, by nghttp2: bytes in, bytes out, no descriptor.
/// It defends itself: floods of frames that carry nothing, of resets and of headers end it.
class Http2Session final {
 public:
  enum class Side { kServer, kClient };
  struct Options {
    Side side = Side::kServer;
    int max_streams = 128;  ///< That the peer may have open (kServer).
  };
  /// Runs in the midst of the session's work; see Http2Stream.
  class Events {
   public:
    Events() = default;
    Events(const Events&) = delete;
    Events& operator=(const Events&) = delete;
    virtual ~Events() = default;
    /// The peer opens a stream (kServer only). Returns: what will take care of it.
    virtual std::unique_ptr<Http2Stream> OnRequest() = 0;
    /// The peer has spoken HTTP/2.
    virtual void OnPeerReady() = 0;
  };

  Http2Session(const Options& options, Events& events);
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;
  ~Http2Session();

  /// Takes bytes from the peer. Returns: why the session cannot go on, else nullopt.
  std::optional<std::string> Feed(std::string_view bytes);
  /// Forgets how much has come that carried nothing. To be called now and then, so that a
  /// connection that is quiet for weeks is not ended by its peer's keep-alive.
  void ForgetIdleness() {
    idle_frames_ = 0;
    idle_bytes_ = 0;
  }
  /// Appends what is to be sent to `output` until that holds `limit` bytes.
  /// Returns: as Feed().
  std::optional<std::string> Produce(OutputQueue& output, size_t limit);
  /// Whether nothing more can come or go.
  bool finished() const;
  /// What the peer said with GOAWAY, as grpc-go words it; nullopt while it takes streams.
  const std::optional<std::string>& peer_goaway() const { return peer_goaway_; }
  /// What last displeased nghttp2 about the peer; empty if nothing did.
  const std::string& complaint() const { return complaint_; }

  /// Opens a stream and sends the one message of a request. A zero timeout sends none.
  /// Returns: null when no stream can be opened any more.
  Http2Stream* StartRequest(std::unique_ptr<Http2Stream> stream, std::string_view path,
                            base::Duration timeout, std::string body);
  /// Sends a message (and before the first, the headers). Requires: !stream.sending().
  void SendMessage(Http2Stream& stream, std::shared_ptr<const std::string> body);
  /// Ends the stream after the message in progress. Without headers sent the answer is one
  /// frame, with `http_status`.
  void SendTrailers(Http2Stream& stream, Status status, std::string_view http_status = "200");
  void Reset(Http2Stream& stream, uint32_t error);
  /// Takes no more streams from the peer and says so.
  void GoAway(uint32_t error);
  /// Says that the end is near. Streams that cross the message are still taken: once GoAway() is
  /// said nghttp2 forgets them at once, and then takes their end for an error of the peer's, which
  /// ends the connection with all that is open on it.
  void AnnounceGoAway();

  void NotifyWritten(int32_t stream);
  size_t stream_count() const { return streams_.size(); }
  /// Calls `visit` for each stream; it may end streams but not run others' code.
  template <class Visit>
  void ForEachStream(Visit visit) {
    for (auto& [id, stream] : streams_)
      visit(*stream);
  }

 private:
  struct Engine;  ///< nghttp2 and its callbacks.

  const Options options_;
  Events& events_;
  std::unordered_map<int32_t, std::unique_ptr<Http2Stream>> streams_;
  std::unique_ptr<Engine> engine_;
  OutputQueue* output_ = nullptr;  ///< While Produce() runs.
  size_t output_limit_ = 0;
  size_t idle_frames_ = 0;  ///< Frames that carried nothing since one that did.
  size_t idle_bytes_ = 0;   ///< All bytes since then; nghttp2 does not tell of unknown frames.
  std::optional<std::string> peer_goaway_;
  std::string complaint_;
};

}  // namespace tenon::rpc
