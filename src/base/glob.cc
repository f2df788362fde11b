#include "base/glob.h"

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "base/strings.h"

namespace tenon::base {
namespace {

/// Bytes of names that are not UTF-8 are told apart from all code points by this.
constexpr char32_t kRawByte = 0x110000;

/// Takes the first character off a text that is not empty.
char32_t TakeCharacter(std::string_view& text) {
  size_t length = Utf8SequenceLength(text);
  auto first = static_cast<unsigned char>(text[0]);
  char32_t c =
      length == 0 ? kRawByte + first : first & (length == 1 ? 0x7fU : 0xffU >> (length + 1));
  for (size_t i = 1; i < length; ++i)
    c = c << 6 | (static_cast<unsigned char>(text[i]) & 0x3fU);
  text.remove_prefix(std::max<size_t>(length, 1));
  return c;
}

void AppendCharacter(std::string& out, char32_t c) {
  auto tail = [&out, c](int shift) {
    out.push_back(static_cast<char>(0x80 | (c >> shift & 0x3f)));
  };
  if (c < 0x80) {
    out.push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    out.push_back(static_cast<char>(0xc0 | c >> 6));
    tail(0);
  } else if (c < 0x10000) {
    out.push_back(static_cast<char>(0xe0 | c >> 12));
    tail(6);
    tail(0);
  } else {
    out.push_back(static_cast<char>(0xf0 | c >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace

/// Reads a pattern from left to right, one component at a time.
class GlobParser final {
 public:
  explicit GlobParser(std::string_view pattern) : pattern_(pattern), rest_(pattern) {}

  Result<std::vector<GlobComponent>> ParseAll();

 private:
  using Token = GlobComponent::Token;

  Result<GlobComponent> ParseComponent();
  Result<Token> ParseToken();
  Result<Token> ParseSet(size_t open);
  /// One character of a set, escapes resolved.
  Result<char32_t> ParseSetCharacter(size_t open);
  Error Unclosed(size_t open) const {
    return At(open, "\"[\" is never closed; write \"\\[\" for the character itself");
  }

  bool AtEnd() const { return rest_.empty(); }
  bool NextIs(std::string_view text) const { return rest_.starts_with(text); }
  size_t offset() const { return pattern_.size() - rest_.size(); }
  static Error At(size_t offset, std::string_view why) {
    return {Code::kInvalidArgument,
            "character " + std::to_string(offset + 1) + ": " + std::string(why)};
  }

  const std::string_view pattern_;
  std::string_view rest_;
};

Result<std::vector<GlobComponent>> GlobParser::ParseAll() {
  if (AtEnd()) return Error(Code::kInvalidArgument, "empty; an absolute path is expected");
  if (!IsValidUtf8(pattern_)) return Error(Code::kInvalidArgument, "not UTF-8 text");
  if (!NextIs("/"))
    return Error(Code::kInvalidArgument, "not an absolute path; begin it with \"/\"");
  std::vector<GlobComponent> components;
  while (!AtEnd()) {
    rest_.remove_prefix(1);
    if (NextIs("/")) return At(offset(), "\"//\"; write a single \"/\"");
    if (AtEnd()) return At(offset() - 1, "a \"/\" at the end; leave it out");
    size_t start = offset();
    TENON_TRY(GlobComponent component, ParseComponent());
    std::string name = component.is_literal() ? component.LiteralName() : "";
    if (name == "." || name == "..")
      return At(start, "\"" + name + "\"; write the path without it");
    components.push_back(std::move(component));
  }
  return components;
}

Result<GlobComponent> GlobParser::ParseComponent() {
  GlobComponent component;
  while (!AtEnd() && !NextIs("/")) {
    TENON_TRY(Token token, ParseToken());
    component.tokens_.push_back(std::move(token));
  }
  return component;
}

Result<GlobComponent::Token> GlobParser::ParseToken() {
  size_t start = offset();
  if (NextIs("**"))
    return At(start, "\"**\" is not supported; name each directory, \"*\" stands for one");
  switch (char32_t c = TakeCharacter(rest_)) {
    case U'*':
      return Token{Token::Kind::kAnyRun, {}};
    case U'?':
      return Token{Token::Kind::kAnyOne, {}};
    case U'[':
      return ParseSet(start);
    case U'{':
      return At(start,
                "\"{\" is not supported; write one rule for each, or \"\\{\" for the character "
                "itself");
    case U'\\':
      if (AtEnd() || NextIs("/")) return At(start, "\"\\\" must have a character behind it");
      c = TakeCharacter(rest_);
      return Token{Token::Kind::kCharacter, {{c, c}}};
    default:
      return Token{Token::Kind::kCharacter, {{c, c}}};
  }
}

Result<GlobComponent::Token> GlobParser::ParseSet(size_t open) {
  Token set{Token::Kind::kSet, {}};
  if (NextIs("^")) return At(offset(), "write \"[!\" for \"none of these\", or \"\\^\"");
  if (NextIs("!")) {
    set.negated = true;
    rest_.remove_prefix(1);
  }
  if (NextIs("]"))
    return At(open, "brackets with nothing in them; write \"\\]\" for the character");
  while (!NextIs("]")) {
    if (NextIs("[:")) return At(offset(), "named classes are not supported; write for example 0-9");
    size_t start = offset();
    TENON_TRY(char32_t first, ParseSetCharacter(open));
    char32_t last = first;
    if (NextIs("-") && !NextIs("-]")) {
      rest_.remove_prefix(1);
      TENON_TRY(last, ParseSetCharacter(open));
      if (last < first) return At(start, "the range ends before it begins");
    }
    set.ranges.emplace_back(first, last);
  }
  rest_.remove_prefix(1);
  return set;
}

Result<char32_t> GlobParser::ParseSetCharacter(size_t open) {
  if (NextIs("\\")) rest_.remove_prefix(1);
  if (AtEnd() || NextIs("/")) return Unclosed(open);
  return TakeCharacter(rest_);
}

bool GlobComponent::Token::Matches(char32_t c) const {
  if (kind == Kind::kAnyOne) return true;
  bool inside = std::ranges::any_of(
      ranges, [c](const auto& range) { return range.first <= c && c <= range.second; });
  return inside != negated;
}

bool GlobComponent::Matches(std::string_view name) const {
  if (name.empty()) return false;
  if (name[0] == '.' && tokens_[0].kind != Token::Kind::kCharacter) return false;
  size_t at = 0;
  // Where the last "*" stands and what it would have to leave to the tokens behind it: going back
  // to that one is enough, so a hostile pattern costs at most length times length.
  std::optional<size_t> run;
  std::string_view run_rest;
  while (!name.empty() || at < tokens_.size()) {
    if (at < tokens_.size() && tokens_[at].kind == Token::Kind::kAnyRun) {
      run = at++;
      run_rest = name;
      continue;
    }
    if (at < tokens_.size() && !name.empty() && tokens_[at].Matches(TakeCharacter(name))) {
      ++at;
      continue;
    }
    if (!run || run_rest.empty()) return false;
    TakeCharacter(run_rest);
    name = run_rest;
    at = *run + 1;
  }
  return true;
}

bool GlobComponent::is_literal() const {
  return std::ranges::all_of(
      tokens_, [](const Token& token) { return token.kind == Token::Kind::kCharacter; });
}

std::string GlobComponent::LiteralName() const {
  TENON_CHECK(is_literal());
  std::string name;
  for (const Token& token : tokens_)
    AppendCharacter(name, token.ranges[0].first);
  return name;
}

Result<Glob> Glob::Parse(std::string_view pattern) {
  Glob glob;
  TENON_TRY(glob.components_, GlobParser(pattern).ParseAll());
  return glob;
}

bool Glob::Matches(std::string_view path) const {
  if (!path.starts_with('/')) return false;
  auto names = Split(path.substr(1), '/');
  return std::ranges::equal(components_, names,
                            [](const GlobComponent& component, std::string_view name) {
                              return component.Matches(name);
                            });
}

bool Glob::is_literal() const {
  return std::ranges::all_of(components_, &GlobComponent::is_literal);
}

std::string Glob::LiteralPrefix() const {
  std::string path;
  for (const GlobComponent& component : components_) {
    if (!component.is_literal()) break;
    path += "/" + component.LiteralName();
  }
  return path.empty() ? "/" : path;
}

}  // namespace tenon::base
