#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/result.h"
#include "base/unique_fd.h"
#include "loop/event_loop.h"

namespace tenon::runtime {

/// One process of this boot, told from later ones with the same pid by when it started.
struct ProcessIdentity {
  pid_t pid = 0;
  uint64_t start_ticks = 0;  ///< Field 22 of /proc/PID/stat.
  bool operator==(const ProcessIdentity&) const = default;
};

/// The process that has this pid now. Errors: kNotFound when there is none.
Result<ProcessIdentity> IdentifyProcess(pid_t pid);

/// Makes orphans below this process its children, so that it sees how containers end, whose
/// direct parent, the runtime, exits first. It then has to reap them: ProcessWatch does.
Result<void> AdoptOrphans();

/// How a watched process ended.
struct ProcessExit {
  /// As a shell tells it, 128 + signal after a signal; nullopt when it was not our child.
  std::optional<int> exit_code;
  int signal = 0;
};

/// Watches the end of one process through a pidfd and reaps it if it is our child. Destroying it
/// leaves the process alone. Thread: loop only.
class ProcessWatch final {
 public:
  using ExitFn = std::function<void(ProcessExit)>;

  /// `exited` runs once, in a later turn. Errors: kNotFound when the process is gone already, or
  /// its pid belongs to another one.
  static Result<std::unique_ptr<ProcessWatch>> Open(loop::EventLoop& loop,
                                                    const ProcessIdentity& process, ExitFn exited);
  ProcessWatch(const ProcessWatch&) = delete;
  ProcessWatch& operator=(const ProcessWatch&) = delete;

  /// Sends a signal to this process and no other. Does nothing once it has ended.
  void Kill(int signal);

 private:
  ProcessWatch(base::UniqueFd pidfd, ExitFn exited)
      : pidfd_(std::move(pidfd)), exited_(std::move(exited)) {}
  void OnExit();

  const base::UniqueFd pidfd_;
  ExitFn exited_;
  loop::FdWatch watch_;  // After pidfd_: ends before the descriptor is closed.
};

}  // namespace tenon::runtime
