#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "value/value.h"

namespace tenon {

/// Puts a Value together from the events of a parser. Every step that adds something returns an
/// empty text, or which limit it would break; the tree is of no use after that.
class TreeBuilder final {
 public:
  explicit TreeBuilder(const ParseLimits& limits) : limits_(limits) {}

  /// Begins a list or mapping, empty so far.
  std::string Open(Value container);
  /// Ends the one begun last. Returns it in its place in the tree, valid until the next step.
  const Value& Close();
  /// Sets the key of the next value. Requires: ExpectsKey().
  void Key(std::string_view key, Mark mark);
  /// Adds a value that needs no Close().
  std::string Add(Value value);
  /// Takes what a copied subtree holds off the limits: its values and the bytes of its texts.
  std::string Charge(size_t values, size_t bytes);

  /// Whether what comes next stands in a mapping and has no key yet.
  bool ExpectsKey() const { return InObject() && !frames_.back().has_key; }
  bool InObject() const { return !frames_.empty() && frames_.back().container.is_object(); }
  /// The place of the key that waits for its value. Requires: InObject().
  Mark key_mark() const { return frames_.back().key_mark; }
  size_t depth() const { return frames_.size(); }

  /// The whole tree. Requires: all is closed. The next document may begin after it.
  Value TakeRoot();

 private:
  struct Frame {
    Value container;
    std::string key;
    Mark key_mark;
    bool has_key = false;
  };
  Value& Place(Value value);

  const ParseLimits limits_;
  size_t values_ = 0;
  size_t copied_bytes_ = 0;
  std::vector<Frame> frames_;
  Value root_;
};

}  // namespace tenon
