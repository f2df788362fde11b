#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "base/strings.h"
#include "value/source_text.h"
#include "value/tree_builder.h"
#include "value/value.h"

namespace tenon {
namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr std::string_view kBetweenTokens = " \t\r\n,:";

size_t FirstOf(size_t found, std::string_view text) {
  return found == std::string_view::npos ? text.size() : found;
}

/// What nlohmann says without its prefix, its own position and the text that it read last.
std::string Reason(std::string_view what) {
  if (size_t begin = what.find(" - "); begin != std::string_view::npos) {
    what.remove_prefix(begin + 3);
  } else if (size_t id = what.find("] "); id != std::string_view::npos) {
    what.remove_prefix(id + 2);
  }
  std::string_view expected;
  if (size_t begin = what.rfind("; expected"); begin != std::string_view::npos)
    expected = what.substr(begin);
  std::string reason(what.substr(0, what.find("; last read")));
  if (reason.find(expected) == std::string::npos) reason.append(expected);
  return reason;
}

/// Turns nlohmann's events into a tree. The library checks the grammar but tells no places, so a
/// cursor of our own goes over the same tokens: between two events there are only space, "," and
/// ":".
class JsonReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  JsonReader(SourceText& source, const ParseLimits& limits) : source_(source), builder_(limits) {}

  bool null() override { return Leaf(Value::Kind::kNull); }
  bool boolean(bool) override { return Leaf(Value::Kind::kScalar); }
  bool number_integer(number_integer_t) override { return Leaf(Value::Kind::kScalar); }
  bool number_unsigned(number_unsigned_t) override { return Leaf(Value::Kind::kScalar); }
  bool number_float(number_float_t, const string_t&) override { return Leaf(Value::Kind::kScalar); }
  bool string(string_t& text) override {
    NextToken();
    return Keep(builder_.Add(Value::String(text, mark_)));
  }
  bool binary(binary_t&) override { return false; }
  bool key(string_t& text) override {
    NextToken();
    builder_.Key(text, mark_);
    return true;
  }
  bool start_object(size_t) override {
    NextToken();
    return Keep(builder_.Open(Value::Object(mark_)));
  }
  bool start_array(size_t) override {
    NextToken();
    return Keep(builder_.Open(Value::Array(mark_)));
  }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }

  bool parse_error(size_t position, const std::string&,
                   const nlohmann::json::exception& error) override {
    mark_ = source_.MarkAt(FaultOffset(position, error.what()));
    return Keep(Reason(error.what()));
  }

  Result<Value> Take() {
    if (!fault_.empty()) return source_.ErrorAt(mark_, fault_);
    return builder_.TakeRoot();
  }

 private:
  /// The token after the cursor; moves the cursor behind it and sets the mark to its start.
  std::string_view NextToken() {
    std::string_view text = source_.text();
    size_t start = FirstOf(text.find_first_not_of(kBetweenTokens, cursor_), text);
    cursor_ = TokenEnd(text, start);
    mark_ = source_.MarkAt(start);
    return text.substr(start, cursor_ - start);
  }

  static size_t TokenEnd(std::string_view text, size_t start) {
    if (start >= text.size()) return start;
    if (text[start] == '"') {
      size_t end = start + 1;
      while (end < text.size() && text[end] != '"')
        end += text[end] == '\\' ? 2 : 1;
      return std::min(end + 1, text.size());
    }
    if (std::string_view("[]{}").find(text[start]) != std::string_view::npos) return start + 1;
    return FirstOf(text.find_first_of(" \t\r\n,:[]{}\"", start), text);
  }

  /// The library tells how many bytes it has read: for a bad string or a stray separator that is
  /// the place, for any other token its start is.
  size_t FaultOffset(size_t read, std::string_view what) const {
    std::string_view text = source_.text();
    size_t last = read == 0 ? 0 : read - 1;
    bool separator =
        last < text.size() && last >= cursor_ && (text[last] == ',' || text[last] == ':');
    if (separator || what.find("invalid string") != std::string_view::npos) return last;
    return std::min(last, FirstOf(text.find_first_not_of(kBetweenTokens, cursor_), text));
  }

  bool Leaf(Value::Kind kind) {
    std::string_view token = NextToken();
    return Keep(builder_.Add(kind == Value::Kind::kNull ? Value::Null(mark_)
                                                        : Value::Scalar(token, mark_)));
  }

  bool Close() {
    NextToken();
    builder_.Close();
    return true;
  }

  bool Keep(std::string fault) {
    fault_ = std::move(fault);
    return fault_.empty();
  }

  SourceText& source_;
  TreeBuilder builder_;
  size_t cursor_ = 0;
  Mark mark_;  ///< Of the last token, or of the fault.
  std::string fault_;
};

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

