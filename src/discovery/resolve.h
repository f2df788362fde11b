#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "device/allocation.h"
#include "discovery/source.h"
#include "discovery/trust.h"
#include "host/host.h"

namespace tenon::discovery {

enum class FileWanted {
  kDeviceNode,
  kMount,  ///< Anything but a device node, which a mounted one would be useless as.
};

/// Where `path` leads and what is there: real_path, kind, numbers and group are filled in. The
/// directories that were passed on the way are added to `directories`.
/// Errors: kNotFound if there is nothing at `path`; else what is wrong with it, as the end of a
/// sentence about the path: "is a regular file, not a device node".
Result<FoundPath> LookUp(host::Host& host, const std::string& path, const Trust& trust,
                         std::set<std::string>& directories,
                         FileWanted wanted = FileWanted::kDeviceNode);

/// The same of a path that is known to lead to `real_path`, and of what is there.
Result<FoundPath> Examine(const std::string& path, std::string real_path,
                          const host::FileStat& file, const Trust& trust,
                          FileWanted wanted = FileWanted::kDeviceNode);

/// "c 188:0", or "b 8:0" for a block device.
std::string DeviceNumber(const FoundPath& path);

struct ResolvedNode {
  DeviceNode node;                ///< Where a mount is asked for, its permissions mean nothing.
  std::string number;             ///< What it is now, "c 188:0".
  std::optional<uint32_t> group;  ///< See FoundPath.
  /// "device number changed from c 1:3 to c 1:5 since it was found", or empty: for the log, as
  /// what a container gets is what is there now.
  std::string change;
};

/// Turns a path that a scan found into the device node that is there now, for Allocate. Errors
/// name the path and say what is wrong with it.
Result<ResolvedNode> ResolveDeviceNode(host::Host& host, const FoundPath& found,
                                       const Trust& trust);

}  // namespace tenon::discovery
