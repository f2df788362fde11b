#include "runtime/oci_config.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "cdi/resolve.h"
#include "runtime/container_options.h"

namespace tenon::runtime {
namespace {

/// What container runtimes grant when nobody says otherwise. Source: containerd pkg/oci
/// defaultUnixCaps.
constexpr std::array<std::string_view, 14> kCapabilities = {
    "CAP_CHOWN",   "CAP_DAC_OVERRIDE", "CAP_FSETID",           "CAP_FOWNER",
    "CAP_MKNOD",   "CAP_NET_RAW",      "CAP_SETGID",           "CAP_SETUID",
    "CAP_SETFCAP", "CAP_SETPCAP",      "CAP_NET_BIND_SERVICE", "CAP_SYS_CHROOT",
    "CAP_KILL",    "CAP_AUDIT_WRITE"};

/// Files of /proc and /sys that tell of or change the machine, not the container. Source:
/// containerd pkg/oci, populateDefaultUnixSpec.
constexpr std::array<std::string_view, 10> kMaskedPaths = {
    "/proc/acpi",          "/proc/asound",     "/proc/kcore",       "/proc/keys",
    "/proc/latency_stats", "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug",
    "/sys/firmware",       "/proc/scsi"};
constexpr std::array<std::string_view, 5> kReadOnlyPaths = {"/proc/bus", "/proc/fs", "/proc/irq",
                                                            "/proc/sys", "/proc/sysrq-trigger"};

/// File systems that every container has; what lies below them needs no mount point in the image.
struct SystemMount {
  std::string_view destination;
  std::string_view type;
  std::string_view options;  ///< Separated by commas.
};
constexpr std::array<SystemMount, 8> kSystemMounts = {{
    {"/proc", "proc", "nosuid,noexec,nodev"},
    {"/dev", "tmpfs", "nosuid,strictatime,mode=755,size=65536k"},
    {"/dev/pts", "devpts", "nosuid,noexec,newinstance,ptmxmode=0666,mode=0620,gid=5"},
    {"/dev/shm", "tmpfs", "nosuid,noexec,nodev,mode=1777,size=65536k"},
    {"/dev/mqueue", "mqueue", "nosuid,noexec,nodev"},
    {"/sys", "sysfs", "nosuid,noexec,nodev,ro"},
    {"/tmp", "tmpfs", "nosuid,nodev,mode=1777"},
    {"/run", "tmpfs", "nosuid,nodev,mode=755"},
}};

Value Object(std::initializer_list<std::pair<std::string_view, Value>> members) {
  Value out = Value::Object();
  for (const auto& [key, value] : members)
    out.Add(key, value);
  return out;
}

template <class List>
Value TextArray(const List& texts) {
  Value out = Value::Array();
  for (const auto& text : texts)
    out.Append(Value::String(text));
  return out;
}

Error Wrong(std::string message) {
  return {Code::kInvalidArgument, std::move(message)};
}

/// An absolute path in which nothing has to be resolved.
bool IsPlainAbsolutePath(std::string_view path) {
  if (!path.starts_with('/') || path.find('\0') != std::string_view::npos) return false;
  const auto pieces = base::Split(path.substr(1), '/');
  return std::none_of(pieces.begin(), pieces.end(), [](std::string_view piece) {
    return piece.empty() || piece == "." || piece == "..";
  });
}

/// Whether `path` is `directory` or below it.
bool IsBelow(std::string_view path, std::string_view directory) {
  return path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

/// Later variables of a name win, as in a shell.
class Environment final {
 public:
  void Set(const std::string& name, std::string value) {
    std::erase_if(variables_, [&name](const pod::EnvVar& v) { return v.name == name; });
    variables_.push_back({name, std::move(value)});
  }
  Value ToValue() const {
    Value out = Value::Array();
    for (const auto& [name, value] : variables_)
      out.Append(Value::String(std::string(name).append("=").append(value)));
    return out;
  }

 private:
  std::vector<pod::EnvVar> variables_;
};

Result<Value> BuildArgs(const pod::Container& container,
                        const std::vector<pod::EnvVar>& variables) {
  Value out = Value::Array();
  for (const auto* texts : {&container.command, &container.args}) {
    for (const std::string& text : *texts) {
      out.Append(Value::String(pod::ExpandVariables(text, variables)));
    }
  }
  if (!out.items().empty()) return out;
  return Wrong(
      "no command: an image is a directory here and has no entry point; write command "
      "in the manifest");
}

Value BuildUser(const cdi::ContainerEdits& edits) {
  Value user = Object({{"uid", Value::Number(0)}, {"gid", Value::Number(0)}});
  if (edits.additional_gids.empty()) return user;
  Value& gids = user.Add("additionalGids", Value::Array());
  for (int64_t gid : edits.additional_gids)
    gids.Append(Value::Number(gid));
  return user;
}

Result<Value> BuildProcess(const pod::Container& container, const ContainerAllocation& allocation,
                           const cdi::ContainerEdits& edits, const std::string& hostname) {
  const std::vector<pod::EnvVar> variables = ListVariables(container, allocation);
  TENON_TRY(const Value args, BuildArgs(container, variables));
  Environment env;
  env.Set("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
  env.Set("HOSTNAME", hostname);
  for (const auto& [name, value] : variables)
    env.Set(name, value);
  for (const std::string& variable : edits.env) {
    const size_t equals = variable.find('=');
    env.Set(variable.substr(0, equals), variable.substr(equals + 1));
  }
  const Value capabilities = TextArray(kCapabilities);
  return Object({
      {"terminal", Value::Bool(false)},
      {"user", BuildUser(edits)},
      {"args", args},
      {"env", env.ToValue()},
      {"cwd", Value::String(container.working_dir.empty() ? "/" : container.working_dir)},
      {"capabilities",
       Object(
           {{"bounding", capabilities}, {"effective", capabilities}, {"permitted", capabilities}})},
      {"noNewPrivileges", Value::Bool(true)},
  });
}

Value SystemMountValue(const SystemMount& mount) {
  return Object({
      {"destination", Value::String(mount.destination)},
      {"type", Value::String(mount.type)},
      {"source", Value::String(mount.type)},
      {"options", TextArray(base::Split(mount.options, ','))},
  });
}

/// The runtime would make a missing mount point in the image's own directory, for all to see.
Result<void> CheckMountPoint(const std::string& path, host::Host& image) {
  for (const std::string_view directory : {"/dev", "/tmp", "/run"}) {
    if (path != directory && IsBelow(path, directory)) return {};
  }
  if (auto found = image.Stat(path); !found) {
    return Wrong("the image has no mount point " + path + " (" + found.error().message() +
                 "); make it in the image's directory");
  }
  return {};
}

/// The mounts that plugins and CDI specs want, in one form.
std::vector<cdi::MountEdit> ListMounts(const ContainerAllocation& allocation,
                                       const cdi::ContainerEdits& edits) {
  std::vector<cdi::MountEdit> out;
  for (const Mount& mount : allocation.mounts) {
    out.push_back({.host_path = mount.host_path,
                   .container_path = mount.container_path,
                   .options = {"rbind", "rprivate", mount.read_only ? "ro" : "rw"}});
  }
  out.insert(out.end(), edits.mounts.begin(), edits.mounts.end());
  for (cdi::MountEdit& mount : out) {
    if (!mount.type.empty() && mount.type != "bind") continue;
    mount.type = "bind";
    const auto binds = [](const std::string& option) {
      return option == "bind" || option == "rbind";
    };
    if (std::none_of(mount.options.begin(), mount.options.end(), binds))
      mount.options.emplace_back("rbind");
  }
  return out;
}

Result<Value> BuildMounts(const std::vector<cdi::MountEdit>& mounts, host::Host& machine,
                          host::Host& image) {
  Value out = Value::Array();
  for (const SystemMount& mount : kSystemMounts) {
    TENON_TRY_VOID(CheckMountPoint(std::string(mount.destination), image));
    out.Append(SystemMountValue(mount));
  }
  for (const cdi::MountEdit& mount : mounts) {
    if (!IsPlainAbsolutePath(mount.container_path)) {
      return Wrong("mount at \"" + base::EscapeForLine(mount.container_path) +
                   "\": must be an absolute path without . and ..");
    }
    if (mount.type == "bind") {
      if (auto source = machine.Stat(mount.host_path); !source)
        return std::move(source).error().Wrap("mount at " + mount.container_path);
    }
    TENON_TRY_VOID(CheckMountPoint(mount.container_path, image));
    out.Append(Object({
        {"destination", Value::String(mount.container_path)},
        {"type", Value::String(mount.type)},
        {"source", Value::String(mount.host_path)},
        {"options", TextArray(mount.options)},
    }));
  }
  return out;
}

/// What the container gets of one device node: the node itself and the right to use it.
struct GrantedDevice {
  Value device;
  Value rule;
};

/// A plugin's device node in the form of a CDI spec's. Plugins have to give permissions.
Result<cdi::DeviceNodeEdit> ToEdit(const DeviceNode& wanted) {
  if (wanted.permissions.empty() ||
      wanted.permissions.find_first_not_of("rwm") != std::string::npos) {
    return Wrong("device node at \"" + base::EscapeForLine(wanted.container_path) +
                 "\": the plugin gave the permissions \"" +
                 base::EscapeForLine(wanted.permissions) + "\", which must be of r, w and m");
  }
  return cdi::DeviceNodeEdit{.path = wanted.container_path,
                             .host_path = wanted.host_path,
                             .permissions = wanted.permissions};
}

/// Looks the device node up on the machine and lets the spec override what was found. A spec that
/// gives type and numbers itself need not have the device node on the machine.
Result<cdi::DeviceNodeEdit> LookUp(cdi::DeviceNodeEdit wanted, host::Host& machine) {
  const bool complete = !wanted.type.empty() && wanted.major && wanted.minor;
  auto found = machine.Stat(wanted.host_path);
  if (!found && !complete) return std::move(found).error();
  if (found && !found->is_device_node()) {
    return Wrong(base::EscapeForLine(wanted.host_path) + " is " +
                 std::string(host::FileKindName(found->kind)) + ", not a device node");
  }
  if (!complete) {
    wanted.type = found->kind == host::FileKind::kBlockDevice ? "b" : "c";
    wanted.major = found->major;
    wanted.minor = found->minor;
  }
  if (!wanted.file_mode) wanted.file_mode = found ? found->mode & 0777 : 0660;
  if (!wanted.uid) wanted.uid = found ? found->uid : 0;
  if (!wanted.gid) wanted.gid = found ? found->gid : 0;
  return wanted;
}

Result<GrantedDevice> GrantDevice(const cdi::DeviceNodeEdit& wanted, host::Host& machine) {
  const std::string at = "device node at \"" + base::EscapeForLine(wanted.path) + "\"";
  if (!IsPlainAbsolutePath(wanted.path) || wanted.path == "/dev" || !IsBelow(wanted.path, "/dev")) {
    return Wrong(at + ": must be below /dev, without . and ..: the rest of the image is read-only");
  }
  auto found = LookUp(wanted, machine);
  if (!found) return std::move(found).error().Wrap(at);
  const Value type = Value::String(found->type == "b" ? "b" : "c");
  const Value major = Value::Number(*found->major);
  const Value minor = Value::Number(*found->minor);
  return GrantedDevice{.device = Object({{"path", Value::String(found->path)},
                                         {"type", type},
                                         {"major", major},
                                         {"minor", minor},
                                         {"fileMode", Value::Number(*found->file_mode)},
                                         {"uid", Value::Number(*found->uid)},
                                         {"gid", Value::Number(*found->gid)}}),
                       .rule = Object({{"allow", Value::Bool(true)},
                                       {"type", type},
                                       {"major", major},
                                       {"minor", minor},
                                       {"access", Value::String(found->permissions)}})};
}

/// The device nodes of plugins and of CDI specs; of two at one path in the container the first.
Result<std::vector<cdi::DeviceNodeEdit>> ListDeviceNodes(const ContainerAllocation& allocation,
                                                         const cdi::ContainerEdits& edits) {
  std::vector<cdi::DeviceNodeEdit> out;
  for (const DeviceNode& wanted : allocation.device_nodes) {
    TENON_TRY(cdi::DeviceNodeEdit edit, ToEdit(wanted));
    out.push_back(std::move(edit));
  }
  for (const cdi::DeviceNodeEdit& wanted : edits.device_nodes) {
    const bool known = std::any_of(
        out.begin(), out.end(), [&wanted](const auto& other) { return other.path == wanted.path; });
    if (!known) out.push_back(wanted);
  }
  return out;
}

Value BuildNamespaces() {
  Value out = Value::Array();
  // A network of its own with nothing but loopback: what the pod needs beyond that is not known.
  for (const std::string_view type : {"pid", "ipc", "uts", "mount", "network"}) {
    out.Append(Object({{"type", Value::String(type)}}));
  }
  return out;
}

Result<Value> BuildLinux(const std::vector<cdi::DeviceNodeEdit>& device_nodes,
                         const OciOptions& options, host::Host& machine) {
  Value devices = Value::Array();
  Value rules = Value::Array();
  rules.Append(Object({{"allow", Value::Bool(false)}, {"access", Value::String("rwm")}}));
  for (const cdi::DeviceNodeEdit& wanted : device_nodes) {
    TENON_TRY(GrantedDevice granted, GrantDevice(wanted, machine));
    devices.Append(std::move(granted.device));
    rules.Append(std::move(granted.rule));
  }
  return Object({
      {"namespaces", BuildNamespaces()},
      {"cgroupsPath", Value::String(options.cgroups_path)},
      {"devices", devices},
      {"resources", Object({{"devices", rules}})},
      {"maskedPaths", TextArray(kMaskedPaths)},
      {"readonlyPaths", TextArray(kReadOnlyPaths)},
  });
}

/// By the name of the hook, in the order of the specs.
Value BuildHooks(const std::vector<cdi::HookEdit>& hooks) {
  std::vector<Value::Member> members;
  for (const cdi::HookEdit& hook : hooks) {
    auto kind = std::find_if(members.begin(), members.end(),
                             [&hook](const auto& member) { return member.key == hook.name; });
    if (kind == members.end())
      kind = members.insert(members.end(), {hook.name, {}, Value::Array()});
    Value& out = kind->value.Append(Object({{"path", Value::String(hook.path)},
                                            {"args", TextArray(hook.args)},
                                            {"env", TextArray(hook.env)}}));
    if (hook.timeout) out.Add("timeout", Value::Number(*hook.timeout));
  }
  return Value::Object(std::move(members));
}

Result<Value> BuildAnnotations(const ContainerAllocation& allocation) {
  TENON_TRY_VOID(CheckAnnotations(allocation));
  Value out = Value::Object();
  for (const auto& [name, value] : allocation.annotations)
    out.Add(name, Value::String(value));
  return out;
}

}  // namespace

Result<Value> BuildOciConfig(const pod::Container& container, const ContainerAllocation& allocation,
                             const OciOptions& options, host::Host& machine, host::Host& image) {
  TENON_TRY(const cdi::ContainerEdits edits,
            cdi::ResolveDevices(allocation.cdi_devices, machine, options.cdi_directories));
  TENON_TRY(Value process, BuildProcess(container, allocation, edits, options.hostname));
  TENON_TRY(Value mounts, BuildMounts(ListMounts(allocation, edits), machine, image));
  TENON_TRY(const auto device_nodes, ListDeviceNodes(allocation, edits));
  TENON_TRY(Value linux_part, BuildLinux(device_nodes, options, machine));
  TENON_TRY(Value annotations, BuildAnnotations(allocation));
  return Object({
      {"ociVersion", Value::String("1.0.2")},
      {"process", process},
      {"root", Object({{"path", Value::String(options.rootfs)}, {"readonly", Value::Bool(true)}})},
      {"hostname", Value::String(options.hostname)},
      {"mounts", mounts},
      {"hooks", BuildHooks(edits.hooks)},
      {"annotations", annotations},
      {"linux", linux_part},
  });
}

}  // namespace tenon::runtime
