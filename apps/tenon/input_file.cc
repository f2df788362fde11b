#include "tenon/input_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/errno_error.h"
#include "base/unique_fd.h"

namespace tenon::cli {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 20;

Result<std::string> ReadAll(int fd, const std::string& name) {
  std::string text;
  std::array<char, 16 << 10> buffer;
  for (;;) {
    ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::ErrnoError("read", name);
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<size_t>(got));
    if (text.size() > kMaxBytes)
      return Error(Code::kInvalidArgument, name + " is longer than 1 MiB");
  }
}

}  // namespace

Result<std::string> ReadInput(const std::string& path) {
  if (path == "-") return ReadAll(STDIN_FILENO, "standard input");
  base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd.valid()) return base::ErrnoError("open", path);
  return ReadAll(fd.get(), path);
}

}  // namespace tenon::cli
