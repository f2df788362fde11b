#include <string>
#include <utility>

#include "cdi/spec.h"
#include "value/value.h"

namespace tenon::cdi {
namespace {

/// Source: SPEC.md, "Released versions": device names that begin with a digit and hostPath came
/// with 0.5.0, dots in the class with 0.6.0, additionalGids with 0.7.0.
std::string LowestVersion(const Spec& spec) {
  bool has_gids = !spec.edits.additional_gids.empty();
  for (const auto& [name, edits] : spec.devices)
    has_gids |= !edits.additional_gids.empty();
  if (has_gids) return "0.7.0";
  return spec.kind.find('.', spec.kind.find('/')) != std::string::npos ? "0.6.0" : "0.5.0";
}

void AddText(Value& object, std::string_view key, const std::string& text) {
  if (!text.empty()) object.Add(key, Value::String(text));
}

void AddTexts(Value& object, std::string_view key, const std::vector<std::string>& texts) {
  if (texts.empty()) return;
  Value& list = object.Add(key, Value::Array());
  for (const std::string& text : texts)
    list.Append(Value::String(text));
}

void AddNumber(Value& object, std::string_view key, const std::optional<int64_t>& number) {
  if (number) object.Add(key, Value::Number(*number));
}

Value ToValue(const DeviceNodeEdit& node) {
  Value out = Value::Object();
  out.Add("path", Value::String(node.path));
  if (node.host_path != node.path) out.Add("hostPath", Value::String(node.host_path));
  AddText(out, "type", node.type);
  AddNumber(out, "major", node.major);
  AddNumber(out, "minor", node.minor);
  AddNumber(out, "fileMode", node.file_mode);
  out.Add("permissions", Value::String(node.permissions));
  AddNumber(out, "uid", node.uid);
  AddNumber(out, "gid", node.gid);
  return out;
}

Value ToValue(const MountEdit& mount) {
  Value out = Value::Object();
  out.Add("hostPath", Value::String(mount.host_path));
  out.Add("containerPath", Value::String(mount.container_path));
  AddText(out, "type", mount.type);
  AddTexts(out, "options", mount.options);
  return out;
}

Value ToValue(const HookEdit& hook) {
  Value out = Value::Object();
  out.Add("hookName", Value::String(hook.name));
  out.Add("path", Value::String(hook.path));
  AddTexts(out, "args", hook.args);
  AddTexts(out, "env", hook.env);
  AddNumber(out, "timeout", hook.timeout);
  return out;
}

template <class T>
void AddEach(Value& object, std::string_view key, const std::vector<T>& items) {
  if (items.empty()) return;
  Value& list = object.Add(key, Value::Array());
  for (const T& item : items)
    list.Append(ToValue(item));
}

Value ToValue(const ContainerEdits& edits) {
  Value out = Value::Object();
  AddTexts(out, "env", edits.env);
  AddEach(out, "deviceNodes", edits.device_nodes);
  AddEach(out, "mounts", edits.mounts);
  AddEach(out, "hooks", edits.hooks);
  if (edits.additional_gids.empty()) return out;
  Value& gids = out.Add("additionalGids", Value::Array());
  for (int64_t gid : edits.additional_gids)
    gids.Append(Value::Number(gid));
  return out;
}

}  // namespace

std::string FormatSpec(const Spec& spec) {
  Value out = Value::Object();
  out.Add("cdiVersion", Value::String(LowestVersion(spec)));
  out.Add("kind", Value::String(spec.kind));
  if (spec.edits != ContainerEdits()) out.Add("containerEdits", ToValue(spec.edits));
  Value& devices = out.Add("devices", Value::Array());
  for (const auto& [name, edits] : spec.devices) {
    Value& device = devices.Append(Value::Object());
    device.Add("name", Value::String(name));
    device.Add("containerEdits", ToValue(edits));
  }
  return ToJson(out, true) + "\n";
}

}  // namespace tenon::cdi
