#include "import/readers.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"

namespace tenon::importer {
namespace {

Error At(const Source& source, const Value& value, const std::string& why) {
  return {Code::kInvalidArgument, PlaceText(source.file, value.mark()) + ": " + why};
}

enum class Kind { kText, kNumber, kFlag, kList, kAny };

struct Key {
  std::string_view name;
  Kind kind = Kind::kText;
};

/// What has been checked by CheckKeys() is read by these.
std::string TextOf(const Value& mapping, std::string_view key, std::string fallback = {}) {
  const Value* value = mapping.Find(key);
  auto text = value == nullptr ? std::nullopt : value->AsString();
  return text ? *std::move(text) : std::move(fallback);
}

int64_t NumberOf(const Value& mapping, std::string_view key) {
  const Value* value = mapping.Find(key);
  return value == nullptr ? 1 : value->AsInt().value_or(1);
}

bool FlagOf(const Value& mapping, std::string_view key) {
  const Value* value = mapping.Find(key);
  return value != nullptr && value->AsBool().value_or(false);
}

bool Is(const Value& value, Kind kind) {
  switch (kind) {
    case Kind::kText:
      return value.AsString().has_value();
    case Kind::kNumber:
      return value.AsInt().value_or(0) > 0;
    case Kind::kFlag:
      return value.AsBool().has_value();
    case Kind::kList:
      return value.is_array();
    case Kind::kAny:
      return true;
  }
  return false;
}

std::string_view Expected(Kind kind) {
  switch (kind) {
    case Kind::kNumber:
      return "a number of at least 1";
    case Kind::kFlag:
      return "true or false";
    case Kind::kList:
      return "a list";
    default:
      return "a text";
  }
}

std::vector<std::string> Names(const std::vector<Key>& keys) {
  std::vector<std::string> names;
  for (const Key& key : keys)
    names.emplace_back(key.name);
  return names;
}

/// Nothing may be left out silently: a key that is not known here, or a value that is not what the
/// plugin takes, is an error with its place.
Result<void> CheckKeys(const Source& source, const Value& mapping, const std::vector<Key>& known) {
  if (!mapping.is_object())
    return At(source, mapping, "a mapping is expected, this is " + std::string(mapping.KindName()));
  for (const Value::Member& member : mapping.members()) {
    auto key = std::ranges::find(known, member.key, &Key::name);
    if (key == known.end())
      return Error(
          Code::kInvalidArgument,
          PlaceText(source.file, member.key_mark) + ": key \"" + base::EscapeForLine(member.key) +
              "\" is not known of this plugin; known here: " + base::Join(Names(known), ", "));
    if (!Is(member.value, key->kind))
      return At(source, member.value,
                "\"" + member.key + "\" is " + std::string(Expected(key->kind)) + " there");
  }
  return {};
}

bool IsPattern(std::string_view path) {
  return path.find_first_of("*?[") != std::string_view::npos;
}

void NoteReach(const std::string& path, ImportedResource& resource) {
  if (!path.starts_with("/dev/"))
    resource.notes.push_back(path + " is not below /dev: start tenond with --allow-path " +
                             path.substr(0, path.find_first_of("*?[")));
}

// --- generic-device-plugin ---------------------------------------------------------------------

Result<void> AddPath(const Source& source, const Value& path, FlowMapping& member,
                     ImportedResource& resource) {
  TENON_TRY_VOID(CheckKeys(source, path,
                           {{"path"},
                            {"mountPath"},
                            {"permissions"},
                            {"readOnly", Kind::kFlag},
                            {"type"},
                            {"limit", Kind::kNumber},
                            {"optional", Kind::kFlag}}));
  const std::string host_path = TextOf(path, "path");
  if (host_path.empty()) return At(source, path, "\"path\" is missing");
  NoteReach(host_path, resource);
  member.Add("path", YamlText(host_path));
  std::string mount_path = TextOf(path, "mountPath");
  if (IsPattern(host_path) && !mount_path.empty() && !mount_path.ends_with('/')) {
    resource.notes.push_back("mountPath " + mount_path +
                             " of a pattern is a directory here, as two matches would collide.");
    mount_path += '/';
  }
  if (!mount_path.empty() && mount_path != host_path) member.Add("mountPath", YamlText(mount_path));
  if (TextOf(path, "type", "Device") == "Mount") {
    member.Add("type", "mount");
    if (FlagOf(path, "readOnly")) member.Add("readOnly", "true");
  } else {
    member.Add("permissions", YamlText(TextOf(path, "permissions", "mrw")));
  }
  if (const int64_t limit = NumberOf(path, "limit"); limit > 1)
    member.Add("limit", std::to_string(limit));
  if (FlagOf(path, "optional")) member.Add("optional", "true");
  return {};
}

Result<void> AddUsb(const Source& source, const Value& usb, FlowMapping& member) {
  TENON_TRY_VOID(CheckKeys(source, usb, {{"vendor"}, {"product"}, {"serial"}}));
  FlowMapping selector;
  for (const char* key : {"vendor", "product"})
    if (usb.Find(key) != nullptr) selector.Add(key, "\"" + TextOf(usb, key) + "\"");
  if (const std::string serial = TextOf(usb, "serial"); !serial.empty())
    selector.Add("serial", YamlText(serial));
  member.Add("usb", selector.Text());
  return {};
}

Result<std::vector<FlowMapping>> GroupMembers(const Source& source, const Value& group,
                                              ImportedResource& resource) {
  std::vector<FlowMapping> members;
  if (const Value* paths = group.Find("paths"))
    for (const Value& path : paths->items())
      TENON_TRY_VOID(AddPath(source, path, members.emplace_back(), resource));
  if (const Value* usb = group.Find("usb"))
    for (const Value& one : usb->items())
      TENON_TRY_VOID(AddUsb(source, one, members.emplace_back()));
  return members;
}

/// Whether the only member needs no group around it.
bool IsPlain(const Value& group) {
  if (group.Find("usb") != nullptr) return true;
  const Value& path = group.Find("paths")->items()[0];
  return !FlagOf(path, "optional") && NumberOf(path, "limit") == 1;
}

Result<std::string> GroupRule(const Source& source, const Value& group,
                              ImportedResource& resource) {
  TENON_TRY_VOID(CheckKeys(
      source, group, {{"count", Kind::kNumber}, {"paths", Kind::kList}, {"usb", Kind::kList}}));
  TENON_TRY(const std::vector<FlowMapping> members, GroupMembers(source, group, resource));
  if (members.empty()) return At(source, group, "neither \"paths\" nor \"usb\" in this group");
  const int64_t count = NumberOf(group, "count");
  if (count != resource.share && !resource.rules.empty())
    resource.notes.push_back("count differs between the groups; share is one for the resource.");
  resource.share = std::max<long long>(resource.share, count);
  if (members.size() == 1 && IsPlain(group)) return members[0].Text();
  std::string list;
  for (const FlowMapping& member : members)
    list.append(list.empty() ? "" : ", ").append(member.Text());
  return "{all: [" + list + "]}";
}

Result<void> AddGenericResource(const Source& source, const Value& device, Imported& into) {
  TENON_TRY_VOID(CheckKeys(source, device, {{"name"}, {"groups", Kind::kList}}));
  ImportedResource resource{.name = TextOf(device, "name")};
  if (resource.name.empty()) return At(source, device, "\"name\" is missing");
  const Value* groups = device.Find("groups");
  if (groups == nullptr || groups->items().empty())
    return At(source, device, "\"groups\" is missing or empty");
  resource.notes.push_back(
      "Ids differ: there hashes of the paths, here the paths or what the hardware says. Drain pods "
      "that hold these devices, or let them end: meanwhile tenond keeps such devices back.");
  for (const Value& group : groups->items()) {
    TENON_TRY(std::string rule, GroupRule(source, group, resource));
    resource.rules.push_back(std::move(rule));
  }
  if (resource.share > 1)
    resource.notes.push_back("The " + std::to_string(resource.share) +
                             " copies are replicas, ID::0 and so on.");
  into.resources.push_back(std::move(resource));
  return {};
}

/// A device of the file, which may also be a text as the flag takes it.
Result<void> AddGenericDevice(const Source& source, const Value& device, Imported& into) {
  auto text = device.AsString();
  if (!text) return AddGenericResource(source, device, into);
  TENON_TRY(auto documents, ParseYaml(*text, PlaceText(source.file, device.mark())));
  for (const Value& document : documents)
    TENON_TRY_VOID(AddGenericResource(source, document, into));
  return {};
}

// --- k8s-host-device-plugin --------------------------------------------------------------------

/// Errors name what is missing. `beside_pattern`: another of the host devices is a pattern.
Result<FlowMapping> HostMember(const Source& source, const Value& device, bool beside_pattern,
                               ImportedResource& resource) {
  TENON_TRY_VOID(CheckKeys(source, device, {{"hostPath"}, {"containerPath"}, {"permission"}}));
  const std::string host_path = TextOf(device, "hostPath");
  std::string container_path = TextOf(device, "containerPath");
  if (host_path.empty()) return At(source, device, "\"hostPath\" is missing");
  NoteReach(host_path, resource);
  if (IsPattern(host_path)) {
    resource.notes.push_back("There all matches of " + host_path +
                             " belong to every device; here the n-th match to the n-th device.");
    container_path = container_path.substr(0, container_path.rfind('/') + 1);
  }
  FlowMapping member;
  member.Add("path", YamlText(host_path));
  if (!container_path.empty() && container_path != host_path)
    member.Add("mountPath", YamlText(container_path));
  member.Add("permissions", YamlText(TextOf(device, "permission", "rw")));
  // Else there would be no more devices than this one path has.
  if (beside_pattern && !IsPattern(host_path)) member.Add("limit", "1000");
  return member;
}

// --- smarter-device-manager --------------------------------------------------------------------

/// The pattern that a simple regular expression over names below /dev stands for; empty if it is
/// not simple.
std::string GlobOf(std::string_view regex) {
  if (!regex.starts_with('^') || !regex.ends_with('$') || regex.size() < 3) return {};
  std::string glob = "/dev/";
  std::string_view rest = regex.substr(1, regex.size() - 2);
  while (!rest.empty()) {
    bool is_run = false;
    for (std::string_view run : {"[0-9]*", "[0-9]+", "\\d*", "\\d+", ".*", ".+"}) {
      if (!rest.starts_with(run)) continue;
      glob += '*';
      rest.remove_prefix(run.size());
      is_run = true;
      break;
    }
    if (is_run) continue;
    if (rest.starts_with("[0-9]")) {
      glob += "[0-9]";
      rest.remove_prefix(5);
      continue;
    }
    if (rest.size() > 1 && rest[0] == '\\' &&
        std::string_view("/.-_").find(rest[1]) != std::string_view::npos)
      rest.remove_prefix(1);
    else if (std::string_view("\\^$.|?*+()[]{}").find(rest[0]) != std::string_view::npos)
      return {};
    glob += rest[0];
    rest.remove_prefix(1);
  }
  return glob;
}

std::string NameOf(std::string_view regex) {
  std::string name;
  for (char c : regex) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (fits)
      name += c;
    else if (c == '*')
      break;
    else if (!name.empty() && name.back() != '_' && c != '$' && c != '^')
      name += '_';
  }
  if (const size_t set = regex.find('['); set != std::string_view::npos && set > 0)
    name = NameOf(regex.substr(0, set));
  while (name.ends_with('_'))
    name.pop_back();
  return name;
}

}  // namespace

