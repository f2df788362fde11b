#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// Appends fields to an encoded message. A Put leaves the default value out, as proto3 does; an
/// Add writes whatever it is given, as elements of repeated fields and submessages need.
namespace tenon::wire {

using FieldNumber = uint32_t;

void PutText(std::string& out, FieldNumber field, std::string_view text);
void PutInt(std::string& out, FieldNumber field, int64_t value);
void PutBool(std::string& out, FieldNumber field, bool value);

/// A string or an encoded submessage.
void AddBytes(std::string& out, FieldNumber field, std::string_view bytes);
void AddTexts(std::string& out, FieldNumber field, const std::vector<std::string>& texts);
void AddMap(std::string& out, FieldNumber field, const std::map<std::string, std::string>& map);

/// What stands in front of `size` bytes of a submessage that is written in place.
void AddLength(std::string& out, FieldNumber field, size_t size);

/// The size of a number as PutInt and AddLength write it, 1 to 10 bytes.
inline size_t VarintSize(uint64_t value) {
  return (static_cast<size_t>(std::bit_width(value | 1)) + 6) / 7;
}
/// The size of a field with `size` bytes of content, tag and length included. Requires: a field
/// number below 16, whose tag is one byte.
inline size_t BytesFieldSize(size_t size) {
  return 1 + VarintSize(size) + size;
}
/// The size of what PutInt writes. Requires: as above.
inline size_t IntFieldSize(int64_t value) {
  return value == 0 ? 0 : 1 + VarintSize(static_cast<uint64_t>(value));
}

}  // namespace tenon::wire
