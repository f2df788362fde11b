#include "discovery/resolve.h"

#include <cerrno>
#include <utility>

#include "base/strings.h"

namespace tenon::discovery {
namespace {

bool IsMissing(const Error& error) {
  return error.os_errno() == ENOENT || error.os_errno() == ENOTDIR;
}

/// Whether the group may read or write what others may not.
bool GroupMatters(uint32_t mode) {
  const uint32_t group = mode >> 3U;
  return (group & ~mode & 06U) != 0;
}

Error WhyMissing(host::Host& host, const std::string& path) {
  if (auto link = host.StatLink(path); link && link->kind == host::FileKind::kSymlink)
    return {Code::kFailedPrecondition, "is a symlink that leads nowhere", ENOENT};
  return {Code::kNotFound, "no such file", ENOENT};
}

}  // namespace

Result<FoundPath> LookUp(host::Host& host, const std::string& path, const Trust& trust,
                         std::set<std::string>& directories, FileWanted wanted) {
  auto real_path = host.TracePath(path, directories);
  if (!real_path && IsMissing(real_path.error())) return WhyMissing(host, path);
  if (!real_path) return std::move(real_path).error();
  // What is looked at is the path that is handed out, so a link that is changed meanwhile shows.
  auto file = host.StatLink(*real_path);
  if (!file && IsMissing(file.error())) return WhyMissing(host, path);
  if (!file) return std::move(file).error();
  return Examine(path, *std::move(real_path), *file, trust, wanted);
}

Result<FoundPath> Examine(const std::string& path, std::string real_path,
                          const host::FileStat& file, const Trust& trust, FileWanted wanted) {
  if (wanted == FileWanted::kMount && file.is_device_node()) {
    return Error(Code::kFailedPrecondition,
                 "is " + std::string(host::FileKindName(file.kind)) +
                     ", which a mount does not give access to; leave out \"type: mount\"");
  }
  if (wanted == FileWanted::kDeviceNode && !file.is_device_node()) {
    return Error(Code::kFailedPrecondition,
                 "is " + std::string(host::FileKindName(file.kind)) + ", not a device node");
  }
  TENON_TRY_VOID(trust.Check(real_path, file));
  FoundPath found;
  found.host_path = path;
  found.real_path = std::move(real_path);
  found.kind = file.kind;
  found.major = file.major;
  found.minor = file.minor;
  if (GroupMatters(file.mode)) found.group = file.gid;
  return found;
}

std::string DeviceNumber(const FoundPath& path) {
  std::string number = path.kind == host::FileKind::kBlockDevice ? "b " : "c ";
  return number.append(std::to_string(path.major)).append(":").append(std::to_string(path.minor));
}

Result<ResolvedNode> ResolveDeviceNode(host::Host& host, const FoundPath& found,
                                       const Trust& trust) {
  std::set<std::string> unused;
  auto present = LookUp(host, found.host_path, trust, unused,
                        found.mount ? FileWanted::kMount : FileWanted::kDeviceNode);
  if (!present) return std::move(present).error().Wrap(base::EscapeForLine(found.host_path));
  ResolvedNode resolved;
  resolved.node = {.container_path = found.container_path,
                   .host_path = present->real_path,
                   .permissions = found.permissions};
  resolved.group = present->group;
  resolved.number = DeviceNumber(*present);
  if (DeviceNumber(*present) != DeviceNumber(found)) {
    resolved.change = "device number changed from " + DeviceNumber(found) + " to " +
                      DeviceNumber(*present) + " since it was found";
  }
  return resolved;
}

}  // namespace tenon::discovery