Result<void> ReadGenericDevicePlugin(const Source& source, Imported& into) {
  into.domain = TextOf(source.document, "domain", into.domain.empty() ? "squat.ai" : into.domain);
  const Value* devices = source.document.Find("devices");
  // The value of --device is one object without the list around it.
  if (devices == nullptr && source.document.Find("groups") != nullptr)
    return AddGenericResource(source, source.document, into);
  TENON_TRY_VOID(CheckKeys(source, source.document,
                           {{"domain"},
                            {"devices", Kind::kList},
                            {"listen", Kind::kAny},
                            {"log-level", Kind::kAny},
                            {"plugin-directory", Kind::kAny}}));
  if (devices == nullptr) return At(source, source.document, "\"devices\" is missing");
  for (const Value& device : devices->items())
    TENON_TRY_VOID(AddGenericDevice(source, device, into));
  return {};
}

Result<void> ReadHostDevicePlugin(const Source& source, Imported& into) {
  TENON_TRY_VOID(CheckKeys(source, source.document,
                           {{"resourceName"},
                            {"socketName", Kind::kAny},
                            {"numDevices", Kind::kNumber},
                            {"healthCheckIntervalSeconds", Kind::kAny},
                            {"hostDevices", Kind::kList}}));
  ImportedResource resource{.name = TextOf(source.document, "resourceName")};
  if (resource.name.find('/') == std::string::npos)
    return At(source, source.document, "\"resourceName\" is missing or has no domain");
  into.domain = resource.name.substr(0, resource.name.find('/'));
  resource.share = NumberOf(source.document, "numDevices");
  const Value* devices = source.document.Find("hostDevices");
  if (devices == nullptr || devices->items().empty())
    return At(source, source.document, "\"hostDevices\" is missing or empty");
  resource.notes.push_back(
      "Ids differ: there 0, 1, 2 and so on, here those of the paths and ::0, ::1 and so on.");
  resource.notes.push_back(
      "socketName and healthCheckIntervalSeconds have no counterpart: sockets are named by tenond, "
      "and changes are seen when they happen.");
  const bool has_pattern = std::ranges::any_of(
      devices->items(), [](const Value& device) { return IsPattern(TextOf(device, "hostPath")); });
  std::string list;
  for (const Value& device : devices->items()) {
    TENON_TRY(const FlowMapping member, HostMember(source, device, has_pattern, resource));
    list.append(list.empty() ? "" : ", ").append(member.Text());
  }
  resource.rules.push_back(devices->items().size() == 1 ? list : "{all: [" + list + "]}");
  into.resources.push_back(std::move(resource));
  return {};
}

