#include "config/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/errno_error.h"
#include "base/strings.h"
#include "base/unique_fd.h"
#include "config/config.h"

namespace tenon::config {
namespace {

bool IsConfigName(std::string_view name) {
  constexpr std::array<std::string_view, 3> kEndings = {".yaml", ".yml", ".json"};
  return !name.starts_with('.') && std::ranges::any_of(kEndings, [name](std::string_view ending) {
    return name.ends_with(ending);
  });
}

}  // namespace

Result<std::vector<std::string>> FilesAt(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return std::vector{path};
  std::vector<std::string> files;
  std::filesystem::directory_iterator entry(path, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename();
    std::error_code ignored;
    if (IsConfigName(name) && !entry->is_directory(ignored))
      files.push_back(base::JoinPath(path, name));
  }
  if (error) return base::ErrnoError("read directory", path, error.value());
  if (files.empty())
    return Error(Code::kNotFound,
                 path +
                     ": a directory without files that end in .yaml, .yml or .json; put the "
                     "configuration into one");
  if (files.size() > kMaxFiles)
    return Error(Code::kInvalidArgument,
                 path + ": " + std::to_string(files.size()) + " files; make it at most " +
                     std::to_string(kMaxFiles) + ", one file holds any number of resources");
  std::ranges::sort(files);
  return files;
}

Result<std::string> ReadFile(const std::string& path) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return base::ErrnoError("open", path);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return base::ErrnoError("stat", path);
  if (!S_ISREG(status.st_mode))
    return Error(Code::kInvalidArgument, path + ": not a regular file; name a text file");
  std::string text(kMaxFileBytes + 1, '\0');
  size_t length = 0;
  while (length < text.size()) {
    ssize_t count = ::read(fd.get(), text.data() + length, text.size() - length);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return base::ErrnoError("read", path);
    if (count == 0) break;
    length += static_cast<size_t>(count);
  }
  if (length > kMaxFileBytes)
    return Error(Code::kInvalidArgument, path + ": more than " + std::to_string(kMaxFileBytes) +
                                             " bytes; a configuration is smaller");
  text.resize(length);
  return text;
}

}  // namespace tenon::config
