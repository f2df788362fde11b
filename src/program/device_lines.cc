#include "program/device_lines.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/strings.h"
#include "value/value.h"

namespace tenon::program {
namespace {

constexpr ParseLimits kLimits{.bytes = size_t{64} << 10, .depth = 8, .values = 4096};
constexpr int kMostNumaNodes = 1024;

Error Wrong(std::string why) {
  return {Code::kInvalidArgument, std::move(why)};
}

bool IsOneOf(char c, std::string_view set) {
  return set.find(c) != std::string_view::npos;
}

bool IsAlnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool IsVariable(std::string_view name) {
  return !name.empty() && !(name[0] >= '0' && name[0] <= '9') &&
         std::ranges::all_of(name, [](char c) { return IsAlnum(c) || c == '_'; });
}

bool IsAnnotation(std::string_view name) {
  return !name.empty() && name.size() <= 317 && IsAlnum(name.front()) && IsAlnum(name.back()) &&
         std::ranges::all_of(name, [](char c) { return IsAlnum(c) || IsOneOf(c, "-_./"); });
}

bool IsPlainPath(std::string_view path) {
  if (!path.starts_with('/') || path.size() > 4096) return false;
  for (std::string_view part : base::Split(path.substr(1), '/'))
    if (part.empty() || part == "." || part == "..") return false;
  return path.find('\0') == std::string_view::npos;
}

bool IsPermissions(std::string_view text) {
  return !text.empty() && text.size() <= 3 &&
         std::ranges::all_of(text, [](char c) { return IsOneOf(c, "rwm"); });
}

Result<void> CheckKeys(const Value& object, const std::vector<std::string_view>& known) {
  for (const Value::Member& member : object.members())
    if (std::ranges::find(known, member.key) == known.end())
      return Wrong("unknown key \"" + base::EscapeForLine(member.key) + "\"");
  return {};
}

Result<std::string> ReadText(const Value& object, std::string_view key) {
  const Value* value = object.Find(key);
  if (value == nullptr) return std::string();
  if (value->kind() != Value::Kind::kString)
    return Wrong("\"" + std::string(key) + "\" is no text");
  return value->text();
}

Result<ToldPath> ReadPath(const Value& value) {
  ToldPath path;
  if (value.kind() == Value::Kind::kString) {
    path.path = value.text();
  } else if (value.is_object()) {
    TENON_TRY_VOID(CheckKeys(value, {"path", "mountPath", "permissions"}));
    TENON_TRY(path.path, ReadText(value, "path"));
    TENON_TRY(path.mount_path, ReadText(value, "mountPath"));
    TENON_TRY(path.permissions, ReadText(value, "permissions"));
  }
  if (!IsPlainPath(path.path)) return Wrong("a path is not absolute and plain");
  if (!path.mount_path.empty() && !IsPlainPath(path.mount_path))
    return Wrong("a mountPath is not absolute and plain");
  if (!path.permissions.empty() && !IsPermissions(path.permissions))
    return Wrong("permissions are not of r, w and m");
  return path;
}

Result<std::map<std::string, std::string>> ReadTexts(const Value& object, std::string_view key,
                                                     bool (*fits)(std::string_view)) {
  std::map<std::string, std::string> texts;
  const Value* value = object.Find(key);
  if (value == nullptr) return texts;
  if (!value->is_object()) return Wrong("\"" + std::string(key) + "\" is no object");
  for (const Value::Member& member : value->members()) {
    const bool is_text = member.value.kind() == Value::Kind::kString &&
                         member.value.text().find('\0') == std::string::npos;
    if (!is_text || !fits(member.key))
      return Wrong("\"" + std::string(key) + "\": " + base::EscapeForLine(member.key) +
                   " is no name, or its value no text");
    texts[member.key] = member.value.text();
  }
  return texts;
}

Result<std::vector<int>> ReadNumaNodes(const Value& object) {
  std::set<int> numa_nodes;
  if (const Value* value = object.Find("numaNodes")) {
    for (const Value& item : value->items()) {
      auto number = item.AsInt();
      if (!number || *number < 0 || *number >= kMostNumaNodes)
        return Wrong("\"numaNodes\" is no list of numbers");
      numa_nodes.insert(static_cast<int>(*number));
    }
  }
  return std::vector<int>(numa_nodes.begin(), numa_nodes.end());
}

Result<std::vector<ToldPath>> ReadPaths(const Value& object) {
  std::vector<ToldPath> all;
  const Value* paths = object.Find("paths");
  if (paths == nullptr) return all;
  if (!paths->is_array()) return Wrong("\"paths\" is no list");
  for (const Value& path : paths->items()) {
    TENON_TRY(all.emplace_back(), ReadPath(path));
  }
  return all;
}

Result<ToldDevice> ReadDevice(std::string_view line) {
  TENON_TRY(Value object, ParseJson(line, "JSON", kLimits));
  if (!object.is_object()) return Wrong("no JSON object");
  TENON_TRY_VOID(
      CheckKeys(object, {"id", "healthy", "reason", "paths", "numaNodes", "env", "annotations"}));
  ToldDevice device;
  TENON_TRY(device.id, ReadText(object, "id"));
  if (device.id.empty()) return Wrong("\"id\" is missing");
  if (const Value* healthy = object.Find("healthy")) {
    if (!healthy->AsBool()) return Wrong("\"healthy\" is neither true nor false");
    device.healthy = *healthy->AsBool();
  }
  TENON_TRY(device.reason, ReadText(object, "reason"));
  TENON_TRY(device.paths, ReadPaths(object));
  TENON_TRY(device.numa_nodes, ReadNumaNodes(object));
  TENON_TRY(device.env, ReadTexts(object, "env", &IsVariable));
  TENON_TRY(device.annotations, ReadTexts(object, "annotations", &IsAnnotation));
  return device;
}

Result<void> ReadVersion(std::string_view line) {
  auto head = ParseJson(line, "JSON", kLimits);
  const Value* version = head ? head->Find("tenon") : nullptr;
  if (version == nullptr || !version->AsInt())
    return Wrong("the first line is not {\"tenon\": 1}: " +
                 base::EscapeForLine(line.substr(0, 60)));
  if (*version->AsInt() != kDeviceLinesVersion)
    return Wrong("it speaks version " + version->text() + ", not 1");
  return {};
}

}  // namespace

Result<ToldDevices> ReadDeviceLines(std::string_view text) {
  const std::vector<std::string_view> lines = base::Split(text, '\n');
  TENON_TRY_VOID(ReadVersion(lines.empty() ? "" : lines.front()));
  ToldDevices told;
  std::set<std::string> ids;
  for (size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].find_first_not_of(" \r\t") == std::string_view::npos) continue;
    auto device = ReadDevice(lines[i]);
    const std::string place = "line " + std::to_string(i + 1);
    if (!device)
      told.faults.push_back(place + ": " + device.error().message());
    else if (!ids.insert(device->id).second)
      told.faults.push_back(place + ": a second device " + base::EscapeForLine(device->id));
    else
      told.devices.push_back(*std::move(device));
  }
  return told;
}

}  // namespace tenon::program
