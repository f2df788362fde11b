#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace tenon::host {

enum class FileKind {
  kCharacterDevice,
  kBlockDevice,
  kRegular,
  kDirectory,
  kSymlink,
  kSocket,
  kOther
};

/// "a character device", "a directory" …, for messages.
std::string_view FileKindName(FileKind kind);

struct FileStat {
  FileKind kind = FileKind::kOther;
  unsigned major = 0;  ///< Of the device node; 0 for other kinds.
  unsigned minor = 0;
  uint64_t device = 0;  ///< Of the file system; with inode it tells one file from its successor.
  uint64_t inode = 0;
  uint32_t mode = 0;  ///< Permission bits.
  uint32_t uid = 0;
  uint32_t gid = 0;
  bool is_device_node() const {
    return kind == FileKind::kCharacterDevice || kind == FileKind::kBlockDevice;
  }
  bool operator==(const FileStat&) const = default;
};

/// The part of the machine that discovery looks at: /dev and /sys below a root.
///
/// Paths are absolute as the machine sees them ("/dev/fuse"); with another root they and all
/// symlinks on the way, absolute ones too, are resolved inside it and cannot leave it.
/// Errors, of all: kInvalidArgument for a path that is not absolute; the call and the path.
/// Thread: loop only; every call is a few system calls on local file systems.
class Host {
 public:
  Host() = default;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  virtual ~Host() = default;

  /// The file that `path` leads to (symlinks followed). Errors: kNotFound; kInvalidArgument for
  /// a loop of symlinks.
  virtual Result<FileStat> Stat(const std::string& path) = 0;
  /// The path itself, a symlink not followed in the last piece.
  virtual Result<FileStat> StatLink(const std::string& path) = 0;
  /// `path` without symlinks, "." or "..", as the machine sees it (without the root).
  virtual Result<std::string> RealPath(const std::string& path) = 0;
  /// RealPath(), which adds the directories that names were looked up in on the way, as real
  /// paths: those to watch for a change of where `path` leads. They are added on failure, too, and
  /// then the last one is where something is missing. A host without them adds none.
  virtual Result<std::string> TracePath(const std::string& path,
                                        std::set<std::string>& /*directories*/) {
    return RealPath(path);
  }
  /// Names in a directory without "." and "..", sorted bytewise.
  virtual Result<std::vector<std::string>> List(const std::string& path) = 0;
  /// The first `most` bytes of a regular file; nothing else is opened, as opening a device node
  /// can do things. Errors: kInvalidArgument, saying what it is.
  virtual Result<std::string> Read(const std::string& path, size_t most) = 0;
  /// What a watch or a container runtime needs: the path in the real file system, root in front.
  /// With another root an absolute symlink on the way would lead out: give it a RealPath().
  virtual std::string HostPath(const std::string& path) const = 0;
};

/// The real file system below `root` ("/" for the machine's own), by openat2(RESOLVE_IN_ROOT).
class PosixHost final : public Host {
 public:
  enum class Resolver {
    kAuto,      ///< openat2, or the walk where the kernel or a seccomp filter refuses it.
    kWalkOnly,  ///< The walk in user space, piece by piece: what kAuto falls back to.
  };
  static Result<std::unique_ptr<PosixHost>> Open(std::string root,
                                                 Resolver resolver = Resolver::kAuto);
  Result<FileStat> Stat(const std::string& path) override;
  Result<FileStat> StatLink(const std::string& path) override;
  Result<std::string> RealPath(const std::string& path) override;
  Result<std::string> TracePath(const std::string& path,
                                std::set<std::string>& directories) override;
  Result<std::vector<std::string>> List(const std::string& path) override;
  Result<std::string> Read(const std::string& path, size_t most) override;
  std::string HostPath(const std::string& path) const override;

 private:
  PosixHost(std::string root, base::UniqueFd root_fd, Resolver resolver)
      : root_(std::move(root)), root_fd_(std::move(root_fd)), resolver_(resolver) {}
  static Result<void> CheckPath(std::string_view call, const std::string& path);
  Result<base::UniqueFd> OpenInRoot(std::string_view call, const std::string& path, int flags);

  const std::string root_;
  const base::UniqueFd root_fd_;
  Resolver resolver_;
};

}  // namespace tenon::host
