#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "value/value.h"

namespace tenon::config {

/// A place in one of several files.
struct Place {
  std::string file;
  Mark mark;
};

/// Collects everything that is wrong with one file.
class Faults final {
 public:
  explicit Faults(std::string_view file) : file_(file) {}

  /// `why` says what is wrong and, after ";", what to write instead.
  void Add(Mark mark, std::string_view why) { faults_.emplace_back(mark, why); }
  bool empty() const { return faults_.empty(); }
  const std::string& file() const { return file_; }
  Place PlaceOf(Mark mark) const { return {file_, mark}; }
  /// How a fault of this file refers to a place: "line 3", or "other.yaml:3:5" in another one.
  std::string Reference(const Place& place) const;
  size_t size() const { return faults_.size(); }

  /// "file:line:column: why", in the order of the file; the first hundred of them.
  std::vector<std::string> Texts() const;

 private:
  const std::string file_;
  std::vector<std::pair<Mark, std::string>> faults_;
};

/// A mapping of which all keys are known. Whatever is not one, and keys that are unknown or occur
/// twice, become faults at once.
class StrictMapping final {
 public:
  /// `example` is what to write where `value` is no mapping at all. All are borrowed.
  StrictMapping(const Value& value, const std::vector<std::string_view>& known,
                std::string_view example, Faults& faults);

  /// Whether it is a mapping; without that nothing is found in it.
  bool ok() const { return value_.is_object(); }
  /// Whether there was a key that means nothing here: then a missing one may be just misspelled.
  bool has_unknown_key() const { return has_unknown_key_; }
  Mark mark() const { return value_.mark(); }

  /// The value of a key, or null.
  const Value* Find(std::string_view key) const { return value_.Find(key); }
  /// The place of a key that was found.
  Mark KeyMark(std::string_view key) const;
  /// The text of a key's value; null with a fault if it is something else than text.
  const std::string* Text(std::string_view key) const;
  /// A whole number within these bounds; nullopt with a fault if it is something else.
  std::optional<int64_t> Number(std::string_view key, int64_t least, int64_t most) const;
  /// false without the key, and with a fault if it is neither true nor false.
  bool Flag(std::string_view key) const;
  /// The texts of a list of them, or of a single one; with a fault for what is no text.
  std::vector<std::string> Texts(std::string_view key) const;
  /// The items of a list; null with a fault if it is something else, or empty.
  const std::vector<Value>* List(std::string_view key) const;

 private:
  const Value& value_;
  Faults& faults_;
  bool has_unknown_key_ = false;
};

/// The one of `candidates` that `word` is a likely misspelling of, or an empty text.
std::string_view ClosestTo(std::string_view word, const std::vector<std::string_view>& candidates);

/// What was written, or what kind of thing stands there instead of text.
std::string Shown(const Value& value);

/// `text` in quotes, escaped and cut to a length that fits a message.
std::string Quoted(std::string_view text);

}  // namespace tenon::config
