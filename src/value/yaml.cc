#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <map>
#include <sstream>
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
constexpr std::string_view kNotClosed =
    "this is not closed, or a comma is missing between two of its items";

struct Explanation {
  std::string_view said;  ///< How the library's message begins.
  std::string_view means;
};

/// The library's messages that leave a reader helpless, in words that say what to do.
constexpr std::array kExplanations = {
    Explanation{"illegal map value",
                "\":\" is not allowed here; begin each key on a line of its own, and quote a text "
                "that contains \": \""},
    Explanation{"end of map not found",
                "this does not line up with the keys above; give the keys of one mapping the same "
                "indentation"},
    Explanation{"end of sequence not found",
                "this does not line up with the list above; give all \"-\" of one list the same "
                "indentation"},
    Explanation{"end of map flow not found", kNotClosed},
    Explanation{"end of sequence flow not found", kNotClosed},
    Explanation{"illegal flow end", "closing bracket without an opening one"},
    Explanation{"illegal block entry", "a list item \"- \" must begin a line of its own"},
    Explanation{"unknown token", "a text that begins with this character needs quotes"},
    Explanation{"illegal EOF in scalar", "the file ends inside a quoted text"},
    Explanation{"illegal document indicator in scalar",
                "a document ends inside a quoted text; close the quotes"},
    Explanation{"unknown escape character",
                "unknown escape after \"\\\"; write \"\\\\\", or use single quotes"},
    Explanation{"invalid unicode", "this \\u escape is no character; write the character itself"},
    Explanation{"illegal tab", "tab in the indentation; use spaces"},
    Explanation{"the referenced anchor is not defined", "there is no anchor of this name above"},
};

std::string_view Explain(std::string_view said) {
  auto match = std::ranges::find_if(
      kExplanations, [said](const Explanation& e) { return said.starts_with(e.said); });
  return match == kExplanations.end() ? said : match->means;
}

/// How much room a subtree takes when it is copied.
struct Extent {
  size_t values = 0;
  size_t bytes = 0;
  size_t height = 0;
};

Extent Measure(const Value& value) {
  Extent all{.values = 1, .bytes = value.text().size()};
  auto add = [&all](const Value& child) {
    Extent inner = Measure(child);
    all.values += inner.values;
    all.bytes += inner.bytes;
    all.height = std::max(all.height, inner.height);
  };
  for (const Value& item : value.items())
    add(item);
  for (const Value::Member& member : value.members()) {
    all.bytes += member.key.size();
    add(member.value);
  }
  if (value.is_array() || value.is_object()) ++all.height;
  return all;
}

/// Turns yaml-cpp's events into trees and refuses what it lets pass although it is no YAML, or
/// is YAML that a configuration is better without. After the first fault all events are ignored.
class YamlReader final : public YAML::EventHandler {
 public:
  YamlReader(SourceText& source, const ParseLimits& limits)
      : source_(source), limits_(limits), builder_(limits) {}

  bool failed() const { return !fault_.empty(); }
  /// Takes the library's complaint, in our words and at the place where it can be mended.
  void FailFrom(const YAML::Exception& error);
  Result<std::vector<Value>> Take() {
    if (failed()) return source_.ErrorAt(fault_mark_, fault_);
    return std::move(documents_);
  }

  void OnDocumentStart(const YAML::Mark& mark) override;
  void OnDocumentEnd() override;
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override;
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    if (!AcceptTag(mark, tag)) return;
    Open({anchor, ToMark(mark), style == YAML::EmitterStyle::Flow}, Value::Array(ToMark(mark)));
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    if (!AcceptTag(mark, tag)) return;
    Open({anchor, ToMark(mark), style == YAML::EmitterStyle::Flow}, Value::Object(ToMark(mark)));
  }
  void OnMapEnd() override { Close(); }

 private:
  struct Collection {
    YAML::anchor_t anchor;
    Mark mark;
    bool flow;  ///< In brackets.
  };
  struct Anchored {
    Value value;
    Extent extent;
  };

  static Mark ToMark(const YAML::Mark& mark) {
    if (mark.is_null()) return {};
    return {mark.line + 1, mark.column + 1};
  }
  void Fail(const YAML::Mark& mark, std::string_view why) { FailAt(ToMark(mark), why); }
  void FailAt(Mark mark, std::string_view why) {
    if (failed()) return;
    fault_mark_ = mark;
    fault_ = why;
  }
  char CharAt(size_t offset) const {
    return offset < source_.text().size() ? source_.text()[offset] : '\0';
  }

  void Open(Collection collection, Value empty);
  void Close();
  void AddLeaf(const YAML::Mark& mark, YAML::anchor_t anchor, Value leaf);
  void AddKey(const YAML::Mark& mark, size_t start, const std::string& text, bool plain);
  void Remember(YAML::anchor_t anchor, const Value& value);
  /// Refuses all tags, even where the library makes nothing of them.
  bool AcceptTag(const YAML::Mark& mark, const std::string& tag);
  size_t SkipAnchor(size_t offset) const;
  void CheckClosed(size_t quote);
  void CheckTabs(size_t begin, std::string_view text);

  SourceText& source_;
  const ParseLimits limits_;
  TreeBuilder builder_;
  std::vector<Collection> collections_;  ///< Those that are open.
  std::map<YAML::anchor_t, Anchored> anchored_;
  std::vector<Value> documents_;
  size_t key_end_ = 0;  ///< What follows the last key: its ":".
  size_t document_start_ = 0;
  bool seen_document_ = false;
  Mark fault_mark_;
  std::string fault_;
};

