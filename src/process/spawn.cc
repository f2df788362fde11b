#include "process/spawn.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "base/errno_error.h"

namespace tenon::process {
namespace {

struct Pipe {
  base::UniqueFd read, write;
};

/// Moves a descriptor out of the way of 0, 1 and 2, which the child's own ends are copied to:
/// a process that was started with one of them closed gets these numbers for its files.
Result<void> KeepOffStandardStreams(base::UniqueFd& fd) {
  if (fd.get() > STDERR_FILENO) return {};
  int moved = ::fcntl(fd.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (moved < 0) return base::ErrnoError("fcntl", "F_DUPFD_CLOEXEC");
  fd.Reset(moved);
  return {};
}

Result<Pipe> MakePipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return base::ErrnoError("pipe2", "");
  Pipe pipe{base::UniqueFd(ends[0]), base::UniqueFd(ends[1])};
  TENON_TRY_VOID(KeepOffStandardStreams(pipe.read));
  TENON_TRY_VOID(KeepOffStandardStreams(pipe.write));
  return pipe;
}

/// What the child writes to: a pipe whose other end is ours, or a file.
struct Output {
  base::UniqueFd ours, childs;
};

Result<Output> MakeOutput(const std::string& path) {
  if (path.empty()) {
    TENON_TRY(Pipe pipe, MakePipe());
    return Output{std::move(pipe.read), std::move(pipe.write)};
  }
  base::UniqueFd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  if (!file.valid()) return base::ErrnoError("open", path);
  TENON_TRY_VOID(KeepOffStandardStreams(file));
  return Output{{}, std::move(file)};
}

/// Both ends of the three standard streams. Ours do not block.
struct StandardStreams {
  Pipe input;
  Output output, errors;
};

Result<StandardStreams> MakeStandardStreams(const std::string& output_path) {
  TENON_TRY(Pipe input, MakePipe());
  TENON_TRY(Output output, MakeOutput(output_path));
  TENON_TRY(Output errors, MakeOutput(output_path));
  for (int fd : {input.write.get(), output.ours.get(), errors.ours.get()})
    if (fd >= 0 && ::fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
      return base::ErrnoError("fcntl", "O_NONBLOCK");
  return StandardStreams{std::move(input), std::move(output), std::move(errors)};
}

/// Opened here and not by the child, so that a missing one is not taken for a missing program.
Result<base::UniqueFd> OpenDirectory(const std::string& path) {
  base::UniqueFd directory(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return base::ErrnoError("open working directory", path);
  TENON_TRY_VOID(KeepOffStandardStreams(directory));
  return directory;
}

/// What the child needs between fork and exec, where it may not allocate memory: another thread may
/// have held that lock.
struct Plan {
  const char* path;
  char* const* argv;
  char* const* env;
  int input, output, errors;
  int directory;
  int failure;  ///< A pipe, which gets the errno of what fails.
  pid_t parent;
  bool dies_with_parent;
};

/// A process group of its own, no signal blocked, none ignored or handled.
void ResetSignals() {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal)
    ::sigaction(signal, &standard, nullptr);  // Some cannot be changed, and need not be.
  sigset_t none;
  sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

/// Whether the child will be killed should its parent die, or already have died, which no signal
/// would tell it.
bool DieWithParent(pid_t parent) {
  return ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && ::getppid() == parent;
}

/// Where the pipe of Plan::failure ends up, so that all above it can be closed.
constexpr int kFailureFd = STDERR_FILENO + 1;

/// Returns: false when something failed; errno says what.
bool Arrange(const Plan& plan) {
  if (::setpgid(0, 0) != 0) return false;
  if (plan.dies_with_parent && !DieWithParent(plan.parent)) return false;
  if (::dup2(plan.input, STDIN_FILENO) < 0 || ::dup2(plan.output, STDOUT_FILENO) < 0 ||
      ::dup2(plan.errors, STDERR_FILENO) < 0 || ::fchdir(plan.directory) != 0)
    return false;
  if (plan.failure != kFailureFd && ::dup3(plan.failure, kFailureFd, O_CLOEXEC) < 0) return false;
  ::closefrom(kFailureFd + 1);
  ResetSignals();
  return true;
}

/// The child's side of fork().
[[noreturn]] void Become(const Plan& plan) {
  const bool arranged = Arrange(plan);
  if (arranged) ::execve(plan.path, plan.argv, plan.env);
  const int error = errno;
  // The pipe may not have come to its place yet; then nothing else has come there either.
  const int failure = arranged ? kFailureFd : plan.failure;
  [[maybe_unused]] const ssize_t ignored = ::write(failure, &error, sizeof error);
  ::_exit(127);
}

/// A zero-terminated array for exec, which wants pointers to what it does not change.
std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts)
    pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

bool HasZeroByte(std::string_view text) {
  return text.find('\0') != std::string_view::npos;
}

Result<void> CheckOptions(const ChildOptions& options) {
  if (options.argv.empty()) return Error(Code::kInvalidArgument, "exec: no program");
  auto invalid = [&options](std::string_view what, std::string_view name = "") {
    std::string text = "exec ";
    text.append(options.argv.front()).append(": ").append(what).append(name);
    return Error(Code::kInvalidArgument, std::move(text));
  };
  if (!options.argv.front().starts_with('/')) return invalid("not an absolute path");
  for (const std::string& argument : options.argv)
    if (HasZeroByte(argument)) return invalid("zero byte in an argument");
  for (const auto& [name, value] : options.env) {
    if (name.empty() || name.find('=') != std::string::npos || HasZeroByte(name) ||
        HasZeroByte(value))
      return invalid("bad environment variable ", name);
  }
  return {};
}

/// Where SIGCHLD is ignored a child that ends is gone at once, and its number may already be
/// another's when it is looked at.
Result<void> CheckThatChildrenAreKept() {
  struct sigaction action {};
  ::sigaction(SIGCHLD, nullptr, &action);
  if (action.sa_handler != SIG_IGN && (action.sa_flags & SA_NOCLDWAIT) == 0) return {};
  return Error(Code::kFailedPrecondition, "exec: this process ignores SIGCHLD");
}

/// Returns: the errno of a child that did not get as far as its program; 0 for one that did.
int AwaitExec(int failure) {
  int error = 0;
  ssize_t got = 0;
  do {
    got = ::read(failure, &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  return got == sizeof error ? error : 0;
}

/// Returns: the pid.
Result<pid_t> Exec(const ChildOptions& options, const StandardStreams& streams, int directory) {
  std::vector<std::string> argv = options.argv;
  std::vector<std::string> env;
  for (const auto& [name, value] : options.env)
    env.emplace_back(name).append("=").append(value);
  const std::vector<char*> argv_pointers = Pointers(argv);
  const std::vector<char*> env_pointers = Pointers(env);
  TENON_TRY(Pipe failure, MakePipe());
  const Plan plan{.path = argv_pointers[0],
                  .argv = argv_pointers.data(),
                  .env = env_pointers.data(),
                  .input = streams.input.read.get(),
                  .output = streams.output.childs.get(),
                  .errors = streams.errors.childs.get(),
                  .directory = directory,
                  .failure = failure.write.get(),
                  .parent = ::getpid(),
                  .dies_with_parent = options.dies_with_parent};
  const pid_t pid = ::fork();
  if (pid < 0) return base::ErrnoError("fork for", options.argv.front());
  if (pid == 0) Become(plan);
  failure.write.Reset();
  const int error = AwaitExec(failure.read.get());
  if (error == 0) return pid;
  ::waitpid(pid, nullptr, 0);
  return base::ErrnoError("exec", options.argv.front(), error);
}

}  // namespace

Result<Spawned> Spawn(const ChildOptions& options) {
  TENON_TRY_VOID(CheckOptions(options));
  TENON_TRY_VOID(CheckThatChildrenAreKept());
  TENON_TRY(base::UniqueFd directory, OpenDirectory(options.working_directory));
  TENON_TRY(StandardStreams streams, MakeStandardStreams(options.output_path));
  TENON_TRY(pid_t pid, Exec(options, streams, directory.get()));
  // Nobody else reaps our children, so the number is still this child's.
  base::UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd.valid()) {
    Error error = base::ErrnoError("pidfd_open", options.argv.front());
    ::kill(-pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return error;
  }
  return Spawned{pid, std::move(pidfd), std::move(streams.input.write),
                 std::move(streams.output.ours), std::move(streams.errors.ours)};
}

}  // namespace tenon::process
