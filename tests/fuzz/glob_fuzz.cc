// The first line is a pattern, the rest a path to match. A literal must match its own path and no
// other.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/glob.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const size_t line_end = std::min(text.find('\n'), text.size());
  const auto glob = tenon::base::Glob::Parse(text.substr(0, line_end));
  if (!glob) return 0;
  const std::string_view path = text.substr(std::min(line_end + 1, text.size()));
  const bool matches = glob->Matches(path);
  if (!glob->is_literal()) return 0;
  TENON_CHECK(glob->Matches(glob->LiteralPrefix()));
  TENON_CHECK(matches == (path == glob->LiteralPrefix()));
  return 0;
}
