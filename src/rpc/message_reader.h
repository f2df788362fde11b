#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/status.h"

namespace tenon::rpc {

/// gRPC puts five bytes before each message: a compression flag and the length, big endian.
constexpr size_t kMessagePrefixSize = 5;

/// The prefix of an uncompressed message. Requires: length < 4 GiB.
std::array<char, kMessagePrefixSize> MessagePrefix(size_t length);

/// Cuts the DATA of one stream into messages, however the bytes are dealt out.
/// A message's memory grows with the bytes that have come, never with the length they promise.
class MessageReader final {
 public:
  explicit MessageReader(size_t max_message_bytes) : max_bytes_(max_message_bytes) {}

  /// What the peer said in grpc-encoding; only for the text of the refusal.
  void set_encoding(std::string encoding) { encoding_ = std::move(encoding); }

  /// Takes the next bytes and appends the messages that they complete to `messages`.
  /// Errors, worded as grpc-go's: a message that is larger than the limit or compressed, a
  /// malformed prefix. After an error no more bytes may be added.
  Status Add(std::string_view bytes, std::vector<std::string>& messages);

  /// Whether the bytes so far end within a message.
  bool mid_message() const { return prefix_size_ > 0; }

 private:
  Status CheckPrefix();

  const size_t max_bytes_;
  std::string encoding_;
  std::array<char, kMessagePrefixSize> prefix_{};
  size_t prefix_size_ = 0;
  size_t length_ = 0;
  std::string message_;
};

}  // namespace tenon::rpc
