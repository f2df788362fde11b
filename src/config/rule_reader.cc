#include "config/rule_reader.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/strings.h"
#include "config/selector_reader.h"

namespace tenon::config {
namespace {

using Keys = std::vector<std::string_view>;

constexpr int64_t kMaxLimit = 1000;
constexpr int64_t kCommandEvery = 60;

const Keys& Selectors() {
  static const Keys selectors = {"path", "usb", "pci", "sysfs", "virtual", "command", "all"};
  return selectors;
}

/// What may stand beside a selector.
Keys KeysBeside(std::string_view selector) {
  if (selector == "virtual" || selector == "all") return {};
  Keys keys = {"mountPath", "permissions", "shared", "unsafe"};
  if (selector == "command") keys = {"mountPath", "permissions", "shared"};
  if (selector == "path") keys.insert(keys.end(), {"type", "readOnly"});
  if (selector == "usb" || selector == "pci") keys.push_back("nodes");
  return keys;
}

Keys KnownKeys(bool in_group) {
  Keys keys = {"path",  "usb",       "pci",         "sysfs", "virtual",  "command", "all",
               "nodes", "mountPath", "permissions", "type",  "readOnly", "shared",  "unsafe"};
  if (!in_group) return keys;
  std::erase(keys, "virtual");
  std::erase(keys, "command");
  std::erase(keys, "all");
  keys.insert(keys.end(), {"optional", "limit"});
  return keys;
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

bool IsSubsystem(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

}  // namespace

std::optional<DeviceRule> RuleReader::Read(const Value& value) {
  StrictMapping rule(value, KnownKeys(false), "\"path: /dev/fuse\"", faults_);
  if (!rule.ok()) return std::nullopt;
  if (rule.Find("all") != nullptr) return ReadGroup(rule);
  auto member = ReadMember(rule, false);
  if (!member) return std::nullopt;
  return DeviceRule{.members = {*std::move(member)}, .mark = rule.mark()};
}

std::optional<DeviceRule> RuleReader::ReadGroup(const StrictMapping& rule) {
  CheckKeys(rule, "all");
  const auto* items = rule.List("all");
  if (items == nullptr) return std::nullopt;
  DeviceRule group{.group = true, .mark = rule.mark()};
  bool optional_only = true;
  for (const Value& item : *items) {
    StrictMapping mapping(item, KnownKeys(true), "\"path: /dev/fuse\"", faults_);
    if (!mapping.ok()) continue;
    auto member = ReadMember(mapping, true);
    if (!member) {
      optional_only = false;
      continue;
    }
    optional_only = optional_only && member->optional;
    group.members.push_back(*std::move(member));
  }
  if (optional_only && !group.members.empty())
    faults_.Add(rule.mark(), "all members are optional; leave that out of the one that matters");
  if (group.members.empty()) return std::nullopt;
  return group;
}

std::optional<Member> RuleReader::ReadMember(const StrictMapping& rule, bool in_group) {
  std::string_view selector;
  for (std::string_view key : Selectors()) {
    if (rule.Find(key) == nullptr) continue;
    if (in_group && (key == "virtual" || key == "command" || key == "all"))
      continue;  // Unknown here, and told.
    if (selector.empty())
      selector = key;
    else
      faults_.Add(rule.KeyMark(key), Quoted(selector) + " and " + Quoted(key) +
                                         " in one rule; make two rules of them, each with \"- \"");
  }
  if (selector.empty()) {
    if (!rule.has_unknown_key())
      faults_.Add(rule.mark(),
                  "this rule does not say which devices; add \"path: /dev/fuse\", \"usb: {vendor: "
                  "...}\", \"pci: {...}\", \"sysfs: {...}\"" +
                      std::string(in_group ? "" : " or \"virtual: {count: 4}\""));
    return std::nullopt;
  }
  CheckKeys(rule, selector);
  Member member{.mark = rule.mark()};
  member.nodes = ReadNodes(rule);
  member.optional = rule.Flag("optional");
  member.limit = rule.Number("limit", 1, kMaxLimit).value_or(1);
  if (!ReadSource(rule, selector, member)) return std::nullopt;
  CheckUnsafeSelector(rule, member);
  return member;
}

bool RuleReader::ReadSource(const StrictMapping& rule, std::string_view selector, Member& member) {
  auto take = [&member](auto source) {
    if (!source) return false;
    member.source = *std::move(source);
    return true;
  };
  if (selector == "path") return take(ReadPath(rule, member.nodes));
  if (selector == "command") {
    auto list = programs_.ReadPeriodic(rule, selector, kCommandEvery);
    if (!list) return false;
    member.source = CommandRule{*std::move(list)};
    return true;
  }
  const Value& value = *rule.Find(selector);
  if (selector == "usb") return take(ReadUsb(value, ReadSubsystems(rule), faults_));
  if (selector == "pci") return take(ReadPci(value, ReadSubsystems(rule), faults_));
  if (selector == "sysfs") return take(ReadSysfs(value, faults_));
  return take(ReadVirtual(value, faults_));
}

void RuleReader::CheckKeys(const StrictMapping& rule, std::string_view selector) {
  const Keys allowed = KeysBeside(selector);
  for (std::string_view key :
       {"nodes", "mountPath", "permissions", "type", "readOnly", "shared", "unsafe"}) {
    if (rule.Find(key) == nullptr || std::ranges::find(allowed, key) != allowed.end()) continue;
    faults_.Add(rule.KeyMark(key),
                Quoted(key) + " does not go with " + Quoted(selector) +
                    (selector == "all" ? "; write it in the members" : "; leave it out"));
  }
  if (selector != "all") return;
  for (std::string_view other : Selectors())
    if (other != "all" && rule.Find(other) != nullptr)
      faults_.Add(rule.KeyMark(other),
                  "\"all\" and " + Quoted(other) +
                      " in one rule; make two rules of them, each with \"- \"");
}

NodeRule RuleReader::ReadNodes(const StrictMapping& rule) {
  NodeRule nodes;
  ReadMountPaths(rule, nodes);
  ReadPermissions(rule, nodes);
  ReadType(rule, nodes);
  nodes.shared = rule.Flag("shared");
  nodes.unsafe = rule.Flag("unsafe");
  return nodes;
}

std::vector<std::string> RuleReader::ReadSubsystems(const StrictMapping& rule) {
  std::vector<std::string> subsystems = rule.Texts("nodes");
  for (const std::string& subsystem : subsystems)
    if (!IsSubsystem(subsystem))
      faults_.Add(rule.Find("nodes")->mark(),
                  "nodes " + Quoted(subsystem) + "; write subsystems of the kernel, as in [tty]");
  return subsystems;
}

void RuleReader::ReadMountPaths(const StrictMapping& rule, NodeRule& nodes) {
  nodes.mount_paths = rule.Texts("mountPath");
  for (const std::string& path : nodes.mount_paths) {
    std::string_view fault = PlainPathFault(path);
    if (!fault.empty())
      faults_.Add(rule.Find("mountPath")->mark(),
                  "mountPath " + Quoted(path) + ": " + std::string(fault));
  }
}

void RuleReader::ReadPermissions(const StrictMapping& rule, NodeRule& nodes) {
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
  nodes.permissions = *text;
}

void RuleReader::ReadType(const StrictMapping& rule, NodeRule& nodes) {
  if (const std::string* type = rule.Text("type")) {
    nodes.mount = *type == "mount";
    if (*type != "mount" && *type != "device")
      faults_.Add(rule.Find("type")->mark(), "type " + Quoted(*type) +
                                                 "; write \"device\" for a device node or "
                                                 "\"mount\" for a directory or socket");
  }
  nodes.read_only = rule.Flag("readOnly");
  if (!nodes.mount && rule.Find("readOnly") != nullptr)
    faults_.Add(
        rule.KeyMark("readOnly"),
        "\"readOnly\" goes with \"type: mount\"; for a device node write \"permissions: r\"");
  if (nodes.mount && rule.Find("permissions") != nullptr)
    faults_.Add(rule.KeyMark("permissions"),
                "\"permissions\" goes with device nodes; for a mount write \"readOnly: true\"");
}

std::optional<PathRule> RuleReader::ReadPath(const StrictMapping& rule, const NodeRule& nodes) {
  const std::string* pattern = rule.Text("path");
  if (pattern == nullptr) return std::nullopt;
  Mark mark = rule.Find("path")->mark();
  auto glob = base::Glob::Parse(*pattern);
  if (!glob) {
    faults_.Add(mark, "path " + Quoted(*pattern) + ": " + glob.error().message());
    return std::nullopt;
  }
  PathRule path{.path = *std::move(glob), .pattern = *pattern};
  for (const std::string& mount_path : nodes.mount_paths)
    if (!path.path.is_literal() && !mount_path.ends_with('/') && PlainPathFault(mount_path).empty())
      faults_.Add(rule.Find("mountPath")->mark(),
                  "mountPath " + Quoted(mount_path) +
                      ": the pattern can match several device nodes; end it with \"/\", and "
                      "each keeps its name in that directory");
  CheckReach(mark, path, nodes.unsafe);
  CheckOnce(mark, path, nodes.shared);
  return path;
}

void RuleReader::CheckReach(Mark mark, const PathRule& path, bool unsafe) {
  std::string prefix = path.path.LiteralPrefix();
  std::string name = "path " + Quoted(path.pattern);
  if (prefix == "/dev" && path.path.is_literal()) {
    faults_.Add(mark, name + ": a directory; name the device nodes in it, for example /dev/fuse");
  } else if (prefix == "/") {
    faults_.Add(mark, name + ": a wildcard right below \"/\"; begin it with /dev/");
  } else if (!allowed_.Covers(prefix)) {
    faults_.Add(mark, name + ": not below /dev; start tenond with --allow-path " +
                          base::EscapeForLine(prefix) + " if rules may reach that far");
  } else if (unsafe && prefix == "/dev") {
    faults_.Add(mark, name + ": too wide to be unsafe; name what is meant, or its directory");
  } else if (unsafe && !allowed_.CoversByName(prefix)) {
    faults_.Add(mark, name +
                          ": an unsafe rule must be allowed by name; start tenond with "
                          "--allow-path " +
                          base::EscapeForLine(prefix));
  } else if (!unsafe && IsUnsafePath(prefix)) {
    faults_.Add(mark, name +
                          ": whoever holds it owns the machine; if that is meant, add \"unsafe: "
                          "true\" and start tenond with --allow-path " +
                          prefix);
  }
}

void RuleReader::CheckUnsafeSelector(const StrictMapping& rule, const Member& member) {
  if (!member.nodes.unsafe || std::holds_alternative<PathRule>(member.source)) return;
  const auto* sysfs = std::get_if<SysfsRule>(&member.source);
  if (sysfs != nullptr && sysfs->subsystem == "mem")
    faults_.Add(rule.KeyMark("unsafe"), "memory by its subsystem; name what is meant as \"path\"");
  else if (!allowed_.CoversByName("/dev/block"))
    faults_.Add(rule.KeyMark("unsafe"),
                "a selector that may find block devices must be allowed; start tenond with "
                "--allow-path /dev/block");
}

void RuleReader::CheckOnce(Mark mark, const PathRule& path, bool shared) {
  if (!path.path.is_literal()) return;
  auto [first, is_first] = offered_.paths.emplace(path.path.LiteralPrefix(),
                                                  Offered::Path{faults_.PlaceOf(mark), shared});
  if (is_first || (first->second.shared && shared)) return;
  faults_.Add(mark, "path " + Quoted(path.pattern) + " is offered already, in " +
                        faults_.Reference(first->second.place) +
                        "; give each device node to one rule only, or let both say \"shared: "
                        "true\"");
}

}  // namespace tenon::config
