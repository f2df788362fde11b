#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "host/host.h"

/// Reading /sys: directories are devices, files are attributes, links are relations.
/// Source: Linux Documentation/admin-guide/sysfs-rules.rst.
namespace tenon::discovery {

/// A device that has a device node.
struct SysfsNode {
  std::string directory;  ///< Below /sys, without links.
  std::string subsystem;  ///< "tty"
  std::string path;       ///< "/dev/ttyUSB0"
  bool operator==(const SysfsNode&) const = default;
};

/// The text of an attribute without spaces and line ends around it; empty if it has none or it
/// cannot be read. Hardware wrote it: it can be anything, up to 4096 bytes.
std::string ReadAttribute(host::Host& host, const std::string& directory, std::string_view name);

/// The name of what a link leads to, "vfio-pci" for "driver"; empty without the link.
std::string LinkName(host::Host& host, const std::string& directory, std::string_view link);

/// The path of a device's node, "/dev/ttyUSB0"; empty if it has none, or one with a name that no
/// kernel would give.
std::string DevicePath(host::Host& host, const std::string& directory);

/// Of the device or the nearest device above it that knows; empty if none does.
std::vector<int> NumaNodes(host::Host& host, std::string directory);

/// All devices at or below `directory` (a real path) that have a node, in natural order, but not
/// inside of directories that `is_another` says belong to another device. A hostile tree costs a
/// bounded amount of work.
std::vector<SysfsNode> NodesBelow(host::Host& host, const std::string& directory,
                                  const std::function<bool(std::string_view name)>& is_another);

/// Adds the real path of a directory to those to watch, or what there is of the way to it.
void WatchAlso(host::Host& host, const std::string& directory, std::set<std::string>& directories);

/// "0000:01:00.0".
bool IsPciAddress(std::string_view name);
/// "1-1.4": a USB device by bus and ports, not an interface of one ("1-1.4:1.0").
bool IsUsbPort(std::string_view name);

/// Whether `text` fits `pattern`, in which "*" stands for any characters and the rest for itself.
bool WildcardMatches(std::string_view pattern, std::string_view text);

}  // namespace tenon::discovery
