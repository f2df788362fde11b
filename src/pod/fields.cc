#include "pod/fields.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/strings.h"

namespace tenon::pod {
namespace {

bool LooksLikeNumber(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  const size_t digit = text.find_first_of("0123456789");
  if (digit != 0 && !(digit == 1 && text[0] == '.')) return false;
  if (text.starts_with("0x")) {
    return text.size() > 2 && text.find_first_not_of("0123456789abcdefABCDEF", 2) == text.npos;
  }
  double number = 0;
  return std::from_chars(text.data(), text.data() + text.size(), number).ptr ==
         text.data() + text.size();
}

/// Whether a plain scalar is something else than text to the readers of manifests, which know
/// YAML 1.1's booleans, too.
bool ReadsAsOtherThanText(const Value& value) {
  if (value.kind() != Value::Kind::kScalar) return false;
  constexpr std::array<std::string_view, 6> kBooleans = {"true", "false", "yes", "no", "on", "off"};
  std::string lower = value.text();
  for (char& c : lower)
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  return std::find(kBooleans.begin(), kBooleans.end(), lower) != kBooleans.end() ||
         LooksLikeNumber(lower);
}

}  // namespace

void Problems::Add(Mark mark, std::string_view path, std::string_view text) {
  std::string out = file_ + ":" + std::to_string(mark.line) + ":" + std::to_string(mark.column);
  if (!path.empty()) out.append(": ").append(base::EscapeForLine(path));
  texts_.push_back(out.append(": ").append(text));
}

Fields::Fields(Problems& problems, const Value* value, Mark place, std::string path)
    : problems_(problems),
      value_(value && value->is_object() ? value : nullptr),
      place_(place),
      path_(std::move(path)) {
  if (value && !value->is_object()) {
    problems_.Add(value->mark(), path_, "must be a mapping, not " + std::string(value->KindName()));
  }
}

std::string Fields::PathOf(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

const Value* Fields::Get(std::string_view key) {
  known_.push_back(key);
  const Value* value = value_ ? value_->Find(key) : nullptr;
  return value && !value->is_null() ? value : nullptr;
}

void Fields::Complain(std::string_view key, std::string_view text) {
  const Value* value = value_ ? value_->Find(key) : nullptr;
  problems_.Add(value ? value->mark() : place_, PathOf(key), text);
}

std::optional<std::string> Fields::TextOf(const Value& value, const std::string& path) {
  std::optional<std::string> text = value.AsString();
  if (!text) {
    problems_.Add(value.mark(), path, "must be text, not " + std::string(value.KindName()));
  } else if (ReadsAsOtherThanText(value)) {
    problems_.Add(value.mark(), path, "must be text: write \"" + *text + "\" in quotes");
  } else if (text->find('\0') != std::string::npos) {
    problems_.Add(value.mark(), path, "must not hold a NUL character");
  } else {
    return text;
  }
  return std::nullopt;
}

std::string Fields::Text(std::string_view key) {
  const Value* value = Get(key);
  return value ? TextOf(*value, PathOf(key)).value_or("") : "";
}

std::string Fields::RequiredText(std::string_view key, std::string_view what_to_write) {
  const Value* value = Get(key);
  if (value && !value->AsString().value_or("-").empty()) {
    return TextOf(*value, PathOf(key)).value_or("");
  }
  Complain(key, "is required: write " + std::string(what_to_write));
  return "";
}

std::vector<std::string> Fields::TextList(std::string_view key) {
  std::vector<std::string> out;
  const Value* value = Get(key);
  if (!value) return out;
  if (!value->is_array()) {
    Complain(key, "must be a list of texts, not " + std::string(value->KindName()));
    return out;
  }
  for (size_t i = 0; i < value->items().size(); ++i) {
    auto text = TextOf(value->items()[i], PathOf(key) + "[" + std::to_string(i) + "]");
    if (text) out.push_back(*std::move(text));
  }
  return out;
}

std::map<std::string, std::string> Fields::TextMap(std::string_view key) {
  std::map<std::string, std::string> out;
  Fields map(problems_, Get(key), place_, PathOf(key));
  if (!map.value_) return out;
  for (const Value::Member& member : map.value_->members()) {
    map.known_.push_back(member.key);
    const std::string path = map.path_ + "[" + member.key + "]";
    if (auto text = TextOf(member.value, path)) out.emplace(member.key, *std::move(text));
  }
  map.Finish();
  return out;
}

std::optional<int64_t> Fields::Number(std::string_view key) {
  const Value* value = Get(key);
  if (!value) return std::nullopt;
  const std::optional<int64_t> number = value->AsInt();
  if (!number) Complain(key, "must be a whole number");
  return number;
}

void Fields::EachItem(std::string_view key,
                      const std::function<void(const Value&, const std::string&)>& read) {
  const Value* value = Get(key);
  if (!value) return;
  if (!value->is_array()) {
    Complain(key, "must be a list, not " + std::string(value->KindName()));
    return;
  }
  for (size_t i = 0; i < value->items().size(); ++i) {
    read(value->items()[i], PathOf(key) + "[" + std::to_string(i) + "]");
  }
}

void Fields::Finish() {
  if (!value_) return;
  std::vector<std::string_view> seen;
  for (const Value::Member& member : value_->members()) {
    const std::string path = PathOf(member.key);
    if (std::find(seen.begin(), seen.end(), member.key) != seen.end()) {
      problems_.Add(member.key_mark, path, "is there twice: remove one");
      continue;
    }
    seen.push_back(member.key);
    if (std::find(known_.begin(), known_.end(), member.key) != known_.end()) continue;
    std::string known;
    for (const std::string_view key : known_) {
      known.append(known.empty() ? "" : ", ").append(key);
    }
    problems_.Add(member.key_mark, path, "is not supported; supported here: " + known);
  }
}

}  // namespace tenon::pod