void YamlReader::FailFrom(const YAML::Exception& error) {
  std::string_view text = source_.text();
  auto at = static_cast<size_t>(std::max(error.mark.pos, 0));
  size_t line = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
  size_t tab = text.find('\t', line);
  std::string_view why = Explain(error.msg);
  if (tab < text.find_first_not_of(" \t", line)) {
    FailAt({error.mark.line + 1, static_cast<int>(tab - line) + 1},
           "tab in the indentation; use spaces");
  } else if (why == kNotClosed && !collections_.empty()) {
    FailAt(collections_.back().mark, why);
  } else {
    Fail(error.mark, why);
  }
}

void YamlReader::OnDocumentStart(const YAML::Mark& mark) {
  auto start = static_cast<size_t>(mark.pos);
  // What the library cannot read on with, it takes for the next document, at times for ever.
  if (seen_document_) {
    std::string_view between =
        source_.text().substr(document_start_, start - std::min(start, document_start_));
    char behind = CharAt(start + 3);
    bool has_marker = mark.column == 0 && source_.text().substr(start).starts_with("---") &&
                      (behind == '\0' || kSpace.find(behind) != std::string_view::npos);
    if (!has_marker && between.find("\n...") == std::string_view::npos)
      Fail(mark, "this does not belong to what stands above; is its indentation right?");
  }
  seen_document_ = true;
  document_start_ = start;
  anchored_.clear();
}

void YamlReader::OnDocumentEnd() {
  if (failed()) return;
  Value document = builder_.TakeRoot();
  if (!document.is_null()) documents_.push_back(std::move(document));
}

void YamlReader::OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) {
  if (failed() || !AcceptTag(mark, "?")) return;
  if (builder_.ExpectsKey()) return Fail(mark, "a key must be text");
  char first = CharAt(SkipAnchor(static_cast<size_t>(mark.pos)));
  bool written = first == '~' || first == 'n' || first == 'N';
  Mark place = ToMark(mark);
  if (!collections_.empty() && !builder_.InObject() && collections_.back().flow && !written)
    return FailAt(place, "nothing stands before this comma");
  if (builder_.InObject()) {
    bool is_at_key = !collections_.back().flow && place == builder_.key_mark();
    if (is_at_key && CharAt(key_end_) != ':')
      return FailAt(place, "a key is expected here, with \":\" after it");
    // The mark of a value that is not there is the next token's.
    if (!written) place = builder_.key_mark();
  }
  AddLeaf(mark, anchor, Value::Null(place));
}

void YamlReader::OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) {
  if (failed()) return;
  if (builder_.ExpectsKey()) return Fail(mark, "a key must be text, not an alias");
  auto found = anchored_.find(anchor);
  if (found == anchored_.end()) return Fail(mark, "an alias cannot stand inside its own anchor");
  const auto& [value, extent] = found->second;
  if (builder_.depth() + extent.height > static_cast<size_t>(limits_.depth))
    return Fail(mark, "nested deeper than " + std::to_string(limits_.depth) + " levels");
  if (std::string fault = builder_.Charge(extent.values, extent.bytes); !fault.empty())
    return Fail(mark, fault);
  AddLeaf(mark, 0, value);
}

void YamlReader::OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                          const std::string& text) {
  if (failed() || !AcceptTag(mark, tag)) return;
  size_t start = SkipAnchor(static_cast<size_t>(mark.pos));
  char first = CharAt(start);
  bool plain = tag == "?";
  if (plain) CheckTabs(start, text);
  if (!plain && (first == '"' || first == '\'')) CheckClosed(start);
  if (text.find('\0') != std::string::npos) Fail(mark, "the text contains a NUL character");
  // The source is valid UTF-8, so this is the library's: it writes these two as one raw byte.
  if (!base::IsValidUtf8(text))
    Fail(mark, "the escapes \\N and \\_ are not supported; write the character itself");
  if (failed()) return;
  if (builder_.ExpectsKey()) return AddKey(mark, start, text, plain);
  AddLeaf(mark, anchor,
          plain ? Value::Scalar(text, ToMark(mark)) : Value::String(text, ToMark(mark)));
}

void YamlReader::Open(Collection collection, Value empty) {
  if (failed()) return;
  if (builder_.ExpectsKey()) return FailAt(collection.mark, "a key must be text");
  if (std::string fault = builder_.Open(std::move(empty)); !fault.empty())
    return FailAt(collection.mark, fault);
  collections_.push_back(collection);
}

