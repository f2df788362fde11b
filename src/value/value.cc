#include "value/value.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/strings.h"

namespace tenon {

std::string PlaceText(std::string_view file, Mark mark) {
  std::string place(file);
  if (mark.line == 0) return place;
  return place + ":" + std::to_string(mark.line) + ":" + std::to_string(mark.column);
}

Value::Value(Kind kind, std::string_view text, Mark mark) : kind_(kind), mark_(mark), text_(text) {}

Value Value::Null(Mark mark) {
  return {Kind::kNull, {}, mark};
}

Value Value::String(std::string_view text, Mark mark) {
  return {Kind::kString, text, mark};
}

Value Value::Scalar(std::string_view text, Mark mark) {
  return {Kind::kScalar, text, mark};
}

Value Value::Number(int64_t number) {
  return Scalar(std::to_string(number));
}

Value Value::Bool(bool value) {
  return Scalar(value ? "true" : "false");
}

Value Value::Array(Mark mark) {
  return {Kind::kArray, {}, mark};
}

Value Value::Array(std::vector<Value> items, Mark mark) {
  Value value(Kind::kArray, {}, mark);
  value.items_ = std::move(items);
  return value;
}

Value Value::Object(Mark mark) {
  return {Kind::kObject, {}, mark};
}

Value Value::Object(std::vector<Member> members, Mark mark) {
  Value value(Kind::kObject, {}, mark);
  value.members_ = std::move(members);
  return value;
}

std::string_view Value::KindName() const {
  switch (kind_) {
    case Kind::kNull:
      return "nothing";
    case Kind::kScalar:
      if (AsInt()) return "a number";
      return AsBool() ? "true or false" : "text";
    case Kind::kString:
      return "text";
    case Kind::kArray:
      return "a list";
    case Kind::kObject:
      return "a mapping";
  }
  return "";
}

const Value* Value::Find(std::string_view key) const {
  auto member = std::ranges::find(members_, key, &Member::key);
  return member == members_.end() ? nullptr : &member->value;
}

const Value* Value::At(std::initializer_list<std::string_view> keys) const {
  const Value* value = this;
  for (std::string_view key : keys)
    if (value != nullptr) value = value->Find(key);
  return value;
}

std::optional<std::string> Value::AsString() const {
  if (kind_ != Kind::kScalar && kind_ != Kind::kString) return std::nullopt;
  return text_;
}

std::optional<int64_t> Value::AsInt() const {
  if (kind_ != Kind::kScalar) return std::nullopt;
  std::string_view digits(text_);
  if (digits.starts_with('-')) digits.remove_prefix(1);
  if (digits.size() > 1 && digits.starts_with('0')) return std::nullopt;
  return base::ParseInt64(text_);
}

std::optional<bool> Value::AsBool() const {
  if (kind_ != Kind::kScalar || (text_ != "true" && text_ != "false")) return std::nullopt;
  return text_ == "true";
}

Value& Value::Add(std::string_view key, Value value, Mark key_mark) {
  TENON_CHECK(is_object());
  return members_.emplace_back(Member{std::string(key), key_mark, std::move(value)}).value;
}

Value& Value::Append(Value value) {
  TENON_CHECK(is_array());
  return items_.emplace_back(std::move(value));
}

}  // namespace tenon
