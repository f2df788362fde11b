#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tenon::base {

/// One component of a glob: a file name, or a pattern for names.
class GlobComponent final {
 public:
  /// Whether `name` fits. A "." in front of a name is matched by a "." only, never by a wildcard.
  bool Matches(std::string_view name) const;

  bool is_literal() const;
  /// The only name that fits. Requires: is_literal().
  std::string LiteralName() const;

  bool operator==(const GlobComponent&) const = default;

 private:
  friend class GlobParser;

  struct Token {
    enum class Kind {
      kCharacter,  ///< ranges[0].first and no other.
      kAnyOne,     ///< ?
      kAnyRun,     ///< *
      kSet,        ///< [a-z], or [!a-z] when negated.
    };
    Kind kind;
    std::vector<std::pair<char32_t, char32_t>> ranges;
    bool negated = false;

    bool Matches(char32_t c) const;
    bool operator==(const Token&) const = default;
  };
  std::vector<Token> tokens_;
};

/// An absolute path, or a pattern for such paths: "*", "?", "[a-z]" and "[!a-z]" stand for
/// characters of one file name and never for "/"; "\" takes away the meaning of what follows.
///
/// Only paths that are written in one way are accepted: no "//", no "/" at the end, no "." or
/// ".." component. "**" and "{" are refused, because other tools give them a meaning that they
/// do not have here. Patterns are UTF-8 and characters are code points; in a file name each byte
/// that is not UTF-8 counts as a character.
class Glob final {
 public:
  /// Errors: kInvalidArgument with what is wrong, at which character, and what to write instead.
  static Result<Glob> Parse(std::string_view pattern);

  bool Matches(std::string_view path) const;
  bool is_literal() const;

  /// The path down to the first component with a wildcard, "/" when that is the first one; the
  /// whole path, without its escapes, of a literal.
  std::string LiteralPrefix() const;

  /// What a walk from "/" has to match, one directory a step.
  const std::vector<GlobComponent>& components() const { return components_; }

  bool operator==(const Glob&) const = default;

 private:
  std::vector<GlobComponent> components_;
};

}  // namespace tenon::base
