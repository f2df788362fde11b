#include "config/rule_reader.h"

#include <algorithm>

#include "base/strings.h"

namespace tenon::config {
namespace {

std::string CountRange() {
  return "a number from 1 to " + std::to_string(kMaxVirtualDevices);
}

/// What is wrong with a path that is to be used as it stands, or an empty text.
std::string_view PlainPathFault(std::string_view path) {
  if (!path.starts_with('/')) return "not an absolute path; begin it with \"/\"";
  if (path == "/") return "the root itself; write a path below it";
  if (path.ends_with('/')) path.remove_suffix(1);
  for (std::string_view component : base::Split(path.substr(1), '/')) {
    if (component.empty()) return "\"//\"; write a single \"/\"";
    if (component == "." || component == "..")
      return "contains \".\" or \"..\"; write the path without it";
  }
  bool printable = std::ranges::all_of(path, [](char c) { return c != '\n' && c != '\r'; });
  return printable ? "" : "more than one line; write the path on one";
}

/// What was written, or what kind of thing stands there instead of text.
std::string Shown(const Value& value) {
  return value.AsString() ? Quoted(value.text()) : "is " + std::string(value.KindName());
}

}  // namespace

std::optional<DeviceRule> RuleReader::Read(const Value& value) {
  StrictMapping rule(value, {"path", "virtual", "mountPath", "permissions", "unsafe"},
                     "\"path: /dev/fuse\"", faults_);
  if (!rule.ok()) return std::nullopt;
  bool has_path = rule.Find("path") != nullptr;
  bool has_virtual = rule.Find("virtual") != nullptr;
  if (has_path && has_virtual)
    faults_.Add(rule.KeyMark("virtual"),
                "\"path\" and \"virtual\" in one rule; make two rules of them, each with \"- \"");
  if (!has_path && !has_virtual && !rule.has_unknown_key())
    faults_.Add(rule.mark(),
                "this rule does not say which devices; add \"path: /dev/fuse\" or \"virtual: "
                "{count: 4}\"");
  if (has_path) {
    if (auto path = ReadPath(rule)) return DeviceRule{*std::move(path), rule.mark()};
  } else if (has_virtual) {
    if (auto count = ReadVirtual(rule)) return DeviceRule{*count, rule.mark()};
  }
  return std::nullopt;
}

std::optional<PathRule> RuleReader::ReadPath(const StrictMapping& rule) {
  PathRule path;
  ReadPermissions(rule, path);
  ReadUnsafe(rule, path);
  const std::string* pattern = rule.Text("path");
  if (pattern == nullptr) return std::nullopt;
  Mark mark = rule.Find("path")->mark();
  auto glob = base::Glob::Parse(*pattern);
  if (!glob) {
    faults_.Add(mark, "path " + Quoted(*pattern) + ": " + glob.error().message());
    return std::nullopt;
  }
  path.path = *std::move(glob);
  path.pattern = *pattern;
  ReadMountPath(rule, path);
  CheckReach(mark, path);
  CheckOnce(mark, path);
  return path;
}

void RuleReader::ReadMountPath(const StrictMapping& rule, PathRule& path) {
  const std::string* text = rule.Text("mountPath");
  if (text == nullptr) return;
  Mark mark = rule.Find("mountPath")->mark();
  std::string_view fault = PlainPathFault(*text);
  if (!fault.empty()) {
    faults_.Add(mark, "mountPath " + Quoted(*text) + ": " + std::string(fault));
  } else if (!path.path.is_literal() && !text->ends_with('/')) {
    faults_.Add(mark, "mountPath " + Quoted(*text) +
                          ": the pattern can match several device nodes; end it with \"/\", and "
                          "each keeps its name in that directory");
  }
  path.mount_path = *text;
}

void RuleReader::ReadPermissions(const StrictMapping& rule, PathRule& path) {
  const std::string* text = rule.Text("permissions");
  if (text == nullptr) return;
  std::string letters = *text;
  std::ranges::sort(letters);
  bool known = std::ranges::all_of(
      letters, [](char c) { return std::string_view("rwm").find(c) != std::string_view::npos; });
  if (letters.empty() || !known || std::ranges::adjacent_find(letters) != letters.end())
    faults_.Add(rule.Find("permissions")->mark(),
                "permissions " + Quoted(*text) +
                    "; write one or more of \"r\" (read), \"w\" (write) and \"m\" (mknod), each "
                    "once");
  path.permissions = *text;
}

void RuleReader::ReadUnsafe(const StrictMapping& rule, PathRule& path) {
  const Value* value = rule.Find("unsafe");
  if (value == nullptr) return;
  auto is_unsafe = value->AsBool();
  if (!is_unsafe)
    faults_.Add(value->mark(), "unsafe " + Shown(*value) + "; write true or false, without quotes");
  path.unsafe = is_unsafe.value_or(false);
}

void RuleReader::CheckReach(Mark mark, const PathRule& path) {
  std::string prefix = path.path.LiteralPrefix();
  std::string name = "path " + Quoted(path.pattern);
  if (prefix == "/dev" && path.path.is_literal()) {
    faults_.Add(mark, name + ": a directory; name the device nodes in it, for example /dev/fuse");
  } else if (prefix == "/") {
    faults_.Add(mark, name + ": a wildcard right below \"/\"; begin it with /dev/");
  } else if (!allowed_.Covers(prefix)) {
    faults_.Add(mark, name + ": not below /dev; start tenond with --allow-path " +
                          base::EscapeForLine(prefix) + " if rules may reach that far");
  } else if (path.unsafe && prefix == "/dev") {
    faults_.Add(mark, name + ": too wide to be unsafe; name what is meant, or its directory");
  } else if (path.unsafe && !allowed_.CoversByName(prefix)) {
    faults_.Add(mark, name +
                          ": an unsafe rule must be allowed by name; start tenond with "
                          "--allow-path " +
                          base::EscapeForLine(prefix));
  } else if (!path.unsafe && IsUnsafePath(prefix)) {
    faults_.Add(mark, name +
                          ": whoever holds it owns the machine; if that is meant, add \"unsafe: "
                          "true\" and start tenond with --allow-path " +
                          prefix);
  }
}

void RuleReader::CheckOnce(Mark mark, const PathRule& path) {
  if (!path.path.is_literal()) return;
  auto [first, is_first] = literal_paths_.emplace(path.path.LiteralPrefix(), mark);
  if (!is_first)
    faults_.Add(mark, "path " + Quoted(path.pattern) + " is offered already, in line " +
                          std::to_string(first->second.line) +
                          "; give each device node to one rule only");
}

std::optional<VirtualRule> RuleReader::ReadVirtual(const StrictMapping& rule) {
  for (std::string_view key : {"mountPath", "permissions", "unsafe"})
    if (rule.Find(key) != nullptr)
      faults_.Add(rule.KeyMark(key), Quoted(key) +
                                         " belongs to \"path\"; leave it out, a virtual device has "
                                         "no device node");
  StrictMapping source(*rule.Find("virtual"), {"count"}, "\"virtual: {count: 4}\"", faults_);
  if (!source.ok()) return std::nullopt;
  const Value* count = source.Find("count");
  if (count == nullptr) {
    if (!source.has_unknown_key())
      faults_.Add(source.mark(), "\"count\" is missing; add \"count:\" and " + CountRange());
    return std::nullopt;
  }
  auto number = count->AsInt();
  if (number && *number >= 1 && *number <= kMaxVirtualDevices) return VirtualRule{*number};
  std::string_view why = number && *number > kMaxVirtualDevices
                             ? " (a kubelet does not take a longer list)"
                             : ", without quotes";
  faults_.Add(count->mark(),
              "count " + Shown(*count) + "; write " + CountRange() + std::string(why));
  return std::nullopt;
}

}  // namespace tenon::config
