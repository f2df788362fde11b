#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tenon {

/// A place in a text: line and column from 1, counted in bytes; 0 when there is none.
struct Mark {
  int line = 0;
  int column = 0;
  bool operator==(const Mark&) const = default;
};

/// "file:3:7", or the file alone where there is no place.
std::string PlaceText(std::string_view file, Mark mark);

/// One tree for YAML and JSON. It keeps what a strict reader needs: the place of every key and
/// value, keys that occur twice, and the exact text of every scalar, so that 0451 stays "0451"
/// and is never a number unless somebody asks for one.
class Value final {
 public:
  enum class Kind {
    kNull,    ///< null, ~ or nothing.
    kScalar,  ///< A plain YAML scalar, or a JSON number or boolean: text() may be read as either.
    kString,  ///< Quoted: text, whatever it looks like.
    kArray,
    kObject,
  };
  struct Member;

  Value() = default;  ///< Null.
  static Value Null(Mark mark = {});
  static Value String(std::string_view text, Mark mark = {});
  static Value Scalar(std::string_view text, Mark mark = {});
  static Value Number(int64_t number);
  static Value Bool(bool value);
  static Value Array(Mark mark = {});
  static Value Array(std::vector<Value> items, Mark mark = {});
  static Value Object(Mark mark = {});
  static Value Object(std::vector<Member> members, Mark mark = {});

  Kind kind() const { return kind_; }
  Mark mark() const { return mark_; }
  bool is_object() const { return kind_ == Kind::kObject; }
  bool is_array() const { return kind_ == Kind::kArray; }
  bool is_null() const { return kind_ == Kind::kNull; }
  /// "a mapping", "a list", "text", "nothing" …, for messages.
  std::string_view KindName() const;

  /// The text of a scalar or string; empty for the other kinds.
  const std::string& text() const { return text_; }
  /// The items of an array; empty for the other kinds.
  const std::vector<Value>& items() const { return items_; }
  /// The members of an object in the order of the text, keys that occur twice included.
  const std::vector<Member>& members() const { return members_; }

  /// The first member with this key, or null.
  const Value* Find(std::string_view key) const;
  /// Find() along keys, null as soon as one is missing: At({"spec", "nodeName"}).
  const Value* At(std::initializer_list<std::string_view> keys) const;

  /// Text of a string or scalar; nullopt for the other kinds.
  std::optional<std::string> AsString() const;
  /// A decimal whole number from a kScalar; a quoted "4" is not one, and neither is 010, which
  /// readers of YAML disagree about.
  std::optional<int64_t> AsInt() const;
  /// true or false from a kScalar.
  std::optional<bool> AsBool() const;

  /// Appends a member. Requires: is_object(). Returns the value added, valid until the next Add.
  Value& Add(std::string_view key, Value value, Mark key_mark = {});
  /// Appends an item. Requires: is_array(). Returns the item added, valid until the next Append.
  Value& Append(Value value);

 private:
  Value(Kind kind, std::string_view text, Mark mark);

  Kind kind_ = Kind::kNull;
  Mark mark_;
  std::string text_;
  std::vector<Value> items_;
  std::vector<Member> members_;
};

struct Value::Member {
  std::string key;
  Mark key_mark;
  Value value;
};

/// How much a text may hold, so that a hostile one costs little.
struct ParseLimits {
  size_t bytes = size_t{16} << 20;  ///< Of the text, and of what aliases repeat of it.
  int depth = 64;
  size_t values = 1'000'000;  ///< After aliases are followed: an alias bomb ends here.
};

/// Reads exactly one JSON text (RFC 8259). Errors: kInvalidArgument with "file:line:column: why";
/// `name` is the file in it. Numbers keep their text; duplicate keys are kept. A byte order mark
/// in front is skipped.
Result<Value> ParseJson(std::string_view text, std::string_view name, const ParseLimits& = {});

/// Reads all documents of a YAML 1.2 text (JSON is a subset of it, but for escaped surrogate
/// pairs, which are errors here), empty ones left out. Errors as above; tags, merge keys and keys
/// that are no scalars are errors, as are control characters, invalid UTF-8 and tabs that indent. A
/// byte order mark in front is skipped.
Result<std::vector<Value>> ParseYaml(std::string_view text, std::string_view name,
                                     const ParseLimits& = {});

/// JSON text on one line, or indented by two spaces. A kScalar that is a JSON boolean, or a number
/// within the range of a double, stays one; any other becomes a string.
std::string ToJson(const Value& value, bool indent = false);

}  // namespace tenon
