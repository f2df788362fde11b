#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/glob.h"
#include "device/resource_name.h"
#include "policy/preferred.h"
#include "value/value.h"

/// The configuration of the node daemon. docs/config.md describes it for its users.
namespace tenon::config {

/// What a file may hold at most. The size is that of the largest ConfigMap.
inline constexpr size_t kMaxFileBytes = size_t{1} << 20;

/// Virtual devices, and replicas of one device, of one resource at most. A kubelet takes a list of
/// 4 MiB: 41 bytes a device, 13 of which go into the framing and the health, leaves 28 for an id.
inline constexpr int64_t kMaxVirtualDevices = 100'000;

/// What a rule says about each file that it brings into a container.
struct NodeRule {
  /// In the container: paths, or directories ending in "/" in which the file keeps its name. All
  /// of them are given. Empty: the path on the host.
  std::vector<std::string> mount_paths;
  std::string permissions = "rw";  ///< Of the device cgroup: one or more of "r", "w", "m".
  bool mount = false;              ///< "type: mount": a directory or socket, no device node.
  bool read_only = false;          ///< With `mount`.
  bool shared = false;             ///< May belong to other devices and resources, too.
  bool unsafe = false;             ///< Memory, I/O ports and block devices may be offered too.
  bool operator==(const NodeRule&) const = default;
};

/// Each file that a path or pattern leads to.
struct PathRule {
  base::Glob path;
  std::string pattern;  ///< `path` as it was written.
  bool operator==(const PathRule&) const = default;
};

/// One USB selector; what is empty does not matter. Numbers are lower-case hex digits.
struct UsbMatch {
  std::string vendor;
  std::string product;
  std::string serial;  ///< May contain "*".
  std::string port;
  std::string device_class;
  std::string interface;
  bool operator==(const UsbMatch&) const = default;
};

/// USB devices that one of the selectors fits.
struct UsbRule {
  std::vector<UsbMatch> any_of;         ///< Never empty.
  std::vector<std::string> subsystems;  ///< Of the child device nodes; empty: the device itself.
  bool operator==(const UsbRule&) const = default;
};

/// One PCI selector; what is empty does not matter. Numbers are lower-case hex digits.
struct PciMatch {
  std::string vendor;
  std::string device;
  std::string address;  ///< With its domain: "0000:01:00.0".
  std::string driver;
  std::string pci_class;          ///< Its first 2, 4 or 6 digits.
  std::string physical_function;  ///< An address.
  std::optional<bool> is_virtual;
  bool operator==(const PciMatch&) const = default;
};

/// PCI functions that one of the selectors fits.
struct PciRule {
  std::vector<PciMatch> any_of;         ///< Never empty.
  std::vector<std::string> subsystems;  ///< Of the child device nodes; "vfio" is not among them.
  bool vfio = false;                    ///< The IOMMU group instead of child device nodes.
  bool operator==(const PciRule&) const = default;
};

/// Devices by their place in /sys.
struct SysfsRule {
  std::string subsystem;
  std::string name;  ///< May contain "*"; empty: any.
  std::vector<std::pair<std::string, std::string>> attributes;
  bool together = false;  ///< All of one piece of hardware are one device.
  bool operator==(const SysfsRule&) const = default;
};

/// Devices that stand for nothing but a number.
struct VirtualRule {
  int64_t count = 0;
  std::map<std::string, std::string> env;
  std::map<std::string, std::string> annotations;
  bool operator==(const VirtualRule&) const = default;
};

/// A program that the command line allows.
struct ProgramRule {
  std::vector<std::string> argv;  ///< Never empty; argv[0] is an absolute path.
  int64_t timeout_s = 30;
  bool operator==(const ProgramRule&) const = default;
};

struct PeriodicProgramRule {
  ProgramRule program;
  int64_t every_s = 60;
  bool operator==(const PeriodicProgramRule&) const = default;
};

/// Devices that a program tells of.
struct CommandRule {
  PeriodicProgramRule list;
  bool operator==(const CommandRule&) const = default;
};

/// What is run for each device of a resource, and when.
struct ResourcePrograms {
  std::optional<ProgramRule> on_allocate;
  std::optional<ProgramRule> on_release;
  std::optional<ProgramRule> pre_start;
  std::optional<PeriodicProgramRule> health;
  bool operator==(const ResourcePrograms&) const = default;
};

/// One part of each device of a rule.
struct Member {
  std::variant<PathRule, UsbRule, PciRule, SysfsRule, VirtualRule, CommandRule> source;
  NodeRule nodes;
  bool optional = false;
  int64_t limit = 1;  ///< Of how many devices each match may be part.
  Mark mark;
};

struct DeviceRule {
  std::vector<Member> members;  ///< More than one only in a group; at least one is not optional.
  bool group = false;           ///< "all": the members make up one device together.
  Mark mark;
};

/// Device nodes that are opened now and then to see whether their drivers are well.
struct OpenCheck {
  std::vector<std::string> subsystems;  ///< Of the kernel; never empty.
  int64_t every_s = 60;
  bool operator==(const OpenCheck&) const = default;
};

/// Whether containers get the devices of a resource by CDI, too.
enum class Cdi {
  kNo,
  kAlso,  ///< Device nodes and mounts are sent as well, for a kubelet that knows no CDI.
  kOnly,
};

struct ResourceConfig {
  ResourceName name;
  std::string file;  ///< In which it and all its rules stand.
  Mark mark;
  std::vector<DeviceRule> devices;  ///< Never empty.
  int64_t share = 1;                ///< How many replicas of each device are offered.
  /// Without it: in order, or spread where devices are shared.
  std::optional<policy::Preference> prefer;
  ResourcePrograms programs;
  Cdi cdi = Cdi::kNo;
  std::optional<OpenCheck> open_check;
};

struct Config {
  /// Never empty; no name twice, and no literal path that is not shared.
  std::vector<ResourceConfig> resources;
};

struct LoadOptions {
  /// The values of --allow-path: what rules may reach beside /dev, and where they may be unsafe.
  std::vector<std::string> allow_paths;
  /// The values of --allow-exec: directories whose programs may be named.
  std::vector<std::string> allow_exec;
};

/// A configuration, or everything that is wrong with it in the order of the files, each as
/// "file:line:column: what is wrong; what to write instead". Never both, never neither.
struct ConfigOutcome {
  std::optional<Config> config;
  std::vector<std::string> errors;
};

/// Reads a text; `file` is its name in the errors.
ConfigOutcome Load(std::string_view text, std::string_view file, const LoadOptions& options = {});

/// Reads files, and directories of them (see FilesAt()), which make up one configuration. Each
/// file has a domain of its own.
ConfigOutcome LoadPaths(const std::vector<std::string>& paths, const LoadOptions& options = {});

}  // namespace tenon::config
