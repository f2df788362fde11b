#include "kubelet_service/kubelet_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/errno_error.h"
#include "base/strings.h"
#include "device/plugin_api.h"
#include "loop/unix_socket.h"

namespace tenon::kubelet_service {
namespace {

namespace fs = std::filesystem;

/// kubernetes cmd/kubeadm and pkg/kubelet/apis/config: the default of --root-dir.
constexpr std::string_view kMachinesKubelet = "/var/lib/kubelet";
constexpr std::string_view kLockName = ".tenon.lock";
/// A child of a kubelet that was killed has the lock, and its listening sockets, until it is the
/// program that it is to be.
constexpr std::chrono::milliseconds kLockPatience(400);

Error FsError(std::string_view call, const std::string& path, const std::error_code& error) {
  return base::ErrnoError(call, path, error.value());
}

/// `path` without symlinks, as far as it exists.
Result<std::string> Resolve(const std::string& path) {
  std::error_code error;
  fs::path resolved = fs::weakly_canonical(fs::absolute(path, error), error);
  if (error) return FsError("realpath", path, error);
  return resolved.string();
}

bool IsInside(std::string_view path, std::string_view directory) {
  return path == directory ||
         (path.starts_with(directory) && path.substr(directory.size()).starts_with('/'));
}

Result<void> MakeDirectory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return base::ErrnoError("mkdir", path);
}

/// A directory that others may enter lets them put sockets and a checkpoint of their own there.
Result<void> CheckPrivate(const std::string& path) {
  struct stat st;
  // The path was resolved: a symlink there is somebody's trap.
  if (::lstat(path.c_str(), &st) != 0) return base::ErrnoError("lstat", path);
  if (!S_ISDIR(st.st_mode)) return Error(Code::kFailedPrecondition, path + " is not a directory");
  if (st.st_uid != ::geteuid())
    return Error(Code::kPermissionDenied,
                 fmt::format("{} belongs to user {}, not to user {}: choose another directory",
                             path, st.st_uid, ::geteuid()));
  if ((st.st_mode & 0077U) != 0)
    return Error(Code::kPermissionDenied,
                 fmt::format("{} has mode {:04o}, others can use it: choose another directory, or "
                             "run chmod 0700 on it if it is only for this",
                             path, st.st_mode & 07777U));
  return {};
}

}  // namespace

std::string KubeletDirectory::plugin_directory() const {
  return base::JoinPath(root_, "device-plugins");
}

std::string KubeletDirectory::pod_resources_socket() const {
  return base::JoinPath(base::JoinPath(root_, "pod-resources"), api::kKubeletSocketName);
}

std::string KubeletDirectory::plugin_registry() const {
  return base::JoinPath(root_, "plugins_registry");
}

Result<std::unique_ptr<KubeletDirectory>> KubeletDirectory::Open(const std::string& root,
                                                                 bool take_over) {
  TENON_TRY(std::string resolved, Resolve(root));
  TENON_TRY(std::string machines, Resolve(std::string(kMachinesKubelet)));
  if (!take_over && (IsInside(resolved, machines) || IsInside(resolved, kMachinesKubelet)))
    return Error(Code::kFailedPrecondition,
                 fmt::format("{} is the directory of this machine's kubelet, whose plugins would "
                             "be cut off: choose another directory, or pass --take-over if no "
                             "kubelet is to run here",
                             root));
  std::unique_ptr<KubeletDirectory> directory(new KubeletDirectory(std::move(resolved)));
  TENON_TRY_VOID(directory->Create(take_over));
  TENON_TRY_VOID(directory->Lock());
  if (!take_over) TENON_TRY_VOID(directory->RefuseLiveKubelet());
  TENON_TRY_VOID(directory->RemoveSockets());
  return directory;
}

Result<void> KubeletDirectory::Create(bool take_over) const {
  std::error_code error;
  fs::create_directories(fs::path(root_).parent_path(), error);
  if (error) return FsError("mkdir", fs::path(root_).parent_path(), error);
  for (const std::string& path :
       {root_, plugin_directory(), fs::path(pod_resources_socket()).parent_path().string(),
        plugin_registry()}) {
    TENON_TRY_VOID(MakeDirectory(path));
    // The machine's kubelet has its own modes, which its plugins rely on.
    if (!take_over) TENON_TRY_VOID(CheckPrivate(path));
  }
  return {};
}

Result<void> KubeletDirectory::Lock() {
  std::string path = base::JoinPath(root_, kLockName);
  lock_.Reset(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock_.valid()) return base::ErrnoError("open", path);
  const auto latest = std::chrono::steady_clock::now() + kLockPatience;
  while (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return base::ErrnoError("flock", path);
    if (std::chrono::steady_clock::now() >= latest)
      return Error(
          Code::kFailedPrecondition,
          root_ + " is in use by another tenon kubelet: stop it, or choose another directory");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return {};
}

Result<void> KubeletDirectory::RefuseLiveKubelet() const {
  std::string path = base::JoinPath(plugin_directory(), api::kKubeletSocketName);
  Result<base::UniqueFd> answer = loop::ConnectUnix(path);
  // EAGAIN: its queue is full, so somebody listens.
  if (!answer && answer.error().os_errno() != EAGAIN) return {};
  return Error(Code::kFailedPrecondition,
               path +
                   " answers, a kubelet is running there: choose another directory, or stop it "
                   "and pass --take-over");
}

Result<void> KubeletDirectory::RemoveSockets() const {
  std::error_code error;
  std::vector<std::string> failures;
  for (fs::directory_iterator at(plugin_directory(), error), end; !error && at != end;
       at.increment(error)) {
    struct stat st;
    // Symlinks are followed, as the kubelet does: one to a socket goes, too.
    const std::string path = at->path().string();
    if (::stat(path.c_str(), &st) != 0 || !S_ISSOCK(st.st_mode)) continue;
    if (::unlink(path.c_str()) != 0) failures.push_back(base::ErrnoError("unlink", path).message());
  }
  if (error) return FsError("readdir", plugin_directory(), error);
  if (failures.empty()) return {};
  return Error(Code::kPermissionDenied, "remove old sockets: " + base::Join(failures, "; "));
}

}  // namespace tenon::kubelet_service
