#include "discovery/path_scanner.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <unordered_map>
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

/// Whether all matches are in one directory.
bool HasOneWildcard(const base::Glob& glob) {
  const auto& components = glob.components();
  return std::all_of(components.begin(), components.end() - 1,
                     [](const base::GlobComponent& component) { return component.is_literal(); });
}

}  // namespace

DeviceId PathDeviceId(const std::string& path) {
  std::string_view name = path;
  if (name.starts_with(kDev)) name.remove_prefix(kDev.size());
  return MakeDeviceId(name);
}

Scan PathScanner::Look(host::Host& host) {
  return options_.path.is_literal() ? LookAtLiteral(host) : LookAtMatches(host);
}

Scan PathScanner::LookAtLiteral(host::Host& host) const {
  Scan scan;
  const std::string path = options_.path.LiteralPrefix();
  if (!options_.nodes.mount && IsDirectory(host, path)) {
    scan.Add(LookAtDirectory(host, path, scan));
    return scan;
  }
  FoundDevice device{.id = PathDeviceId(path)};
  auto added = AddFile(host, path, options_.nodes, device, scan.directories);
  if (!added && added.error().code() == Code::kNotFound) return scan;
  if (!added) MakeUnhealthy(device, added.error().message());
  scan.Add(std::move(device));
  return scan;
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

Scan PathScanner::LookAtMatches(host::Host& host) {
  GlobMatches found = WalkGlob(host, options_.path, options_.nodes.trust);
  directories_ = std::move(found.directories);
  unreadable_ = std::move(found.unreadable);
  listed_ = HasOneWildcard(options_.path) && found.listed.size() == 1 ? *found.listed.begin() : "";
  std::erase_if(matches_, [&found](const auto& match) {
    return !std::ranges::binary_search(found.paths, match.first, base::NaturalLess);
  });
  for (const std::string& path : found.paths)
    LookAtMatch(host, path);
  return Offer();
}

Scan PathScanner::LookAgain(host::Host& host, const ChangedNames& changed) {
  if (listed_.empty() ||
      std::ranges::any_of(changed, [this](const auto& change) { return change.first != listed_; }))
    return Look(host);
  std::set<std::string> paths;
  for (const auto& [directory, name] : changed)
    if (options_.path.components().back().Matches(name))
      paths.insert(base::JoinPath(options_.path.LiteralPrefix(), name));
  for (const auto& [path, match] : matches_)
    if (match.is_link) paths.insert(path);
  for (const std::string& path : paths)
    LookAtMatch(host, path);
  return Offer();
}

void PathScanner::LookAtMatch(host::Host& host, const std::string& path) {
  const Trust& trust = options_.nodes.trust;
  const FileWanted wanted = options_.nodes.wanted();
  Match& match = matches_.try_emplace(matches_.end(), path)->second;
  const FoundDevicePtr last = std::exchange(match, {}).device;
  // What is no link needs no walk, in a directory whose real path is known.
  const std::string entry = base::JoinPath(listed_, path.substr(path.rfind('/') + 1));
  std::optional<host::FileStat> file;
  if (!listed_.empty())
    if (auto there = host.StatLink(entry); there && there->kind != host::FileKind::kSymlink)
      file = *there;
  match.is_link = !file;
  auto found = file ? Examine(path, entry, *file, trust, wanted)
                    : LookUp(host, path, trust, directories_, wanted);
  if (!found && found.error().code() == Code::kNotFound) {
    matches_.erase(path);
  } else if (!found) {
    match.skipped = Skipped{base::LogLevel::kInfo, found.error().message()};
  } else {
    FoundDevice device{.id = PathDeviceId(path)};
    AddFound(*std::move(found), options_.nodes, device);
    match.device = last && *last == device ? last : std::make_shared<const FoundDevice>(device);
  }
}

Scan PathScanner::Offer() const {
  Scan scan;
  scan.directories = directories_;
  for (const auto& [directory, why] : unreadable_)
    scan.skipped.emplace(directory, Skipped{base::LogLevel::kWarning, why});
  std::unordered_map<std::string_view, std::string_view> offered_as;  // By real path.
  for (const auto& [path, match] : matches_) {
    if (match.skipped) {
      scan.skipped.emplace(path, *match.skipped);
      continue;
    }
    auto [first, is_new] = offered_as.emplace(match.device->paths.front().real_path, path);
    if (is_new) {
      scan.devices.push_back(match.device);
      continue;
    }
    std::string why = "leads to the same device node as ";
    scan.skipped.emplace(path, Skipped{base::LogLevel::kDebug, why.append(first->second)});
  }
  return scan;
}

}  // namespace tenon::discovery
