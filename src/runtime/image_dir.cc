#include "runtime/image_dir.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/errno_error.h"
#include "base/strings.h"

namespace tenon::runtime {
namespace {

bool IsReferencePart(std::string_view part) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:@-";
  return !part.empty() && part[0] != '.' &&
         part.find_first_not_of(kAllowed) == std::string_view::npos;
}

Result<void> CheckDirectory(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) return base::ErrnoError("stat", path);
  if (!S_ISDIR(st.st_mode)) return Error(Code::kInvalidArgument, path + " is not a directory");
  struct stat root {};
  if (::stat("/", &root) != 0) return base::ErrnoError("stat", "/");
  // A container enters its root by pivot_root, which the root of the machine itself refuses.
  if (st.st_dev == root.st_dev && st.st_ino == root.st_ino) {
    return Error(Code::kInvalidArgument,
                 path +
                     " is this machine's own root, which no container can have for its root: "
                     "name the directory of an unpacked image");
  }
  return {};
}

}  // namespace

Result<std::string> FindImage(const std::string& image_dir, const std::string& image) {
  std::string path = image;
  if (!image.starts_with('/')) {
    const auto parts = base::Split(image, '/');
    if (!std::all_of(parts.begin(), parts.end(), IsReferencePart)) {
      return Error(Code::kInvalidArgument,
                   "image \"" + base::EscapeForLine(image) +
                       "\" is no name: write a directory below --image-dir, or an absolute path");
    }
    if (image_dir.empty()) {
      return Error(Code::kNotFound, "image " + image + ": no --image-dir was given to look in");
    }
    path = base::JoinPath(image_dir, image);
  }
  TENON_TRY_VOID(CheckDirectory(path));
  return path;
}

}  // namespace tenon::runtime
