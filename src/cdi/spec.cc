#include "cdi/spec.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "base/strings.h"
#include "value/value.h"

namespace tenon::cdi {
namespace {

using Keys = std::initializer_list<std::string_view>;

/// Source: OCI runtime-spec, config.md "POSIX-platform Hooks".
constexpr std::array<std::string_view, 6> kHookNames = {
    "prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop"};

bool IsLetterOrDigit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// Letters and digits, in between them also `inner`.
bool IsName(std::string_view text, std::string_view inner) {
  return !text.empty() && IsLetterOrDigit(text.front()) && IsLetterOrDigit(text.back()) &&
         std::all_of(text.begin(), text.end(), [inner](char c) {
           return IsLetterOrDigit(c) || inner.find(c) != std::string_view::npos;
         });
}

bool IsKind(std::string_view text) {
  const size_t slash = text.find('/');
  return slash != std::string_view::npos && IsName(text.substr(0, slash), "_-.") &&
         IsName(text.substr(slash + 1), "_-.");
}

bool IsDeviceName(std::string_view text) {
  return IsName(text, "_-.:");
}

bool IsKnownVersion(std::string_view text) {
  const auto parts = base::Split(text, '.');
  return parts.size() == 3 && (parts[0] == "0" || parts[0] == "1") &&
         base::ParseInt64(parts[1]).value_or(-1) >= 0 &&
         base::ParseInt64(parts[2]).value_or(-1) >= 0;
}

/// Reads one file; the first fault ends it.
class SpecReader final {
 public:
  explicit SpecReader(std::string_view name) : name_(name) {}

  Result<Spec> Read(const Value& file) const {
    TENON_TRY_VOID(CheckKeys(file, "the spec",
                             {"cdiVersion", "kind", "annotations", "devices", "containerEdits"}));
    TENON_TRY(const std::string version, Text(file, "cdiVersion"));
    if (!IsKnownVersion(version)) return At(file, "cdiVersion is none that is known, as 0.6.0 is");
    Spec out;
    TENON_TRY(out.kind, Text(file, "kind"));
    if (!IsKind(out.kind)) return At(file, "kind must be VENDOR/CLASS, vendor.com/gpu");
    if (const Value* edits = file.Find("containerEdits")) {
      TENON_TRY(out.edits, ReadEdits(*edits));
    }
    TENON_TRY(const auto* devices, List(file, "devices"));
    if (devices->empty()) return At(file, "devices must not be empty");
    for (const Value& device : *devices)
      TENON_TRY_VOID(ReadDevice(device, out));
    return out;
  }

 private:
  Result<void> ReadDevice(const Value& value, Spec& out) const {
    TENON_TRY_VOID(CheckKeys(value, "a device", {"name", "annotations", "containerEdits"}));
    TENON_TRY(const std::string name, Text(value, "name"));
    if (!IsDeviceName(name)) return At(value, "name must be of letters, digits and _-.:");
    const Value* edits = value.Find("containerEdits");
    if (edits == nullptr) return At(value, "containerEdits is missing");
    TENON_TRY(ContainerEdits read, ReadEdits(*edits));
    if (!out.devices.emplace(name, std::move(read)).second)
      return At(value, "device " + name + " is there twice");
    return {};
  }

  Result<ContainerEdits> ReadEdits(const Value& value) const {
    TENON_TRY_VOID(CheckKeys(value, "containerEdits",
                             {"env", "deviceNodes", "mounts", "hooks", "additionalGids"}));
    ContainerEdits out;
    TENON_TRY(out.env, Texts(value, "env"));
    for (const std::string& variable : out.env) {
      const size_t equals = variable.find('=');
      if (equals == 0 || equals == std::string::npos)
        return At(*value.Find("env"), "env must be a list of NAME=VALUE");
    }
    TENON_TRY_VOID(ReadEach(value, "deviceNodes", &SpecReader::ReadDeviceNode, out.device_nodes));
    TENON_TRY_VOID(ReadEach(value, "mounts", &SpecReader::ReadMount, out.mounts));
    TENON_TRY_VOID(ReadEach(value, "hooks", &SpecReader::ReadHook, out.hooks));
    TENON_TRY_VOID(ReadGids(value, out.additional_gids));
    return out;
  }

