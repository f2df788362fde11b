#include "rpc/message_reader.h"

#include <algorithm>
#include <cstdint>

#include "base/check.h"
#include "base/strings.h"

namespace tenon::rpc {
namespace {

constexpr size_t kFirstReserve = size_t{64} << 10;

}  // namespace

std::array<char, kMessagePrefixSize> MessagePrefix(size_t length) {
  TENON_CHECK(length <= UINT32_MAX);
  return {0, static_cast<char>(length >> 24U), static_cast<char>(length >> 16U),
          static_cast<char>(length >> 8U), static_cast<char>(length)};
}

Status MessageReader::Add(std::string_view bytes, std::vector<std::string>& messages) {
  while (!bytes.empty()) {
    if (prefix_size_ < prefix_.size()) {
      prefix_[prefix_size_++] = bytes[0];
      bytes.remove_prefix(1);
      if (prefix_size_ < prefix_.size()) continue;
      if (Status status = CheckPrefix(); !status.ok()) return status;
    }
    size_t take = std::min(bytes.size(), length_ - message_.size());
    message_.append(bytes.substr(0, take));
    bytes.remove_prefix(take);
    if (message_.size() < length_) break;
    messages.push_back(std::move(message_));
    message_.clear();
    prefix_size_ = 0;
  }
  return {};
}

Status MessageReader::CheckPrefix() {
  length_ = 0;
  for (size_t i = 1; i < prefix_.size(); ++i)
    length_ = length_ << 8U | static_cast<unsigned char>(prefix_[i]);
  if (auto flag = static_cast<unsigned char>(prefix_[0]); flag > 1)
    return {StatusCode::kInternal,
            "grpc: received unexpected payload format " + std::to_string(flag)};
  if (prefix_[0] == 1) {
    if (encoding_.empty() || encoding_ == "identity")
      return {StatusCode::kInternal, "grpc: compressed flag set with identity or empty encoding"};
    return {StatusCode::kUnimplemented, "grpc: Decompressor is not installed for grpc-encoding \"" +
                                            base::EscapeForLine(encoding_) + "\""};
  }
  if (length_ > max_bytes_)
    return {StatusCode::kResourceExhausted, "grpc: received message larger than max (" +
                                                std::to_string(length_) + " vs. " +
                                                std::to_string(max_bytes_) + ")"};
  message_.reserve(std::min(length_, kFirstReserve));
  return {};
}

}  // namespace tenon::rpc
