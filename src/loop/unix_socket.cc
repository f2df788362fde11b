#include "loop/unix_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>

#include "base/errno_error.h"
#include "base/strings.h"

namespace tenon::loop {
namespace {

constexpr int kBacklog = 128;
constexpr size_t kMaxPath = sizeof(sockaddr_un{}.sun_path) - 1;

Result<sockaddr_un> Address(const std::string& path) {
  if (path.empty() || path.size() > kMaxPath) {
    return Error(Code::kInvalidArgument, "socket path '" + path + "' has " +
                                             std::to_string(path.size()) + " bytes, and 1 to " +
                                             std::to_string(kMaxPath) + " are possible");
  }
  sockaddr_un address{.sun_family = AF_UNIX};
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

const sockaddr* Generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

Result<base::UniqueFd> MakeSocket() {
  base::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return base::ErrnoError("socket", "AF_UNIX");
  return fd;
}

/// A name beside `path` that no other process picks, as short as the name of a socket may be.
std::string HiddenName(const std::string& path) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device random;
  std::string name = ".";
  for (int i = 0; i < 7; ++i)
    name.push_back(kLetters[random() % kLetters.size()]);
  size_t slash = path.rfind('/');
  return (slash == std::string::npos ? "" : path.substr(0, slash + 1)) + name;
}

/// Errors when something at `path` must not be replaced by a socket.
Result<void> CheckReplaceable(const std::string& path) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) {
    if (errno == ENOENT) return {};
    return base::ErrnoError("lstat", path);
  }
  if (!S_ISSOCK(found.st_mode)) {
    return Error(Code::kFailedPrecondition,
                 path + " is there and not a socket; remove it or name another path");
  }
  auto peer = ConnectUnix(path);
  // A full queue (EAGAIN) has a listener, too.
  if (peer || peer.error().os_errno() == EAGAIN) {
    return Error(Code::kFailedPrecondition, path + " is in use by another process");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<UnixListener>> UnixListener::Listen(std::string path, mode_t mode) {
  if (auto final_address = Address(path); !final_address) return std::move(final_address).error();
  TENON_TRY_VOID(CheckReplaceable(path));
  std::string hidden = HiddenName(path);
  TENON_TRY(sockaddr_un address, Address(hidden));
  TENON_TRY(base::UniqueFd fd, MakeSocket());
  if (::bind(fd.get(), Generic(address), sizeof address) != 0)
    return base::ErrnoError("bind", hidden);
  auto fail = [&hidden](Error error) {
    ::unlink(hidden.c_str());
    return error;
  };
  struct stat made {};
  if (::lstat(hidden.c_str(), &made) != 0) return fail(base::ErrnoError("lstat", hidden));
  if (::chmod(hidden.c_str(), mode) != 0) return fail(base::ErrnoError("chmod", hidden));
  if (::listen(fd.get(), kBacklog) != 0) return fail(base::ErrnoError("listen", hidden));
  if (::rename(hidden.c_str(), path.c_str()) != 0) return fail(base::ErrnoError("rename to", path));
  return std::unique_ptr<UnixListener>(
      new UnixListener(std::move(path), std::move(fd), made.st_dev, made.st_ino));
}

UnixListener::~UnixListener() {
  if (is_ours()) ::unlink(path_.c_str());
}

bool UnixListener::is_ours() const {
  struct stat found {};
  return ::lstat(path_.c_str(), &found) == 0 && found.st_dev == device_ && found.st_ino == inode_;
}

Result<base::UniqueFd> ConnectUnix(const std::string& path) {
  TENON_TRY(sockaddr_un address, Address(path));
  TENON_TRY(base::UniqueFd fd, MakeSocket());
  if (::connect(fd.get(), Generic(address), sizeof address) != 0)
    return base::ErrnoError("connect", path);
  return fd;
}

}  // namespace tenon::loop