Result<void> ReadVirtualDevicePlugin(const Source& source, Imported& into) {
  TENON_TRY_VOID(
      CheckKeys(source, source.document,
                {{"resourceName"}, {"socketName", Kind::kAny}, {"count", Kind::kNumber}}));
  ImportedResource resource{.name = TextOf(source.document, "resourceName")};
  if (resource.name.find('/') == std::string::npos)
    return At(source, source.document, "\"resourceName\" is missing or has no domain");
  into.domain = resource.name.substr(0, resource.name.find('/'));
  resource.notes.push_back("Ids differ: there NAME-1 and so on, here v-0 and so on.");
  resource.notes.push_back(
      "The ids are in TENON_..._IDS instead of VIRTUAL_DEVICE_..., whose name no shell can read, "
      "and there is no annotation: its key had two slashes.");
  resource.rules.push_back(
      "{virtual: {count: " + std::to_string(NumberOf(source.document, "count")) + "}}");
  into.resources.push_back(std::move(resource));
  return {};
}

Result<void> ReadSmarterDeviceManager(const Source& source, Imported& into) {
  into.domain = "smarter-devices";
  if (!source.document.is_array())
    return At(source, source.document,
              "a list is expected, this is " + std::string(source.document.KindName()));
  for (const Value& item : source.document.items()) {
    TENON_TRY_VOID(CheckKeys(source, item, {{"devicematch"}, {"nummaxdevices", Kind::kNumber}}));
    const std::string regex = TextOf(item, "devicematch");
    const std::string glob = GlobOf(regex);
    if (glob.empty())
      return At(source, item,
                "devicematch " + base::EscapeForLine(regex) +
                    " cannot be written as a pattern; write it as ^NAME$ with "
                    "[0-9]* or .* in it, or leave it out");
    ImportedResource resource{.name = NameOf(regex)};
    resource.share = NumberOf(item, "nummaxdevices");
    resource.notes.push_back("Ids differ: there 0, 1, 2 and so on, here the paths.");
    if (IsPattern(glob))
      resource.notes.push_back(
          "There each match is a resource of its own, named after it; here all are devices of this "
          "one. The * of the pattern is any text up to the next /, not only digits.");
    FlowMapping rule;
    rule.Add("path", YamlText(glob));
    resource.rules.push_back(rule.Text());
    into.resources.push_back(std::move(resource));
  }
  return {};
}

}  // namespace tenon::importer
