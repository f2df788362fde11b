#include "base/glob.h"

#include <gtest/gtest.h>

#include <functional>

namespace tenon::base {
namespace {

Glob Parse(std::string_view pattern) {
  auto glob = Glob::Parse(pattern);
  if (glob) return *glob;
  ADD_FAILURE() << pattern << ": " << glob.error().message();
  return *Glob::Parse("/none");
}

std::string ErrorOf(std::string_view pattern) {
  auto glob = Glob::Parse(pattern);
  return glob ? "no error" : glob.error().message();
}

struct MatchCase {
  std::string_view pattern;
  std::string_view path;
  bool matches;
};

TEST(Glob, MatchesPathsComponentByComponent) {
  for (const auto& [pattern, path, matches] : {
           MatchCase{"/dev/fuse", "/dev/fuse", true},
           MatchCase{"/dev/fuse", "/dev/fuse0", false},
           MatchCase{"/dev/fuse", "dev/fuse", false},
           MatchCase{"/dev/fuse", "/dev/fuse/", false},
           MatchCase{"/dev/ttyUSB*", "/dev/ttyUSB0", true},
           MatchCase{"/dev/ttyUSB*", "/dev/ttyUSB", true},
           MatchCase{"/dev/*", "/dev/net/tun", false},
           MatchCase{"/dev/*/tun", "/dev/net/tun", true},
           MatchCase{"/dev/tty?", "/dev/tty1", true},
           MatchCase{"/dev/tty?", "/dev/tty10", false},
           MatchCase{"/dev/tty?", "/dev/tty\xC3\xA9", true},
           MatchCase{"/dev/tty?", "/dev/tty\xFF", true},
           MatchCase{"/dev/tty[0-9]", "/dev/tty7", true},
           MatchCase{"/dev/tty[0-9]", "/dev/ttyS", false},
           MatchCase{"/dev/tty[!0-9]", "/dev/ttyS", true},
           MatchCase{"/dev/tty[!0-9]", "/dev/tty7", false},
           MatchCase{"/dev/[ab-]", "/dev/-", true},
           MatchCase{"/dev/[!-a]", "/dev/-", false},
           MatchCase{"/dev/[\\]x]", "/dev/]", true},
           MatchCase{"/dev/[\xC3\xA0-\xC3\xBF]", "/dev/\xC3\xA9", true},
           MatchCase{"/dev/a\\*b", "/dev/a*b", true},
           MatchCase{"/dev/a\\*b", "/dev/axb", false},
           MatchCase{"/dev/a*b*c", "/dev/abxbxc", true},
           MatchCase{"/dev/a*b*c", "/dev/abxbx", false},
           MatchCase{"/dev/*", "/dev/.hidden", false},
           MatchCase{"/dev/?hidden", "/dev/.hidden", false},
           MatchCase{"/dev/[.]hidden", "/dev/.hidden", false},
           MatchCase{"/dev/.*", "/dev/.hidden", true},
           MatchCase{"/dev/a*", "/dev/a.b", true},
           MatchCase{"/dev/*", "/dev/", false},
       })
    EXPECT_EQ(matches, Parse(pattern).Matches(path)) << pattern << " " << path;
}

TEST(Glob, KnowsItsLiteralPart) {
  EXPECT_TRUE(Parse("/dev/net/tun").is_literal());
  EXPECT_EQ("/dev/net/tun", Parse("/dev/net/tun").LiteralPrefix());
  EXPECT_EQ("/dev/a*\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80",
            Parse("/dev/a\\*\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80").LiteralPrefix());
  EXPECT_FALSE(Parse("/dev/serial/*/x").is_literal());
  EXPECT_EQ("/dev/serial", Parse("/dev/serial/*/x").LiteralPrefix());
  EXPECT_EQ("/", Parse("/*").LiteralPrefix());
  ASSERT_EQ(4, Parse("/dev/serial/*/x").components().size());
  EXPECT_EQ("serial", Parse("/dev/serial/*/x").components()[1].LiteralName());
}

TEST(Glob, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ("empty; an absolute path is expected", ErrorOf(""));
  EXPECT_EQ("not UTF-8 text", ErrorOf("/dev/\xFF"));
  EXPECT_EQ("not an absolute path; begin it with \"/\"", ErrorOf("dev/x"));
  EXPECT_EQ("character 1: a \"/\" at the end; leave it out", ErrorOf("/"));
  EXPECT_EQ("character 5: a \"/\" at the end; leave it out", ErrorOf("/dev/"));
  EXPECT_EQ("character 6: \"//\"; write a single \"/\"", ErrorOf("/dev//x"));
  EXPECT_EQ("character 6: \"..\"; write the path without it", ErrorOf("/dev/../x"));
  EXPECT_EQ("character 6: \".\"; write the path without it", ErrorOf("/dev/."));
  EXPECT_EQ(ErrorOf("/dev/../x"), ErrorOf("/dev/\\.\\./x"));
  EXPECT_EQ("character 6: \"[\" is never closed; write \"\\[\" for the character itself",
            ErrorOf("/dev/[abc"));
  EXPECT_EQ(ErrorOf("/dev/[abc"), ErrorOf("/dev/[a/b]"));
  EXPECT_EQ(ErrorOf("/dev/[abc"), ErrorOf("/dev/[a-"));
  EXPECT_EQ(ErrorOf("/dev/[abc"), ErrorOf("/dev/[a\\"));
  EXPECT_EQ(ErrorOf("/dev/[abc"), ErrorOf("/dev/[!"));
  EXPECT_EQ("character 6: brackets with nothing in them; write \"\\]\" for the character",
            ErrorOf("/dev/[]"));
  EXPECT_EQ("character 7: the range ends before it begins", ErrorOf("/dev/[z-a]"));
  EXPECT_EQ("character 7: named classes are not supported; write for example 0-9",
            ErrorOf("/dev/[[:digit:]]"));
  EXPECT_EQ("character 7: write \"[!\" for \"none of these\", or \"\\^\"", ErrorOf("/dev/[^a]"));
  EXPECT_EQ("character 6: \"**\" is not supported; name each directory, \"*\" stands for one",
            ErrorOf("/dev/**/x"));
  EXPECT_EQ(
      "character 9: \"{\" is not supported; write one rule for each, or \"\\{\" for the character "
      "itself",
      ErrorOf("/dev/tty{0,1}"));
  EXPECT_EQ("character 6: \"\\\" must have a character behind it", ErrorOf("/dev/\\"));
}

/// What "*" and "?" mean, spelled out without any cleverness.
bool Oracle(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] == '*')
    return Oracle(pattern.substr(1), name) || (!name.empty() && Oracle(pattern, name.substr(1)));
  return !name.empty() && (pattern[0] == '?' || pattern[0] == name[0]) &&
         Oracle(pattern.substr(1), name.substr(1));
}

/// Calls `each` with every text of 1 to `most` characters out of `alphabet`.
void ForEachText(std::string_view alphabet, size_t most,
                 const std::function<void(const std::string&)>& each,
                 const std::string& text = "") {
  if (!text.empty()) each(text);
  if (text.size() == most) return;
  for (char c : alphabet)
    ForEachText(alphabet, most, each, text + c);
}

TEST(Glob, AgreesWithAnOracleOnAllShortPatternsAndNames) {
  size_t checked = 0;
  ForEachText("ab*?", 4, [&checked](const std::string& pattern) {
    if (pattern.find("**") != std::string::npos) return;
    Glob glob = Parse("/" + pattern);
    ForEachText("ab", 5, [&](const std::string& name) {
      ++checked;
      ASSERT_EQ(Oracle(pattern, name), glob.Matches("/" + name)) << pattern << " " << name;
    });
  });
  EXPECT_LT(10'000, checked);
}

TEST(Glob, ManyStarsDoNotTakeForEver) {
  std::string pattern = "/";
  for (int i = 0; i < 100; ++i)
    pattern += "a*";
  EXPECT_FALSE(Parse(pattern + "b").Matches("/" + std::string(255, 'a')));
}

}  // namespace
}  // namespace tenon::base
