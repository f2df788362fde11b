#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "discovery/resolve.h"
#include "discovery/source.h"
#include "discovery/trust.h"
#include "host/host.h"

namespace tenon::discovery {

/// What a rule says about each file that it brings into a container.
struct NodeOptions {
  /// In the container: paths, or directories ending in "/" in which the file keeps its name. All
  /// of them are given. Empty: the path on the host.
  std::vector<std::string> container_paths;
  std::string permissions = "rw";
  bool mount = false;      ///< Mounts a directory, socket or file instead of a device node.
  bool read_only = false;  ///< With `mount`.
  bool shared = false;     ///< May belong to other devices and resources, too.
  Trust trust;

  FileWanted wanted() const { return mount ? FileWanted::kMount : FileWanted::kDeviceNode; }
};

/// Where the file at `host_path` goes in the container; at least one path.
std::vector<std::string> ContainerPaths(const NodeOptions& options, const std::string& host_path);

/// Adds a file to `device`, once for each path in the container.
void AddFound(FoundPath found, const NodeOptions& options, FoundDevice& device);

/// Looks up a file and adds it to `device`, once for each path in the container. Errors: see
/// LookUp().
Result<void> AddFile(host::Host& host, const std::string& host_path, const NodeOptions& options,
                     FoundDevice& device, std::set<std::string>& directories);

/// Makes `device` unhealthy, once. Its files stay away: nothing of it may be handed out.
void MakeUnhealthy(FoundDevice& device, std::string reason);

/// Makes `device` unhealthy if two of its files want one path in the container.
void CheckContainerPaths(FoundDevice& device);

}  // namespace tenon::discovery
