#include "wire/reader.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace tenon::wire {
namespace {

constexpr size_t kMaxTagBytes = 5;
constexpr size_t kMaxLengthBytes = 5;
constexpr size_t kMaxVarintBytes = 10;

}  // namespace

bool Reader::Next() {
  return !error_ && !rest_.empty() && TakeTag() && TakeValue();
}

bool Reader::TakeTag() {
  number_ = 0;
  uint64_t tag = 0;
  if (!TakeVarint(kMaxTagBytes, tag)) return false;
  // A tag has 32 bits; what a fifth byte carries above them is dropped.
  auto tag32 = static_cast<uint32_t>(tag);
  number_ = tag32 >> 3;
  type_ = static_cast<WireType>(tag32 & 7);
  return number_ != 0 || Fail("field number 0");
}

bool Reader::TakeValue() {
  switch (type_) {
    case kVarint:
      return TakeVarint(kMaxVarintBytes, varint_);
    case kFixed64:
      return SkipFixed(8);
    case kBytes:
      return TakeBytes();
    case kGroup:
      return SkipGroup();
    case kEndGroup:
      return Fail("end of a group that did not start");
    case kFixed32:
      return SkipFixed(4);
  }
  return Fail("unknown wire type");
}

bool Reader::TakeBytes() {
  uint64_t length = 0;
  if (!TakeVarint(kMaxLengthBytes, length)) return false;
  if (length > rest_.size())
    return Fail(fmt::format("{} bytes announced, {} left", length, rest_.size()));
  bytes_ = rest_.substr(0, length);
  rest_.remove_prefix(length);
  return true;
}

bool Reader::TakeVarint(size_t max_bytes, uint64_t& value) {
  value = 0;
  for (size_t i = 0; i < max_bytes; ++i) {
    if (i == rest_.size()) return Fail("cut off within a number");
    auto byte = static_cast<unsigned char>(rest_[i]);
    value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte >= 0x80) continue;
    rest_.remove_prefix(i + 1);
    return true;
  }
  return Fail("number too long");
}

bool Reader::SkipFixed(size_t size) {
  if (rest_.size() < size) return Fail("cut off within a number");
  rest_.remove_prefix(size);
  return true;
}

bool Reader::SkipGroup() {
  const uint32_t group = number_;
  if (depth_left_-- == 0) return Fail("nested too deep");
  while (!rest_.empty()) {
    if (!TakeTag()) return false;
    if (type_ == kEndGroup) {
      ++depth_left_;
      type_ = kGroup;
      return number_ == group || Fail("end of another group");
    }
    if (!TakeValue()) return false;
  }
  return Fail("cut off within a group");
}

bool Reader::EnterNested(Reader& nested) {
  if (depth_left_ == 0) return Fail("nested too deep");
  nested.start_ = start_;
  nested.depth_left_ = depth_left_ - 1;
  return true;
}

bool Reader::Fail(std::string_view why) {
  error_.emplace(Code::kInvalidArgument, fmt::format("{}, field {}: {} at byte {}", message_,
                                                     number_, why, rest_.data() - start_));
  return false;
}

void Reader::ReadText(std::string_view field, std::string& out) {
  if (type_ != kBytes) return;
  if (base::IsValidUtf8(bytes_)) {
    out.assign(bytes_);
    return;
  }
  error_.emplace(Code::kInvalidArgument, fmt::format("{}.{}: text is not valid UTF-8 at byte {}",
                                                     message_, field, bytes_.data() - start_));
}

void Reader::AppendText(std::string_view field, std::vector<std::string>& out) {
  if (type_ == kBytes) ReadText(field, out.emplace_back());
}

void Reader::ReadBool(bool& out) const {
  if (type_ == kVarint) out = varint_ != 0;
}

void Reader::ReadInt32(int32_t& out) const {
  if (type_ == kVarint) out = static_cast<int32_t>(static_cast<uint32_t>(varint_));
}

void Reader::ReadInt64(int64_t& out) const {
  if (type_ == kVarint) out = static_cast<int64_t>(varint_);
}

std::optional<std::string_view> Reader::Bytes() const {
  if (type_ != kBytes) return std::nullopt;
  return bytes_;
}

}  // namespace tenon::wire
