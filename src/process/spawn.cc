#include "process/spawn.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "base/check.h"
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

class FileActions final {
 public:
  FileActions() { TENON_CHECK(::posix_spawn_file_actions_init(&actions_) == 0); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }

  const posix_spawn_file_actions_t* get() const { return &actions_; }
  // These fail only without memory.
  void Dup2(int from, int to) {
    TENON_CHECK(::posix_spawn_file_actions_adddup2(&actions_, from, to) == 0);
  }
  void ChangeDirectory(int fd) {
    TENON_CHECK(::posix_spawn_file_actions_addfchdir_np(&actions_, fd) == 0);
  }
  void CloseFrom(int fd) {
    TENON_CHECK(::posix_spawn_file_actions_addclosefrom_np(&actions_, fd) == 0);
  }

 private:
  posix_spawn_file_actions_t actions_{};
};

/// A process group of its own, no signal blocked, none ignored or handled.
class CleanAttributes final {
 public:
  CleanAttributes() {
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    TENON_CHECK(::posix_spawnattr_init(&attributes_) == 0);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  CleanAttributes(const CleanAttributes&) = delete;
  CleanAttributes& operator=(const CleanAttributes&) = delete;
  ~CleanAttributes() { ::posix_spawnattr_destroy(&attributes_); }

  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

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

/// Returns: the pid.
Result<pid_t> Exec(const ChildOptions& options, const FileActions& actions) {
  std::vector<std::string> argv = options.argv;
  std::vector<std::string> env;
  for (const auto& [name, value] : options.env)
    env.emplace_back(name).append("=").append(value);
  CleanAttributes attributes;
  pid_t pid = -1;
  int error = ::posix_spawn(&pid, argv.front().c_str(), actions.get(), attributes.get(),
                            Pointers(argv).data(), Pointers(env).data());
  if (error != 0) return base::ErrnoError("exec", options.argv.front(), error);
  return pid;
}

}  // namespace

Result<Spawned> Spawn(const ChildOptions& options) {
  TENON_TRY_VOID(CheckOptions(options));
  TENON_TRY_VOID(CheckThatChildrenAreKept());
  TENON_TRY(base::UniqueFd directory, OpenDirectory(options.working_directory));
  TENON_TRY(StandardStreams streams, MakeStandardStreams(options.output_path));
  FileActions actions;
  actions.Dup2(streams.input.read.get(), STDIN_FILENO);
  actions.Dup2(streams.output.childs.get(), STDOUT_FILENO);
  actions.Dup2(streams.errors.childs.get(), STDERR_FILENO);
  actions.ChangeDirectory(directory.get());
  actions.CloseFrom(STDERR_FILENO + 1);
  TENON_TRY(pid_t pid, Exec(options, actions));
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
