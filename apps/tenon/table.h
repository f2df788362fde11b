#pragma once

#include <string>
#include <vector>

namespace tenon::cli {

/// Rows under a header in columns as wide as their widest cell. Cells are made safe for a
/// terminal; an empty one is shown as "-".
class Table final {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}

  /// Requires: as many cells as the header has.
  void Add(std::vector<std::string> row);
  bool empty() const { return rows_.size() == 1; }
  std::string Render() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tenon::cli
