#include "config/strict_mapping.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/strings.h"

namespace tenon::config {
namespace {

constexpr size_t kMostTexts = 100;
constexpr size_t kMostQuoted = 100;

char Lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// How many insertions, removals and replacements lead from `a` to `b`, case left aside.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t k = 0; k < b.size(); ++k) {
      size_t replaced = diagonal + (Lower(a[i]) == Lower(b[k]) ? 0 : 1);
      diagonal = row[k + 1];
      row[k + 1] = std::min({replaced, row[k] + 1, row[k + 1] + 1});
    }
  }
  return row.back();
}

std::string JoinKeys(const std::vector<std::string_view>& keys) {
  std::string all;
  for (std::string_view key : keys)
    all.append(all.empty() ? "" : ", ").append(key);
  return all;
}

}  // namespace

std::vector<std::string> Faults::Texts() const {
  auto sorted = faults_;
  std::ranges::stable_sort(sorted, {}, [](const auto& fault) {
    return std::pair(fault.first.line, fault.first.column);
  });
  std::vector<std::string> texts;
  for (const auto& [mark, why] : sorted) {
    if (texts.size() == kMostTexts) {
      texts.push_back(file_ + ": and " + std::to_string(sorted.size() - kMostTexts) + " more");
      break;
    }
    texts.push_back(PlaceText(file_, mark) + ": " + why);
  }
  return texts;
}

std::string Faults::Reference(const Place& place) const {
  if (place.file != file_) return PlaceText(place.file, place.mark);
  return "line " + std::to_string(place.mark.line);
}

StrictMapping::StrictMapping(const Value& value, const std::vector<std::string_view>& known,
                             std::string_view example, Faults& faults)
    : value_(value), faults_(faults) {
  if (!value.is_object()) {
    faults.Add(value.mark(), "a mapping is expected, this is " + std::string(value.KindName()) +
                                 "; write for example " + std::string(example));
    return;
  }
  std::set<std::string_view> seen;
  for (const Value::Member& member : value.members()) {
    std::string fault;
    if (std::ranges::find(known, member.key) == known.end()) {
      has_unknown_key_ = true;
      std::string_view closest = ClosestTo(member.key, known);
      fault = "unknown key " + Quoted(member.key) + "; ";
      if (!closest.empty()) fault += "did you mean " + Quoted(closest) + "? ";
      fault += "known here: " + JoinKeys(known);
    } else if (!seen.insert(member.key).second) {
      fault = "key " + Quoted(member.key) + " occurs twice; keep one of them";
    }
    if (!fault.empty()) faults.Add(member.key_mark, fault);
  }
}

Mark StrictMapping::KeyMark(std::string_view key) const {
  auto member = std::ranges::find(value_.members(), key, &Value::Member::key);
  return member == value_.members().end() ? value_.mark() : member->key_mark;
}

const std::string* StrictMapping::Text(std::string_view key) const {
  const Value* value = Find(key);
  if (value == nullptr) return nullptr;
  if (value->AsString()) return &value->text();
  faults_.Add(value->mark(), Quoted(key) + " must be text, this is " +
                                 std::string(value->KindName()) + "; write " + std::string(key) +
                                 ": and the text on one line");
  return nullptr;
}

std::optional<int64_t> StrictMapping::Number(std::string_view key, int64_t least,
                                             int64_t most) const {
  const Value* value = Find(key);
  if (value == nullptr) return std::nullopt;
  auto number = value->AsInt();
  if (number && *number >= least && *number <= most) return number;
  faults_.Add(value->mark(), std::string(key) + " " + Shown(*value) + "; write a number from " +
                                 std::to_string(least) + " to " + std::to_string(most) +
                                 (number && *number > most ? "" : ", without quotes"));
  return std::nullopt;
}

bool StrictMapping::Flag(std::string_view key) const {
  const Value* value = Find(key);
  if (value == nullptr) return false;
  auto flag = value->AsBool();
  if (!flag)
    faults_.Add(value->mark(),
                std::string(key) + " " + Shown(*value) + "; write true or false, without quotes");
  return flag.value_or(false);
}

std::vector<std::string> StrictMapping::Texts(std::string_view key) const {
  const Value* value = Find(key);
  if (value == nullptr) return {};
  if (!value->is_array()) {
    const std::string* text = Text(key);
    return text == nullptr ? std::vector<std::string>() : std::vector{*text};
  }
  std::vector<std::string> texts;
  for (const Value& item : value->items()) {
    if (auto text = item.AsString())
      texts.push_back(*std::move(text));
    else
      faults_.Add(item.mark(), "a text is expected, this is " + std::string(item.KindName()));
  }
  if (value->items().empty())
    faults_.Add(value->mark(), Quoted(key) + " is an empty list; leave it out");
  return texts;
}

const std::vector<Value>* StrictMapping::List(std::string_view key) const {
  const Value* value = Find(key);
  if (value == nullptr) return nullptr;
  if (!value->items().empty()) return &value->items();
  std::string kind(value->is_array() ? "an empty list" : value->KindName());
  faults_.Add(value->mark(), Quoted(key) + " must be a list with at least one item, this is " +
                                 kind + "; begin each item with \"- \"");
  return nullptr;
}

std::string_view ClosestTo(std::string_view word, const std::vector<std::string_view>& candidates) {
  // A word much longer than all keys is no misspelling, and not worth the comparison.
  if (word.size() > 64) return {};
  std::string_view closest;
  size_t least = 3;
  for (std::string_view candidate : candidates) {
    size_t distance = EditDistance(word, candidate);
    if (distance >= least || distance * 2 > std::max(word.size(), candidate.size())) continue;
    least = distance;
    closest = candidate;
  }
  return closest;
}

std::string Shown(const Value& value) {
  return value.AsString() ? Quoted(value.text()) : "is " + std::string(value.KindName());
}

std::string Quoted(std::string_view text) {
  std::string escaped = base::EscapeForLine(text.substr(0, kMostQuoted));
  return "\"" + escaped + (text.size() > kMostQuoted ? "...\"" : "\"");
}

}  // namespace tenon::config
