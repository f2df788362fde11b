#include "value/source_text.h"

#include <algorithm>

#include "base/strings.h"

namespace tenon {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string HexByte(unsigned char byte) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  return {'0', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
}

/// Whether a text file has no use for this ASCII character. U+007F is allowed: JSON strings and
/// quoted YAML may hold it as it is, and Go writes it so.
bool IsForbiddenControl(unsigned char c) {
  return c < 0x20 && c != '\t' && c != '\n' && c != '\r';
}

}  // namespace

SourceText::SourceText(std::string_view text, std::string_view name) : text_(text), name_(name) {
  if (text_.starts_with(kByteOrderMark)) text_.remove_prefix(kByteOrderMark.size());
  line_end_ = text_.find('\n');
}

Mark SourceText::MarkAt(size_t offset) {
  offset = std::min(offset, text_.size());
  if (offset < line_start_) {
    line_start_ = 0;
    line_end_ = text_.find('\n');
    line_ = 1;
  }
  while (line_end_ < offset) {
    line_start_ = line_end_ + 1;
    line_end_ = text_.find('\n', line_start_);
    ++line_;
  }
  return {line_, static_cast<int>(offset - line_start_) + 1};
}

Error SourceText::ErrorAt(Mark mark, std::string_view why) const {
  return {Code::kInvalidArgument, PlaceText(name_, mark) + ": " + std::string(why)};
}

Result<void> SourceText::Check(size_t max_bytes) {
  if (text_.size() > max_bytes)
    return ErrorAt({}, "has " + std::to_string(text_.size()) + " bytes, at most " +
                           std::to_string(max_bytes) + " are read");
  for (size_t i = 0; i < text_.size();) {
    auto byte = static_cast<unsigned char>(text_[i]);
    size_t length = base::Utf8SequenceLength(text_.substr(i));
    if (length == 0)
      return ErrorAt(MarkAt(i), "byte " + HexByte(byte) + " is not UTF-8 text; save it as UTF-8");
    if (length == 1 && IsForbiddenControl(byte))
      return ErrorAt(MarkAt(i),
                     "control character " + HexByte(byte) + "; this does not look like text");
    i += length;
  }
  return {};
}

}  // namespace tenon
