#include "process/child.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "process/pipes.h"
#include "process/spawn.h"

namespace tenon::process {
namespace {

/// How long a killed child may take to end before `done` runs without it: a process that waits
/// for a sick driver in the kernel does not die.
constexpr base::Duration kLongestDying = std::chrono::seconds(2);

struct Reaped {
  int code = -1;
  int signal = 0;
};

/// Takes a child's end. Returns: nullopt while it runs.
std::optional<Reaped> Reap(int pidfd) {
  siginfo_t info{};
  if (::waitid(P_PIDFD, static_cast<id_t>(pidfd), &info, WEXITED | WNOHANG) != 0)
    return Reaped{};  // ECHILD: somebody else in this process took it.
  if (info.si_pid == 0) return std::nullopt;
  if (info.si_code == CLD_EXITED) return Reaped{.code = info.si_status};
  // A tracer is told of stops, too, whether it asks for them or not.
  if (info.si_code != CLD_KILLED && info.si_code != CLD_DUMPED) return std::nullopt;
  return Reaped{.signal = info.si_status};
}

OutputPipe::Sink SinkFor(const ChildOptions& options, int stream) {
  if (!options.on_output) return nullptr;
  return
      [on_output = options.on_output, stream](std::string_view bytes) { on_output(stream, bytes); };
}

class RunningChild final : public Child {
 public:
  RunningChild(loop::EventLoop& loop, Spawned spawned, ChildOptions options, DoneFn done)
      : loop_(loop),
        pid_(spawned.pid),
        deadline_(options.deadline),
        pidfd_(std::move(spawned.pidfd)),
        input_(std::move(spawned.input), std::move(options.input)),
        output_(std::move(spawned.output), options.max_output_bytes, SinkFor(options, 1)),
        errors_(std::move(spawned.errors), options.max_output_bytes, SinkFor(options, 2)),
        done_(std::move(done)) {}
  ~RunningChild() override {
    Kill(SIGKILL);
    Abandon();
  }

  Result<void> Start();
  pid_t pid() const override { return pid_; }
  void Kill(int signal) override {
    // Until it is reaped the number belongs to this child and its group.
    if (pidfd_.valid()) ::kill(-pid_, signal);
  }

 private:
  void OnPidfdReadable();
  void OnDeadline();
  void End(Reaped reaped);
  void Abandon();

  loop::EventLoop& loop_;
  const pid_t pid_;
  const std::optional<base::Duration> deadline_;
  base::UniqueFd pidfd_;       // Not valid once the child is reaped or abandoned.
  loop::FdWatch pidfd_watch_;  // After pidfd_: ends before the descriptor is closed.
  loop::TimerHandle timer_;    // The deadline, then the end of the wait for it to die.
  bool killed_ = false;        // By us, at its deadline.
  InputPipe input_;
  OutputPipe output_;
  OutputPipe errors_;
  DoneFn done_;
};

Result<void> RunningChild::Start() {
  TENON_TRY(pidfd_watch_,
            loop_.WatchFd(pidfd_.get(), loop::kReadable, [this](unsigned) { OnPidfdReadable(); }));
  TENON_TRY_VOID(input_.Start(loop_));
  TENON_TRY_VOID(output_.Start(loop_));
  TENON_TRY_VOID(errors_.Start(loop_));
  if (deadline_) timer_ = loop_.timers().After(*deadline_, [this] { OnDeadline(); });
  return {};
}

void RunningChild::OnDeadline() {
  killed_ = true;
  Kill(SIGKILL);
  timer_ = loop_.timers().After(kLongestDying, [this] {
    Abandon();
    End(Reaped{.signal = SIGKILL});
  });
}

void RunningChild::OnPidfdReadable() {
  std::optional<Reaped> reaped = Reap(pidfd_.get());
  if (!reaped) return;
  pidfd_watch_.Cancel();
  pidfd_.Reset();
  End(*reaped);
}

/// Leaves the child for the loop to reap whenever it ends.
void RunningChild::Abandon() {
  pidfd_watch_.Cancel();
  if (pidfd_.valid() && !Reap(pidfd_.get()))
    loop_.WhenReadable(std::move(pidfd_), [](int pidfd) { Reap(pidfd); });
  pidfd_.Reset();
}

void RunningChild::End(Reaped reaped) {
  timer_.Cancel();
  input_.Close();
  // Either may destroy this.
  if (!output_.Finish() || !errors_.Finish()) return;
  ChildExit exit{.code = reaped.code,
                 .signal = reaped.signal,
                 .timed_out = killed_ && reaped.signal == SIGKILL,
                 .deadline = deadline_.value_or(base::Duration::zero()),
                 .output_cut = output_.cut() || errors_.cut(),
                 .output = output_.TakeText(),
                 .errors = errors_.TakeText()};
  DoneFn done = std::move(done_);
  done(std::move(exit));
}

std::string DurationText(base::Duration d) {
  auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
  return ms % 1000 == 0 ? fmt::format("{} s", ms / 1000) : fmt::format("{} ms", ms);
}

}  // namespace

std::string ChildExit::Describe() const {
  if (timed_out) return "killed after " + DurationText(deadline);
  if (signal != 0) {
    const char* name = ::sigdescr_np(signal);
    return fmt::format("killed by signal {} ({})", signal, name == nullptr ? "unknown" : name);
  }
  if (code >= 0) return fmt::format("exit status {}", code);
  return "ended with a status that is not known";
}

Result<std::unique_ptr<Child>> Child::Start(loop::EventLoop& loop, ChildOptions options,
                                            DoneFn done) {
  TENON_CHECK(done);
  TENON_TRY(Spawned spawned, Spawn(options));
  auto child =
      std::make_unique<RunningChild>(loop, std::move(spawned), std::move(options), std::move(done));
  TENON_TRY_VOID(child->Start());
  return std::unique_ptr<Child>(std::move(child));
}

}  // namespace tenon::process
