#include "tenond/open_check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string_view>

#include "base/errno_error.h"
#include "base/unique_fd.h"
#include "discovery/sysfs.h"

namespace tenon::tenond {
namespace {

constexpr std::string_view kOption = "--open-check";

std::string NumberText(unsigned major, unsigned minor) {
  return std::to_string(major) + ":" + std::to_string(minor);
}

Result<void> OpenDevice(const std::string& path, std::string_view number) {
  // Found first and opened then, so that nothing is opened but what was meant.
  base::UniqueFd found(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!found.valid()) return base::ErrnoError("open", path);
  struct stat file {};
  if (::fstat(found.get(), &file) != 0) return base::ErrnoError("stat", path);
  if (!S_ISCHR(file.st_mode) || NumberText(major(file.st_rdev), minor(file.st_rdev)) != number)
    return Error(Code::kFailedPrecondition, path + ": another file has taken its place");
  const std::string same = "/proc/self/fd/" + std::to_string(found.get());
  base::UniqueFd opened(::open(same.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  // Somebody has it, so its driver is well.
  if (opened.valid() || errno == EBUSY) return {};
  Error error = base::ErrnoError("open", path);
  if (error.os_errno() != EPERM) return error;
  return Error(Code::kPermissionDenied,
               error.message() + " (tenond's own container may lack the device in its cgroup)");
}

}  // namespace

std::vector<std::string> OpenCheckCommand(host::Host& host, const discovery::FoundDevice& device,
                                          const OpenCheckRule& rule) {
  std::vector<std::string> command = {"/proc/self/exe", std::string(kOption)};
  const size_t own = command.size();
  for (const discovery::FoundPath& path : device.paths) {
    if (path.kind != host::FileKind::kCharacterDevice) continue;
    const std::string number = NumberText(path.major, path.minor);
    const std::string subsystem = discovery::LinkName(host, "/sys/dev/char/" + number, "subsystem");
    if (std::ranges::find(rule.subsystems, subsystem) == rule.subsystems.end()) continue;
    command.push_back(host.HostPath(path.real_path));
    command.push_back(number);
  }
  return command.size() == own ? std::vector<std::string>() : command;
}

bool IsOpenCheck(std::span<const char* const> arguments) {
  return !arguments.empty() && arguments.front() == kOption;
}

int OpenDevices(std::span<const char* const> arguments) {
  for (size_t i = 1; i + 1 < arguments.size(); i += 2) {
    auto opened = OpenDevice(arguments[i], arguments[i + 1]);
    if (opened) continue;
    std::fprintf(stderr, "%s\n", opened.error().message().c_str());
    return 1;
  }
  return 0;
}

}  // namespace tenon::tenond
