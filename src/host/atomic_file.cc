#include "host/atomic_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/errno_error.h"
#include "base/unique_fd.h"

namespace tenon::host {
namespace {

/// Removes the temporary file unless it was renamed into place.
class TemporaryName final {
 public:
  TemporaryName(int directory_fd, std::string name)
      : directory_fd_(directory_fd), name_(std::move(name)) {}
  TemporaryName(const TemporaryName&) = delete;
  TemporaryName& operator=(const TemporaryName&) = delete;
  ~TemporaryName() {
    if (!name_.empty()) ::unlinkat(directory_fd_, name_.c_str(), 0);
  }

  const std::string& name() const { return name_; }
  void Renamed() { name_.clear(); }

 private:
  const int directory_fd_;
  std::string name_;
};

/// ".NAME.XXXXXX" with letters that another writer will hardly draw.
std::string DrawName(const std::string& base_name) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz234567";
  std::array<unsigned char, 6> random{};
  // At most 256 bytes never come short and never fail once the machine is up (getrandom(2)).
  [[maybe_unused]] ssize_t got = ::getrandom(random.data(), random.size(), 0);
  std::string name = "." + base_name + ".";
  for (unsigned char byte : random)
    name.push_back(kLetters[byte % kLetters.size()]);
  return name;
}

Result<void> WriteAll(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return base::ErrnoError("write", path);
    content.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

}  // namespace

Result<void> WriteFileAtomically(const std::string& path, std::string_view content, mode_t mode) {
  size_t slash = path.rfind('/');
  std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  std::string base_name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (base_name.empty() || base_name == "." || base_name == "..")
    return Error(Code::kInvalidArgument, "write " + path + ": not the path of a file");

  base::UniqueFd directory_fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory_fd.valid()) return base::ErrnoError("open directory", directory);
  std::string name = DrawName(base_name);
  base::UniqueFd fd(::openat(directory_fd.get(), name.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) return base::ErrnoError("create a temporary file for", path);
  TemporaryName temporary(directory_fd.get(), std::move(name));

  TENON_TRY_VOID(WriteAll(fd.get(), content, path));
  if (::fchmod(fd.get(), mode) != 0) return base::ErrnoError("chmod", path);
  if (::fsync(fd.get()) != 0) return base::ErrnoError("fsync", path);
  if (::renameat(directory_fd.get(), temporary.name().c_str(), directory_fd.get(),
                 base_name.c_str()) != 0)
    return base::ErrnoError("rename into", path);
  temporary.Renamed();
  // Some file systems cannot sync a directory and say EINVAL; they keep it by other means.
  if (::fsync(directory_fd.get()) != 0 && errno != EINVAL)
    return base::ErrnoError("fsync directory", directory);
  return {};
}

}  // namespace tenon::host
