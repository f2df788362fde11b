#include "host/path_walk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <optional>
#include <string_view>
#include <vector>

#include "base/errno_error.h"
#include "base/strings.h"

namespace tenon::host {
namespace {

constexpr int kMostSymlinks = 40;  // Source: Linux include/linux/namei.h, MAXSYMLINKS.

class Walk {
 public:
  Walk(int root_fd, std::set<std::string>* passed) : root_fd_(root_fd), passed_(passed) {}

  Result<WalkedFile> Run(const std::string& path, int flags);

 private:
  struct Directory {
    std::string name;
    base::UniqueFd fd;
  };

  int here() const { return directories_.empty() ? root_fd_ : directories_.back().fd.get(); }
  void GoUp() {
    if (!directories_.empty()) directories_.pop_back();
  }
  std::string RealPath(std::string_view last) const;
  void PutFirst(std::string_view path);
  Result<void> FollowLink(int link_fd);
  Result<WalkedFile> Open(const std::string& piece, int flags) const;
  /// Returns: the file, if the walk ends with this piece.
  Result<std::optional<WalkedFile>> Step(std::string piece, int flags);

  const int root_fd_;
  std::set<std::string>* const passed_;
  int symlinks_ = 0;
  std::vector<Directory> directories_;  // From the root to where the walk stands.
  std::vector<std::string> pending_;    // The pieces still to go, the next one at the back.
};

/// The walk knows only pieces; whoever called it names the whole path.
Error Failed(int os_errno) {
  return base::ErrnoError("walk", "", os_errno);
}

std::string Walk::RealPath(std::string_view last) const {
  std::string path;
  for (const Directory& directory : directories_)
    path.append("/").append(directory.name);
  if (!last.empty()) path.append("/").append(last);
  return path.empty() ? "/" : path;
}

void Walk::PutFirst(std::string_view path) {
  auto pieces = base::Split(path, '/');
  // A "/" at the end asks for a directory, and so does a last ".".
  if (pieces.back().empty()) pieces.back() = ".";
  for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece)
    if (!piece->empty()) pending_.emplace_back(*piece);
}

Result<void> Walk::FollowLink(int link_fd) {
  if (++symlinks_ > kMostSymlinks) return Failed(ELOOP);
  std::array<char, PATH_MAX> target{};
  ssize_t length = ::readlinkat(link_fd, "", target.data(), target.size());
  if (length < 0) return Failed(errno);
  if (length == 0) return Failed(ENOENT);
  if (target[0] == '/') directories_.clear();
  PutFirst({target.data(), static_cast<size_t>(length)});
  return {};
}

Result<WalkedFile> Walk::Open(const std::string& piece, int flags) const {
  base::UniqueFd fd(::openat(here(), piece.c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid()) return Failed(errno);
  return WalkedFile{std::move(fd), RealPath(piece == "." ? "" : piece)};
}

Result<std::optional<WalkedFile>> Walk::Step(std::string piece, int flags) {
  bool last = pending_.empty();
  if (passed_ != nullptr) passed_->insert(RealPath(""));
  TENON_TRY(WalkedFile file, Open(piece, O_PATH));
  struct stat st {};
  if (::fstat(file.fd.get(), &st) != 0) return Failed(errno);
  if (S_ISLNK(st.st_mode) && !(last && (flags & O_NOFOLLOW) != 0)) {
    TENON_TRY_VOID(FollowLink(file.fd.get()));
    return std::optional<WalkedFile>();
  }
  if (last && (flags & O_PATH) == 0) {
    TENON_TRY(file, Open(piece, flags));
  }
  if (last) return std::optional(std::move(file));
  if (!S_ISDIR(st.st_mode)) return Failed(ENOTDIR);
  directories_.push_back({std::move(piece), std::move(file.fd)});
  return std::optional<WalkedFile>();
}

Result<WalkedFile> Walk::Run(const std::string& path, int flags) {
  if (path.size() >= PATH_MAX) return Failed(ENAMETOOLONG);
  PutFirst(path);
  while (!pending_.empty()) {
    std::string piece = std::move(pending_.back());
    pending_.pop_back();
    if (piece == ".") continue;
    if (piece == "..") {
      GoUp();
      continue;
    }
    TENON_TRY(auto end, Step(std::move(piece), flags));
    if (end) return *std::move(end);
  }
  return Open(".", flags);
}

}  // namespace

Result<WalkedFile> WalkInRoot(int root_fd, const std::string& path, int flags,
                              std::set<std::string>* directories) {
  return Walk(root_fd, directories).Run(path, flags);
}

}  // namespace tenon::host
