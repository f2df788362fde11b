#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tenon::pod {

/// An amount of a resource as manifests write it: "4", "0.5", "3000m", "3Ki", "2e3". Compares by
/// value and keeps its text. Exact down to 1e-9; what is finer is rounded up, as Kubernetes does.
/// Source: apimachinery pkg/api/resource/quantity.go.
class Quantity final {
 public:
  /// Errors: kInvalidArgument with a text that says what is wrong with `text`.
  static Result<Quantity> Parse(std::string_view text);
  static Quantity Whole(int64_t amount) { return {amount, 0, std::to_string(amount)}; }

  /// Whether it has no fraction; extended resources must not have one.
  bool is_whole() const { return nanos_ == 0; }
  int64_t whole() const { return whole_; }  ///< Without the fraction; never negative.
  const std::string& text() const { return text_; }

  std::strong_ordering operator<=>(const Quantity& other) const {
    if (auto order = whole_ <=> other.whole_; order != 0) return order;
    return nanos_ <=> other.nanos_;
  }
  bool operator==(const Quantity& other) const { return (*this <=> other) == 0; }

 private:
  Quantity(int64_t whole, int64_t nanos, std::string text)
      : whole_(whole), nanos_(nanos), text_(std::move(text)) {}

  int64_t whole_;
  int64_t nanos_;  ///< 0 to 999 999 999.
  std::string text_;
};

}  // namespace tenon::pod
