#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "value/value.h"

namespace tenon {

/// The text of one file with its name: turns offsets into marks and faults into errors.
class SourceText final {
 public:
  /// Both are borrowed. A byte order mark in front of `text` is dropped.
  SourceText(std::string_view text, std::string_view name);

  std::string_view text() const { return text_; }

  /// The place of a byte. Cheap when offsets only grow; offsets past the end count as the end.
  Mark MarkAt(size_t offset);

  /// "name:line:column: why".
  Error ErrorAt(Mark mark, std::string_view why) const;

  /// Whether the text has at most `max_bytes`, is UTF-8 and free of control characters other
  /// than tabs and line ends.
  Result<void> Check(size_t max_bytes);

 private:
  std::string_view text_;
  const std::string_view name_;
  size_t line_start_ = 0;
  size_t line_end_ = 0;  ///< Kept, or each mark in a text of one long line would search it again.
  int line_ = 1;
};

}  // namespace tenon
