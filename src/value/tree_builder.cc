#include "value/tree_builder.h"

#include <utility>

#include "base/check.h"

namespace tenon {

std::string TreeBuilder::Open(Value container) {
  if (frames_.size() >= static_cast<size_t>(limits_.depth))
    return "nested deeper than " + std::to_string(limits_.depth) + " levels";
  frames_.push_back({std::move(container), {}, {}, false});
  return Charge(1, 0);
}

const Value& TreeBuilder::Close() {
  TENON_CHECK(!frames_.empty());
  Value done = std::move(frames_.back().container);
  frames_.pop_back();
  return Place(std::move(done));
}

void TreeBuilder::Key(std::string_view key, Mark mark) {
  TENON_CHECK(ExpectsKey());
  Frame& frame = frames_.back();
  frame.key = key;
  frame.key_mark = mark;
  frame.has_key = true;
}

std::string TreeBuilder::Add(Value value) {
  Place(std::move(value));
  return Charge(1, 0);
}

std::string TreeBuilder::Charge(size_t values, size_t bytes) {
  values_ += values;
  copied_bytes_ += bytes;
  if (values_ > limits_.values) return "more than " + std::to_string(limits_.values) + " values";
  if (copied_bytes_ > limits_.bytes)
    return "aliases repeat more than " + std::to_string(limits_.bytes) + " bytes";
  return {};
}

Value TreeBuilder::TakeRoot() {
  TENON_CHECK(frames_.empty());
  return std::exchange(root_, Value());
}

Value& TreeBuilder::Place(Value value) {
  if (frames_.empty()) return root_ = std::move(value);
  Frame& frame = frames_.back();
  if (frame.container.is_array()) return frame.container.Append(std::move(value));
  TENON_CHECK(frame.has_key);
  frame.has_key = false;
  return frame.container.Add(frame.key, std::move(value), frame.key_mark);
}

}  // namespace tenon
