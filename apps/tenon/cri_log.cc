#include "tenon/cri_log.h"

#include <array>

namespace tenon::cli {
namespace {

/// The text of one line without its newline, or the line itself.
std::string TextOf(std::string_view line) {
  std::array<std::string_view, 3> fields;
  std::string_view rest = line;
  for (std::string_view& field : fields) {
    const size_t space = rest.find(' ');
    if (space == std::string_view::npos) return std::string(line) + "\n";
    field = rest.substr(0, space);
    rest.remove_prefix(space + 1);
  }
  const bool known = fields[1] == "stdout" || fields[1] == "stderr";
  if (!known) return std::string(line) + "\n";
  return std::string(rest) + (fields[2].starts_with('P') ? "" : "\n");
}

}  // namespace

std::string CriLog::Feed(std::string_view bytes) {
  rest_ += bytes;
  std::string out;
  size_t begin = 0;
  for (size_t end; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1)
    out += TextOf(std::string_view{rest_}.substr(begin, end - begin));
  rest_.erase(0, begin);
  return out;
}

}  // namespace tenon::cli