  Result<void> ReadGids(const Value& edits, std::vector<int64_t>& out) const {
    TENON_TRY(const auto* gids, List(edits, "additionalGids"));
    for (const Value& gid : *gids) {
      const auto number = gid.AsInt();
      if (!number || *number < 0) return At(gid, "additionalGids must be a list of numbers");
      out.push_back(*number);
    }
    return {};
  }

  Result<DeviceNodeEdit> ReadDeviceNode(const Value& value) const {
    TENON_TRY_VOID(CheckKeys(
        value, "a device node",
        {"path", "hostPath", "type", "major", "minor", "fileMode", "permissions", "uid", "gid"}));
    DeviceNodeEdit out;
    TENON_TRY(out.path, AbsolutePath(value, "path"));
    out.host_path = out.path;
    if (value.Find("hostPath")) {
      TENON_TRY(out.host_path, AbsolutePath(value, "hostPath"));
    }
    TENON_TRY(out.type, OptionalText(value, "type"));
    if (!out.type.empty() && out.type != "b" && out.type != "c" && out.type != "u")
      return At(value, "type must be b, c or u");
    TENON_TRY(out.permissions, OptionalText(value, "permissions"));
    if (out.permissions.empty()) out.permissions = "rwm";
    if (out.permissions.find_first_not_of("rwm") != std::string::npos)
      return At(value, "permissions must be of r, w and m");
    TENON_TRY(out.major, Number(value, "major"));
    TENON_TRY(out.minor, Number(value, "minor"));
    TENON_TRY(out.file_mode, Number(value, "fileMode"));
    TENON_TRY(out.uid, Number(value, "uid"));
    TENON_TRY(out.gid, Number(value, "gid"));
    return out;
  }

  Result<MountEdit> ReadMount(const Value& value) const {
    TENON_TRY_VOID(CheckKeys(value, "a mount", {"hostPath", "containerPath", "type", "options"}));
    MountEdit out;
    TENON_TRY(out.host_path, Text(value, "hostPath"));
    TENON_TRY(out.container_path, AbsolutePath(value, "containerPath"));
    TENON_TRY(out.type, OptionalText(value, "type"));
    TENON_TRY(out.options, Texts(value, "options"));
    return out;
  }

  Result<HookEdit> ReadHook(const Value& value) const {
    TENON_TRY_VOID(CheckKeys(value, "a hook", {"hookName", "path", "args", "env", "timeout"}));
    HookEdit out;
    TENON_TRY(out.name, Text(value, "hookName"));
    if (std::find(kHookNames.begin(), kHookNames.end(), out.name) == kHookNames.end())
      return At(value, "hookName is none of the OCI runtime specification");
    TENON_TRY(out.path, AbsolutePath(value, "path"));
    TENON_TRY(out.args, Texts(value, "args"));
    TENON_TRY(out.env, Texts(value, "env"));
    TENON_TRY(out.timeout, Number(value, "timeout"));
    return out;
  }

  template <class T>
  Result<void> ReadEach(const Value& object, std::string_view key,
                        Result<T> (SpecReader::*read)(const Value&) const,
                        std::vector<T>& out) const {
    TENON_TRY(const auto* items, List(object, key));
    for (const Value& item : *items) {
      TENON_TRY(T each, (this->*read)(item));
      out.push_back(std::move(each));
    }
    return {};
  }

  Result<void> CheckKeys(const Value& value, std::string_view what, Keys known) const {
    if (!value.is_object()) {
      return At(value,
                std::string(what) + " is " + std::string(value.KindName()) + ", not a mapping");
    }
    std::vector<std::string_view> seen;
    for (const Value::Member& member : value.members()) {
      const std::string key = base::EscapeForLine(member.key);
      if (std::find(known.begin(), known.end(), member.key) == known.end())
        return At(member.key_mark,
                  std::string(what) + " has the key " + key + ", which is not supported");
      if (std::find(seen.begin(), seen.end(), member.key) != seen.end())
        return At(member.key_mark, key + " is there twice");
      seen.push_back(member.key);
    }
    return {};
  }

