#include "tenon/input_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/errno_error.h"
#include "base/unique_fd.h"

namespace tenon::cli {
namespace {

Result<std::string> ReadAll(int fd, const std::string& name, size_t max_mib) {
  std::string text;
  std::array<char, 16 << 10> buffer;
  for (;;) {
    ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::ErrnoError("read", name);
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<size_t>(got));
    if (text.size() > max_mib << 20) {
      return Error(Code::kInvalidArgument,
                   name + " is longer than " + std::to_string(max_mib) + " MiB");
    }
  }
}

}  // namespace

Result<std::string> ReadInput(const std::string& path, size_t max_mib) {
  if (path == "-") return ReadAll(STDIN_FILENO, "standard input", max_mib);
  base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd.valid()) return base::ErrnoError("open", path);
  return ReadAll(fd.get(), path, max_mib);
}

}  // namespace tenon::cli
