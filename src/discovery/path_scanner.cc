#include "discovery/path_scanner.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "discovery/glob_walk.h"

namespace tenon::discovery {
namespace {

constexpr std::string_view kDev = "/dev/";
/// Directories below a directory that is offered as a whole.
constexpr int kMostDepth = 8;
constexpr size_t kMostFiles = 1024;

bool IsDirectory(host::Host& host, const std::string& path) {
  auto file = host.Stat(path);
  return file && file->kind == host::FileKind::kDirectory;
}

}  // namespace

DeviceId PathDeviceId(const std::string& path) {
  std::string_view name = path;
  if (name.starts_with(kDev)) name.remove_prefix(kDev.size());
  return MakeDeviceId(name);
}

Scan PathScanner::Look(host::Host& host) {
  Scan scan;
  if (options_.path.is_literal())
    LookAtLiteral(host, scan);
  else
    LookAtMatches(host, scan);
  return scan;
}

void PathScanner::LookAtLiteral(host::Host& host, Scan& scan) const {
  const std::string path = options_.path.LiteralPrefix();
  if (!options_.nodes.mount && IsDirectory(host, path)) {
    scan.devices.push_back(LookAtDirectory(host, path, scan));
    return;
  }
  FoundDevice device{.id = PathDeviceId(path)};
  auto added = AddFile(host, path, options_.nodes, device, scan.directories);
  if (!added && added.error().code() == Code::kNotFound) return;
  if (!added) MakeUnhealthy(device, added.error().message());
  scan.devices.push_back(std::move(device));
}

FoundDevice PathScanner::LookAtDirectory(host::Host& host, const std::string& path,
                                         Scan& scan) const {
  FoundDevice device{.id = PathDeviceId(path)};
  auto real_path = host.TracePath(path, scan.directories);
  if (real_path && options_.nodes.trust.Covers(*real_path))
    AddNodesBelow(host, path, 0, device, scan);
  else
    MakeUnhealthy(device, real_path ? "leads to " + *real_path + ", outside of what rules may reach"
                                    : real_path.error().message());
  if (device.paths.empty()) MakeUnhealthy(device, "is a directory without device nodes");
  if (device.paths.size() >= kMostFiles) MakeUnhealthy(device, "is a directory of too many files");
  CheckContainerPaths(device);
  return device;
}

void PathScanner::AddNodesBelow(host::Host& host, const std::string& path, int depth,
                                FoundDevice& device, Scan& scan) const {
  // Not through links: /dev/fd, and directories that contain themselves.
  auto real_path = host.TracePath(path, scan.directories);
  if (!real_path || (depth > 0 && *real_path != path)) return;
  scan.directories.insert(*real_path);
  auto names = host.List(path);
  if (!names) return;
  std::ranges::sort(*names, base::NaturalLess);
  const std::string top = options_.path.LiteralPrefix();
  for (const std::string& name : *names) {
    if (device.paths.size() >= kMostFiles) return;
    const std::string entry = base::JoinPath(path, name);
    auto file = host.StatLink(entry);
    if (file && file->kind == host::FileKind::kDirectory && depth < kMostDepth)
      AddNodesBelow(host, entry, depth + 1, device, scan);
    if (!file || !file->is_device_node()) continue;
    NodeOptions nodes = options_.nodes;
    // Below a directory in the container, what is in directories stays in them.
    for (std::string& container_path : nodes.container_paths) {
      if (container_path.ends_with('/')) container_path.pop_back();
      container_path += path.substr(top.size()) + "/";
    }
    auto added = AddFile(host, entry, nodes, device, scan.directories);
    if (!added)
      scan.skipped.emplace(entry, Skipped{base::LogLevel::kInfo, added.error().message()});
  }
}

void PathScanner::LookAtMatches(host::Host& host, Scan& scan) const {
  GlobMatches matches = WalkGlob(host, options_.path, options_.nodes.trust);
  scan.directories = std::move(matches.directories);
  for (auto& [directory, why] : matches.unreadable)
    scan.skipped.emplace(directory, Skipped{base::LogLevel::kWarning, std::move(why)});
  std::map<std::string, std::string> offered_as;  // By real path.
  for (const std::string& path : matches.paths) {
    FoundDevice device{.id = PathDeviceId(path)};
    auto added = AddFile(host, path, options_.nodes, device, scan.directories);
    if (!added) {
      if (added.error().code() != Code::kNotFound)
        scan.skipped.emplace(path, Skipped{base::LogLevel::kInfo, added.error().message()});
      continue;
    }
    auto [first, is_new] = offered_as.emplace(device.paths.front().real_path, path);
    if (is_new)
      scan.devices.push_back(std::move(device));
    else
      scan.skipped.emplace(path, Skipped{base::LogLevel::kDebug,
                                         "leads to the same device node as " + first->second});
  }
}

}  // namespace tenon::discovery
