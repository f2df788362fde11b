#include "runtime/process_watch.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "base/errno_error.h"
#include "base/strings.h"

namespace tenon::runtime {
namespace {

Result<std::string> ReadStat(const std::string& path) {
  const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return base::ErrnoError("open", path);
  std::array<char, 1024> buffer{};
  const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
  if (n < 0) return base::ErrnoError("read", path);
  return std::string(buffer.data(), static_cast<size_t>(n));
}

}  // namespace

Result<ProcessIdentity> IdentifyProcess(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  TENON_TRY(const std::string stat, ReadStat(path));
  // The second field is the program's name in parentheses, which may hold spaces and parentheses.
  const size_t name_end = stat.rfind(')');
  if (name_end != std::string::npos && name_end + 2 < stat.size()) {
    const auto fields = base::Split(std::string_view{stat}.substr(name_end + 2), ' ');
    constexpr size_t kStartTime = 22 - 3;
    const auto ticks =
        fields.size() > kStartTime ? base::ParseInt64(fields[kStartTime]) : std::nullopt;
    if (ticks) return ProcessIdentity{pid, static_cast<uint64_t>(*ticks)};
  }
  return Error(Code::kDataLoss, path + ": has no start time");
}

Result<void> AdoptOrphans() {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0) return {};
  return base::ErrnoError("prctl", "PR_SET_CHILD_SUBREAPER");
}

Result<std::unique_ptr<ProcessWatch>> ProcessWatch::Open(loop::EventLoop& loop,
                                                         const ProcessIdentity& process,
                                                         ExitFn exited) {
  const std::string name = "process " + std::to_string(process.pid);
  base::UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  if (!pidfd.valid()) {
    if (errno == ESRCH) return Error(Code::kNotFound, name + " is gone", ESRCH);
    return base::ErrnoError("pidfd_open", name);
  }
  // Only now: the descriptor holds on to one process, whose start time tells which.
  const auto found = IdentifyProcess(process.pid);
  if (!found || *found != process) {
    return Error(Code::kNotFound, name + " is gone, its pid belongs to another process");
  }
  const int fd = pidfd.get();
  std::unique_ptr<ProcessWatch> watch(new ProcessWatch(std::move(pidfd), std::move(exited)));
  TENON_TRY(watch->watch_,
            loop.WatchFd(fd, loop::kReadable, [w = watch.get()](unsigned) { w->OnExit(); }));
  return watch;
}

void ProcessWatch::Kill(int signal) {
  // ESRCH: it has ended, OnExit() follows or has been.
  (void)::syscall(SYS_pidfd_send_signal, pidfd_.get(), signal, nullptr, 0);
}

void ProcessWatch::OnExit() {
  watch_.Cancel();
  ProcessExit exit;
  siginfo_t info{};
  if (::waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WEXITED | WNOHANG) == 0 &&
      info.si_pid != 0) {
    exit.signal = info.si_code == CLD_EXITED ? 0 : info.si_status;
    exit.exit_code = exit.signal == 0 ? info.si_status : 128 + exit.signal;
  }
  const ExitFn exited = std::move(exited_);
  exited(exit);  // May destroy this.
}

}  // namespace tenon::runtime