void YamlReader::Close() {
  if (failed()) return;
  YAML::anchor_t anchor = collections_.back().anchor;
  collections_.pop_back();
  const Value& value = builder_.Close();
  Remember(anchor, value);
}

void YamlReader::AddLeaf(const YAML::Mark& mark, YAML::anchor_t anchor, Value leaf) {
  Remember(anchor, leaf);
  if (std::string fault = builder_.Add(std::move(leaf)); !fault.empty()) Fail(mark, fault);
}

void YamlReader::AddKey(const YAML::Mark& mark, size_t start, const std::string& text, bool plain) {
  if (plain && text == "<<")
    return Fail(mark, "merge keys are not supported; repeat the keys instead");
  builder_.Key(text, ToMark(mark));
  // The library itself sees to it that there is one behind a quoted key.
  key_end_ = plain ? source_.text().find_first_not_of(" \t", start + text.size())
                   : source_.text().find(':', start);
}

void YamlReader::Remember(YAML::anchor_t anchor, const Value& value) {
  if (anchor == 0) return;
  Extent extent = Measure(value);
  std::string fault = builder_.Charge(extent.values, extent.bytes);
  if (!fault.empty()) return FailAt(value.mark(), fault);
  anchored_.insert_or_assign(anchor, Anchored{value, extent});
}

bool YamlReader::AcceptTag(const YAML::Mark& mark, const std::string& tag) {
  bool none_given = tag == "?" || tag == "!";
  if (none_given && CharAt(SkipAnchor(static_cast<size_t>(mark.pos))) != '!') return true;
  Fail(mark, "tags are not supported; put quotes around what is meant as text");
  return false;
}

/// The offset of what follows an anchor, or `offset` itself where there is none.
size_t YamlReader::SkipAnchor(size_t offset) const {
  std::string_view text = source_.text();
  while (CharAt(offset) == '&') {
    offset = std::min(text.find_first_of(kSpace, offset), text.size());
    offset = std::min(text.find_first_not_of(kSpace, offset), text.size());
  }
  return offset;
}

/// The library takes the end of the file for the end of a quoted text.
void YamlReader::CheckClosed(size_t quote) {
  std::string_view text = source_.text();
  char kind = text[quote];
  for (size_t i = quote + 1; i < text.size(); ++i) {
    bool escape = kind == '"' ? text[i] == '\\' : text.substr(i).starts_with("''");
    if (escape) {
      ++i;
    } else if (text[i] == kind) {
      return;
    }
  }
  FailAt(source_.MarkAt(quote), "this quote is never closed");
}

/// Refuses tabs in front of the further lines of a plain text. Such a line is more of the text to
/// YAML, whatever it looks like to whoever indented it.
void YamlReader::CheckTabs(size_t begin, std::string_view text) {
  std::string_view source = source_.text();
  size_t at = begin;
  for (char c : text) {
    if (kSpace.find(c) != std::string_view::npos) continue;
    size_t next = std::min(source.find_first_not_of(kSpace, at), source.size());
    std::string_view skipped = source.substr(at, next - at);
    size_t line_end = skipped.rfind('\n');
    size_t tab = line_end == std::string_view::npos ? line_end : skipped.find('\t', line_end);
    if (tab != std::string_view::npos)
      return FailAt(source_.MarkAt(at + tab), "tab in the indentation; use spaces");
    at = next + (next < source.size() && source[next] == c ? 1 : 0);
  }
}

/// The library keeps every token of an open "[" or "{" in memory until it is closed. Each value
/// in there but the last has one of these behind or before it.
bool MayExceed(std::string_view text, size_t values) {
  auto is_flow = [](char c) { return c == ',' || c == '[' || c == '{'; };
  return text.size() > values && static_cast<size_t>(std::ranges::count_if(text, is_flow)) > values;
}

/// The library takes a last line that is only space for a part of the block scalar above.
std::string_view WithoutLastSpace(std::string_view text) {
  size_t end = text.find_last_not_of(" \t");
  return end != std::string_view::npos && text[end] == '\n' ? text.substr(0, end + 1) : text;
}

}  // namespace

Result<std::vector<Value>> ParseYaml(std::string_view text, std::string_view name,
                                     const ParseLimits& limits) {
  SourceText source(text, name);
  TENON_TRY_VOID(source.Check(limits.bytes));
  if (MayExceed(source.text(), limits.values))
    return source.ErrorAt({}, "more than " + std::to_string(limits.values) + " values");
  std::istringstream stream{std::string(WithoutLastSpace(source.text()))};
  YamlReader reader(source, limits);
  try {
    YAML::Parser parser(stream);
    while (!reader.failed() && parser.HandleNextDocument(reader)) {
    }
  } catch (const YAML::Exception& error) {
    reader.FailFrom(error);
  }
  return reader.Take();
}

}  // namespace tenon
