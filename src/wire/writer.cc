#include "wire/writer.h"

#include <protozero/pbf_writer.hpp>

namespace tenon::wire {

void PutText(std::string& out, FieldNumber field, std::string_view text) {
  if (!text.empty()) AddBytes(out, field, text);
}

void PutInt(std::string& out, FieldNumber field, int64_t value) {
  if (value != 0) protozero::pbf_writer(out).add_int64(field, value);
}

void PutBool(std::string& out, FieldNumber field, bool value) {
  if (value) protozero::pbf_writer(out).add_bool(field, true);
}

void AddBytes(std::string& out, FieldNumber field, std::string_view bytes) {
  protozero::pbf_writer(out).add_bytes(field, bytes.data(), bytes.size());
}

void AddTexts(std::string& out, FieldNumber field, const std::vector<std::string>& texts) {
  for (const std::string& text : texts)
    AddBytes(out, field, text);
}

void AddMap(std::string& out, FieldNumber field, const std::map<std::string, std::string>& map) {
  for (const auto& [key, value] : map) {
    AddLength(out, field, BytesFieldSize(key.size()) + BytesFieldSize(value.size()));
    AddBytes(out, 1, key);
    AddBytes(out, 2, value);
  }
}

void AddLength(std::string& out, FieldNumber field, size_t size) {
  protozero::add_varint_to_buffer(
      &out, field << 3 | static_cast<uint32_t>(protozero::pbf_wire_type::length_delimited));
  protozero::add_varint_to_buffer(&out, size);
}

}  // namespace tenon::wire