  /// The items of a list; none where there is no such key.
  Result<const std::vector<Value>*> List(const Value& object, std::string_view key) const {
    static const std::vector<Value> none;
    const Value* value = object.Find(key);
    if (value == nullptr || value->is_null()) return &none;
    if (!value->is_array()) return At(*value, std::string(key) + " must be a list");
    return &value->items();
  }
  Result<std::vector<std::string>> Texts(const Value& object, std::string_view key) const {
    std::vector<std::string> out;
    TENON_TRY(const auto* items, List(object, key));
    for (const Value& item : *items) {
      auto text = item.AsString();
      if (!text) return At(item, std::string(key) + " must be a list of texts");
      out.push_back(*std::move(text));
    }
    return out;
  }
  Result<std::string> OptionalText(const Value& object, std::string_view key) const {
    const Value* value = object.Find(key);
    if (value == nullptr || value->is_null()) return std::string();
    auto text = value->AsString();
    if (!text) return At(*value, std::string(key) + " must be a text");
    return *std::move(text);
  }
  Result<std::string> Text(const Value& object, std::string_view key) const {
    TENON_TRY(std::string text, OptionalText(object, key));
    if (text.empty()) return At(object, std::string(key) + " is missing");
    return text;
  }
  Result<std::string> AbsolutePath(const Value& object, std::string_view key) const {
    TENON_TRY(std::string text, Text(object, key));
    if (!text.starts_with('/')) return At(object, std::string(key) + " must be an absolute path");
    return text;
  }
  Result<std::optional<int64_t>> Number(const Value& object, std::string_view key) const {
    const Value* value = object.Find(key);
    if (value == nullptr || value->is_null()) return std::optional<int64_t>();
    const auto number = value->AsInt();
    if (!number || *number < 0 || *number > UINT32_MAX)
      return At(*value, std::string(key) + " must be a whole number that is not negative");
    return number;
  }

  Error At(const Value& value, std::string_view why) const { return At(value.mark(), why); }
  Error At(Mark mark, std::string_view why) const {
    return {Code::kInvalidArgument, PlaceText(name_, mark) + ": " + std::string(why)};
  }

  const std::string_view name_;
};

template <class T>
void AppendAll(std::vector<T>& out, const std::vector<T>& more) {
  out.insert(out.end(), more.begin(), more.end());
}

}  // namespace

void ContainerEdits::Append(const ContainerEdits& more) {
  AppendAll(env, more.env);
  AppendAll(device_nodes, more.device_nodes);
  AppendAll(mounts, more.mounts);
  AppendAll(hooks, more.hooks);
  AppendAll(additional_gids, more.additional_gids);
}

Result<Spec> ParseSpec(std::string_view text, std::string_view name) {
  // JSON is YAML but for escaped surrogate pairs, which JSON's own reader takes.
  if (name.ends_with(".json")) {
    TENON_TRY(const Value file, ParseJson(text, name));
    return SpecReader(name).Read(file);
  }
  TENON_TRY(const std::vector<Value> documents, ParseYaml(text, name));
  if (documents.size() != 1)
    return Error(Code::kInvalidArgument, std::string(name) + ": must hold one document");
  return SpecReader(name).Read(documents.front());
}

bool IsQualifiedName(std::string_view name) {
  const size_t equals = name.find('=');
  return equals != std::string_view::npos && IsKind(name.substr(0, equals)) &&
         IsDeviceName(name.substr(equals + 1));
}

std::string DeviceName(std::string_view id) {
  std::string name(id);
  if (id.empty() || !IsLetterOrDigit(id.front())) name.insert(0, "x_x");
  if (id.empty() || !IsLetterOrDigit(id.back())) name += "_x";
  return name;
}

}  // namespace tenon::cdi
