#include "tenon/table.h"

#include <algorithm>

#include "base/check.h"
#include "base/strings.h"

namespace tenon::cli {
namespace {

constexpr size_t kGap = 3;

/// Columns on a terminal that shows one for each code point.
size_t Width(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

}  // namespace

void Table::Add(std::vector<std::string> row) {
  TENON_CHECK(row.size() == rows_.front().size());
  for (std::string& cell : row)
    cell = cell.empty() ? "-" : base::EscapeForLine(cell);
  rows_.push_back(std::move(row));
}

std::string Table::Render() const {
  std::vector<size_t> widths(rows_.front().size());
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], Width(row[i]));
  }
  std::string out;
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) {
      out += row[i];
      if (i + 1 < row.size()) out.append(widths[i] - Width(row[i]) + kGap, ' ');
    }
    out += "\n";
  }
  return out;
}

}  // namespace tenon::cli