/// Removes a run of digits from the front of `text`; false if there is none.
bool EatDigits(std::string_view& text) {
  size_t count = 0;
  while (count < text.size() && IsDigit(text[count]))
    ++count;
  text.remove_prefix(count);
  return count > 0;
}

bool IsNumberSyntax(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  if (text.size() > 1 && text[0] == '0' && IsDigit(text[1])) return false;
  if (!EatDigits(text)) return false;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (!EatDigits(text)) return false;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    if (!EatDigits(text)) return false;
  }
  return text.empty();
}

/// Readers of JSON, ParseJson() too, refuse a number that overflows a double.
bool IsJsonNumber(const std::string& text) {
  return IsNumberSyntax(text) && std::isfinite(std::strtod(text.c_str(), nullptr));
}

/// Writes one tree; `depth_` levels of indentation when that is wanted.
class JsonWriter final {
 public:
  explicit JsonWriter(bool indent) : indent_(indent) {}

  void Write(const Value& value) {
    switch (value.kind()) {
      case Value::Kind::kNull:
        out_.append("null");
        break;
      case Value::Kind::kScalar:
        if (value.AsBool() || IsJsonNumber(value.text())) {
          out_.append(value.text());
          break;
        }
        [[fallthrough]];
      case Value::Kind::kString:
        base::AppendJsonString(out_, value.text());
        break;
      case Value::Kind::kArray:
        WriteAll('[', value.items(), ']', [this](const Value& item) { Write(item); });
        break;
      case Value::Kind::kObject:
        WriteAll('{', value.members(), '}', [this](const Value::Member& member) {
          base::AppendJsonString(out_, member.key);
          out_.append(indent_ ? ": " : ":");
          Write(member.value);
        });
        break;
    }
  }

  std::string Take() { return std::move(out_); }

 private:
  template <class Items, class WriteOne>
  void WriteAll(char open, const Items& items, char close, const WriteOne& write_one) {
    out_.push_back(open);
    ++depth_;
    bool first = true;
    for (const auto& item : items) {
      if (!first) out_.push_back(',');
      first = false;
      BreakLine();
      write_one(item);
    }
    --depth_;
    if (!items.empty()) BreakLine();
    out_.push_back(close);
  }

  void BreakLine() {
    if (indent_) out_.append("\n").append(depth_ * 2, ' ');
  }

  const bool indent_;
  size_t depth_ = 0;
  std::string out_;
};

}  // namespace

Result<Value> ParseJson(std::string_view text, std::string_view name, const ParseLimits& limits) {
  SourceText source(text, name);
  TENON_TRY_VOID(source.Check(limits.bytes));
  if (source.text().find_first_not_of(kSpace) == std::string_view::npos)
    return source.ErrorAt({}, "empty, a JSON text is expected");
  JsonReader reader(source, limits);
  nlohmann::json::sax_parse(source.text(), &reader);
  return reader.Take();
}

std::string ToJson(const Value& value, bool indent) {
  JsonWriter writer(indent);
  writer.Write(value);
  return writer.Take();
}

}  // namespace tenon
