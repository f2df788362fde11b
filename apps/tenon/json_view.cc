#include "tenon/json_view.h"

namespace tenon::cli {

std::string TextAt(const Value& value, Keys keys) {
  const Value* found = value.At(keys);
  return found == nullptr ? "" : found->text();
}

std::vector<Value> ItemsAt(const Value& value, Keys keys) {
  const Value* found = value.At(keys);
  return found == nullptr ? std::vector<Value>() : found->items();
}

std::string ShortTime(std::string time) {
  size_t dot = time.find('.');
  size_t zone = time.find('Z');
  if (dot != std::string::npos && zone != std::string::npos && dot < zone)
    time.erase(dot, zone - dot);
  return time;
}

std::string ToJsonText(const Value& value) {
  return ToJson(value, true) + "\n";
}

}  // namespace tenon::cli
