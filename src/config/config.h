#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/glob.h"
#include "device/resource_name.h"
#include "value/value.h"

/// The configuration file of the node daemon. docs/config.md describes it for its users.
namespace tenon::config {

/// What a file may hold at most. The size is that of the largest ConfigMap.
inline constexpr size_t kMaxFileBytes = size_t{1} << 20;

/// Virtual devices of one resource at most. A kubelet takes a list of 4 MiB: 41 bytes a device,
/// 13 of which go into the framing and the health, leaves 28 for an id.
inline constexpr int64_t kMaxVirtualDevices = 100'000;

/// Offers each device node that a path or pattern leads to.
struct PathRule {
  base::Glob path;
  std::string pattern;     ///< `path` as it was written.
  std::string mount_path;  ///< In the container: a path, or a directory ending in "/" in which
                           ///< the device node keeps its name. Empty: the path on the host.
  std::string permissions = "rw";  ///< Of the device cgroup: one or more of "r", "w", "m".
  bool unsafe = false;             ///< Memory, I/O ports and block devices may be offered too.
  bool operator==(const PathRule&) const = default;
};

/// Offers devices that stand for nothing but a number.
struct VirtualRule {
  int64_t count = 0;
  bool operator==(const VirtualRule&) const = default;
};

struct DeviceRule {
  std::variant<PathRule, VirtualRule> source;
  Mark mark;
};

struct ResourceConfig {
  ResourceName name;
  Mark mark;
  std::vector<DeviceRule> devices;  ///< Never empty.
};

struct Config {
  std::string domain;
  std::vector<ResourceConfig> resources;  ///< Never empty; no name and no literal path twice.
};

struct LoadOptions {
  /// The values of --allow-path: what rules may reach beside /dev, and where they may be unsafe.
  std::vector<std::string> allow_paths;
};

/// A configuration, or everything that is wrong with it in the order of the file, each as
/// "file:line:column: what is wrong; what to write instead". Never both, never neither.
struct ConfigOutcome {
  std::optional<Config> config;
  std::vector<std::string> errors;
};

/// Reads a text; `file` is its name in the errors.
ConfigOutcome Load(std::string_view text, std::string_view file, const LoadOptions& options = {});

/// Reads a regular file, or a symlink to one.
ConfigOutcome LoadFile(const std::string& path, const LoadOptions& options = {});

}  // namespace tenon::config
