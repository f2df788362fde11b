#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tenon::wire {

/// Walks the fields of one encoded message.
///
/// It accepts exactly what libprotobuf accepts: unknown fields and groups are skipped, a known
/// field of another wire type is an unknown field, a submessage that occurs twice is merged. That
/// is why it is not protozero's reader, which refuses groups and the field numbers from 19000 to
/// 19999, takes a bool from its first byte, and cuts a length of 2^32+1 down to 1.
/// The first fault is kept and ends the walk; what was read until then means nothing.
class Reader final {
 public:
  /// `message` names the message in errors; it and `bytes` must outlive the reader.
  Reader(std::string_view bytes, std::string_view message)
      : message_(message), start_(bytes.data()), rest_(bytes) {}

  /// Steps to the next field. Returns: false at the end or after a fault.
  bool Next();
  uint32_t number() const { return number_; }

  /// Each of these reads the present field, unless it has another wire type. `field` names it in
  /// errors. Text must be UTF-8.
  void ReadText(std::string_view field, std::string& out);
  void AppendText(std::string_view field, std::vector<std::string>& out);
  void ReadBool(bool& out) const;
  void ReadInt32(int32_t& out) const;
  void ReadInt64(int64_t& out) const;
  /// The bytes of a submessage as they stand, unchecked; nullopt for another wire type.
  std::optional<std::string_view> Bytes() const;

  /// Gives a reader of the submessage to `read`; with another wire type it is not called.
  template <class Read>
  void ReadMessage(std::string_view message, Read read) {
    if (type_ != kBytes) return;
    Reader nested(bytes_, message);
    if (!EnterNested(nested)) return;
    read(nested);
    if (nested.error_) error_ = std::move(nested.error_);
  }

  const std::optional<Error>& error() const { return error_; }

 private:
  enum WireType : uint8_t { kVarint, kFixed64, kBytes, kGroup, kEndGroup, kFixed32 };

  /// libprotobuf's default limit for messages and groups within each other.
  static constexpr int kMaxDepth = 100;

  bool EnterNested(Reader& nested);
  /// Each of these takes something off rest_, or fails.
  bool TakeTag();
  bool TakeValue();
  bool TakeBytes();
  bool TakeVarint(size_t max_bytes, uint64_t& value);
  bool SkipFixed(size_t size);
  bool SkipGroup();
  bool Fail(std::string_view why);

  std::string_view message_;
  const char* start_;  ///< Of the outermost message, for the place in errors.
  std::string_view rest_;
  int depth_left_ = kMaxDepth;
  uint32_t number_ = 0;
  WireType type_ = kVarint;
  uint64_t varint_ = 0;
  std::string_view bytes_;
  std::optional<Error> error_;
};

/// Decodes a whole message with `read`, which walks the fields.
template <class T>
Result<T> Decode(std::string_view bytes, std::string_view message, void (*read)(Reader&, T&)) {
  T value{};
  Reader reader(bytes, message);
  read(reader, value);
  if (reader.error()) return *reader.error();
  return value;
}

}  // namespace tenon::wire
