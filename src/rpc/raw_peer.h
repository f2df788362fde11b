#pragma once

#include <nghttp2/nghttp2.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "rpc/message_reader.h"

namespace tenon::rpc {

/// One HTTP/2 frame. Source: RFC 9113 §4.1.
struct Frame {
  uint8_t type = 0;
  uint8_t flags = 0;
  uint32_t stream = 0;
  std::string payload;

  std::string bytes() const {
    size_t size = payload.size();
    std::string out{static_cast<char>(size >> 16U), static_cast<char>(size >> 8U),
                    static_cast<char>(size), static_cast<char>(type), static_cast<char>(flags)};
    return out.append(Number(stream)).append(payload);
  }
  /// Four bytes, big endian.
  static std::string Number(uint32_t value) {
    return {static_cast<char>(value >> 24U), static_cast<char>(value >> 16U),
            static_cast<char>(value >> 8U), static_cast<char>(value)};
  }
  static uint32_t Number(std::string_view bytes) {
    uint32_t value = 0;
    for (char c : bytes.substr(0, 4))
      value = value << 8U | static_cast<unsigned char>(c);
    return value;
  }
};

using HeaderList = std::vector<std::pair<std::string, std::string>>;

/// HPACK without its arts: each header as a literal, nothing compressed. Source: RFC 7541 §6.2.2.
inline std::string HeaderBlock(const HeaderList& headers) {
  auto text = [](const std::string& s) {
    std::string out;
    if (s.size() < 127) {
      out.push_back(static_cast<char>(s.size()));
      return out + s;
    }
    out.push_back(127);
    size_t rest = s.size() - 127;
    for (; rest >= 128; rest /= 128)
      out.push_back(static_cast<char>(rest % 128 + 128));
    out.push_back(static_cast<char>(rest));
    return out + s;
  };
  std::string block;
  for (const auto& [name, value] : headers)
    block.append(std::string(1, '\0')).append(text(name)).append(text(value));
  return block;
}

inline std::string Message(std::string_view body, char flag = 0) {
  auto prefix = MessagePrefix(body.size());
  prefix[0] = flag;
  return std::string(prefix.data(), prefix.size()).append(body);
}

/// The other end of a connection, for tests: writes what it is told, frame by frame, and keeps
/// the frames that it gets.
class RawPeer final {
 public:
  static constexpr uint8_t kData = 0, kHeaders = 1, kPriority = 2, kReset = 3, kSettings = 4,
                           kPing = 6, kGoAway = 7, kWindowUpdate = 8, kContinuation = 9;
  static constexpr uint8_t kEndStream = 1, kAck = 1, kEndHeaders = 4;

  explicit RawPeer(base::UniqueFd socket) : socket_(std::move(socket)) {
    nghttp2_hd_inflate_new(&inflater_);
  }
  RawPeer(const RawPeer&) = delete;
  RawPeer& operator=(const RawPeer&) = delete;
  ~RawPeer() { nghttp2_hd_inflate_del(inflater_); }

  static std::string Preface() {
    return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Frame{kSettings}.bytes();
  }
  static HeaderList Request(std::string path) {
    return {{":method", "POST"},
            {":scheme", "http"},
            {":path", std::move(path)},
            {":authority", "localhost"},
            {"content-type", "application/grpc"},
            {"te", "trailers"}};
  }
  static Frame Headers(uint32_t stream, const HeaderList& headers, bool end = false) {
    return {kHeaders, static_cast<uint8_t>(kEndHeaders | (end ? kEndStream : 0)), stream,
            HeaderBlock(headers)};
  }
  static Frame DataFrame(uint32_t stream, std::string bytes, bool end) {
    return {kData, end ? kEndStream : uint8_t{0}, stream, std::move(bytes)};
  }
  /// A whole unary request.
  static std::string Call(uint32_t stream, std::string path, std::string_view body) {
    return Headers(stream, Request(std::move(path))).bytes() +
           DataFrame(stream, Message(body), true).bytes();
  }

  /// Returns: how many bytes the socket took.
  size_t Send(std::string_view bytes) {
    ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent > 0 ? static_cast<size_t>(sent) : 0;
  }
  void Send(const Frame& frame) { Send(frame.bytes()); }

  /// Takes in what has come.
  void Read() {
    std::string chunk(1 << 16, '\0');
    for (;;) {
      ssize_t got = ::recv(socket_.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
      if (got == 0 || (got < 0 && errno != EAGAIN)) closed_ = true;
      if (got <= 0) break;
      received_.append(chunk, 0, static_cast<size_t>(got));
    }
    while (TakeFrame()) {
    }
  }
  /// Takes what has come and keeps none of it.
  void Skip() {
    std::array<char, 1 << 14> chunk;
    ssize_t got = 0;
    do {
      got = ::recv(socket_.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
    } while (got > 0);
    if (got == 0 || errno != EAGAIN) closed_ = true;
  }
  void Close() { socket_.Reset(); }

  bool closed() const { return closed_; }
  const std::vector<Frame>& frames() const { return frames_; }
  /// All headers and trailers of a stream so far.
  std::map<std::string, std::string> HeadersOf(uint32_t stream) { return headers_[stream]; }
  const Frame* Find(uint8_t type, uint32_t stream = 0) const {
    for (const Frame& frame : frames_)
      if (frame.type == type && frame.stream == stream) return &frame;
    return nullptr;
  }
  std::string BytesOf(uint32_t stream) const {
    std::string bytes;
    for (const Frame& frame : frames_)
      if (frame.type == kData && frame.stream == stream) bytes += frame.payload;
    return bytes;
  }

 private:
  bool TakeFrame() {
    constexpr size_t kHeadSize = 9;
    if (received_.starts_with("PRI")) received_.erase(0, 24);
    if (received_.size() < kHeadSize) return false;
    size_t size = Frame::Number(std::string(1, '\0') + received_.substr(0, 3));
    if (received_.size() < kHeadSize + size) return false;
    frames_.push_back({static_cast<uint8_t>(received_[3]), static_cast<uint8_t>(received_[4]),
                       Frame::Number(std::string_view(received_).substr(5)),
                       received_.substr(kHeadSize, size)});
    received_.erase(0, kHeadSize + size);
    if (frames_.back().type == kHeaders) Inflate(frames_.back());
    return true;
  }
  void Inflate(const Frame& frame) {
    auto* in = reinterpret_cast<const uint8_t*>(frame.payload.data());
    size_t left = frame.payload.size();
    for (int flags = 0; (flags & NGHTTP2_HD_INFLATE_FINAL) == 0;) {
      nghttp2_nv header;
      ssize_t used = nghttp2_hd_inflate_hd2(inflater_, &header, &flags, in, left, 1);
      if (used < 0) return;
      in += used;
      left -= static_cast<size_t>(used);
      if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0)
        headers_[frame.stream][std::string(reinterpret_cast<char*>(header.name), header.namelen)] =
            std::string(reinterpret_cast<char*>(header.value), header.valuelen);
    }
    nghttp2_hd_inflate_end_headers(inflater_);
  }

  base::UniqueFd socket_;
  nghttp2_hd_inflater* inflater_ = nullptr;
  std::string received_;
  bool closed_ = false;
  std::vector<Frame> frames_;
  std::map<uint32_t, std::map<std::string, std::string>> headers_;
};

}  // namespace tenon::rpc
