#include "host/host.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/errno_error.h"
#include "host/path_walk.h"

namespace tenon::host {
namespace {

/// How often openat2 is asked again when a rename elsewhere disturbed a ".." (EAGAIN).
constexpr int kMostRetries = 8;

int OpenAt2(int root_fd, const std::string& path, int flags) {
  open_how how{};
  how.flags = static_cast<unsigned>(flags) | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT;
  int fd = -1;
  for (int tries = 0; tries < kMostRetries; ++tries) {
    fd = static_cast<int>(::syscall(SYS_openat2, root_fd, path.c_str(), &how, sizeof how));
    if (fd >= 0 || (errno != EAGAIN && errno != EINTR)) break;
  }
  return fd;
}

/// Whether openat2 said that it is not to be had here: an old kernel, or a seccomp filter, which
/// may refuse with any of these.
bool NeedsWalk(int os_errno) {
  return os_errno == ENOSYS || os_errno == EINVAL || os_errno == EPERM || os_errno == EAGAIN;
}

FileKind KindOf(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFCHR:
      return FileKind::kCharacterDevice;
    case S_IFBLK:
      return FileKind::kBlockDevice;
    case S_IFREG:
      return FileKind::kRegular;
    case S_IFDIR:
      return FileKind::kDirectory;
    case S_IFLNK:
      return FileKind::kSymlink;
    case S_IFSOCK:
      return FileKind::kSocket;
    default:
      return FileKind::kOther;
  }
}

Result<FileStat> StatFd(int fd, const std::string& path) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) return base::ErrnoError("stat", path);
  FileStat file{.kind = KindOf(st.st_mode),
                .device = st.st_dev,
                .inode = st.st_ino,
                .mode = st.st_mode & 07777,
                .uid = st.st_uid,
                .gid = st.st_gid};
  if (file.is_device_node()) {
    file.major = major(st.st_rdev);
    file.minor = minor(st.st_rdev);
  }
  return file;
}

Result<std::string> ReadUpTo(int fd, const std::string& path, size_t most) {
  constexpr size_t kPiece = 4096;
  std::string content;
  while (content.size() < most) {
    size_t had = content.size();
    size_t want = std::min(most - had, kPiece);
    content.resize(had + want);
    ssize_t got = ::read(fd, content.data() + had, want);
    int read_errno = errno;
    content.resize(had + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) break;
    if (got < 0 && read_errno != EINTR) return base::ErrnoError("read", path, read_errno);
  }
  return content;
}

}  // namespace

std::string_view FileKindName(FileKind kind) {
  switch (kind) {
    case FileKind::kCharacterDevice:
      return "a character device";
    case FileKind::kBlockDevice:
      return "a block device";
    case FileKind::kRegular:
      return "a regular file";
    case FileKind::kDirectory:
      return "a directory";
    case FileKind::kSymlink:
      return "a symlink";
    case FileKind::kSocket:
      return "a socket";
    case FileKind::kOther:
      break;
  }
  return "a file of another kind";
}

Result<std::unique_ptr<PosixHost>> PosixHost::Open(std::string root, Resolver resolver) {
  base::UniqueFd fd(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return base::ErrnoError("open root", root);
  while (!root.empty() && root.back() == '/')
    root.pop_back();
  return std::unique_ptr<PosixHost>(new PosixHost(std::move(root), std::move(fd), resolver));
}

Result<base::UniqueFd> PosixHost::OpenInRoot(std::string_view call, const std::string& path,
                                             int flags) {
  TENON_TRY_VOID(CheckPath(call, path));
  if (resolver_ == Resolver::kAuto) {
    base::UniqueFd fd(OpenAt2(root_fd_.get(), path, flags));
    if (fd.valid()) return fd;
    if (errno == EXDEV) {
      return Error(Code::kInvalidArgument,
                   std::string(call) + " " + path + ": leads through a /proc link without a path",
                   EXDEV);
    }
    if (!NeedsWalk(errno)) return base::ErrnoError(call, path);
    // A busy ".." passes; a missing system call is not asked for again.
    if (errno != EAGAIN) resolver_ = Resolver::kWalkOnly;
  }
  auto file = WalkInRoot(root_fd_.get(), path, flags);
  if (!file) return base::ErrnoError(call, path, file.error().os_errno());
  return std::move(file->fd);
}

Result<void> PosixHost::CheckPath(std::string_view call, const std::string& path) {
  if (path.starts_with('/') && path.find('\0') == std::string::npos) return {};
  return Error(Code::kInvalidArgument, std::string(call) + " " + path + ": not an absolute path");
}

Result<FileStat> PosixHost::Stat(const std::string& path) {
  TENON_TRY(auto fd, OpenInRoot("stat", path, O_PATH));
  return StatFd(fd.get(), path);
}

Result<FileStat> PosixHost::StatLink(const std::string& path) {
  TENON_TRY(auto fd, OpenInRoot("stat", path, O_PATH | O_NOFOLLOW));
  return StatFd(fd.get(), path);
}

Result<std::string> PosixHost::RealPath(const std::string& path) {
  std::set<std::string> unused;
  return TracePath(path, unused);
}

Result<std::string> PosixHost::TracePath(const std::string& path,
                                         std::set<std::string>& directories) {
  // By the walk in any case: the kernel tells the path of a descriptor only through /proc, which
  // a chroot may lack.
  TENON_TRY_VOID(CheckPath("resolve", path));
  auto file = WalkInRoot(root_fd_.get(), path, O_PATH, &directories);
  if (!file) return base::ErrnoError("resolve", path, file.error().os_errno());
  return std::move(file->real_path);
}

Result<std::vector<std::string>> PosixHost::List(const std::string& path) {
  TENON_TRY(auto fd, OpenInRoot("list", path, O_RDONLY | O_DIRECTORY));
  struct CloseDirectory {
    void operator()(DIR* open) const { ::closedir(open); }
  };
  std::unique_ptr<DIR, CloseDirectory> directory(::fdopendir(fd.get()));
  if (directory == nullptr) return base::ErrnoError("list", path);
  [[maybe_unused]] int owned = fd.Release();
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this call's own.
    const dirent* entry = ::readdir(directory.get());
    if (entry == nullptr) break;
    std::string_view name(static_cast<const char*>(entry->d_name));
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return base::ErrnoError("list", path);
  std::ranges::sort(names);
  return names;
}

Result<std::string> PosixHost::Read(const std::string& path, size_t most) {
  // Opening a device node can do things (raise DTR, start a watchdog), so look before opening.
  TENON_TRY(FileStat expected, Stat(path));
  if (expected.kind != FileKind::kRegular) {
    return Error(Code::kInvalidArgument,
                 "read " + path + ": is " + std::string(FileKindName(expected.kind)));
  }
  TENON_TRY(auto fd, OpenInRoot("read", path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  return ReadUpTo(fd.get(), path, most);
}

std::string PosixHost::HostPath(const std::string& path) const {
  return root_ + path;
}

}  // namespace tenon::host
