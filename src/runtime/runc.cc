#include "runtime/runc.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "base/errno_error.h"
#include "base/strings.h"
#include "runtime/image_dir.h"
#include "runtime/oci_config.h"
#include "value/value.h"

namespace tenon::runtime {
namespace {

/// As the kubelet's runtimeRequestTimeout. Source: kubelet/config/v1beta1 KubeletConfiguration.
constexpr base::Duration kDeadline = std::chrono::minutes(2);
constexpr std::string_view kInstall = "; install the package runc, 1.1 or newer";

constexpr std::string_view kIdPrefix = "runc://";

/// One run of runc, or the error of one that could not be started, told in a later turn. It goes on
/// when this process is killed: a create or delete that is cut off leaves a cgroup or a directory
/// that no command of runc takes away, whereas one that ends is found by the next start.
class RuncCall final : public RuntimeCall {
 public:
  using ExitFn = std::function<void(Result<process::ChildExit>)>;

  RuncCall(loop::EventLoop& loop, process::ChildOptions options, ExitFn done) {
    auto child = process::Child::Start(loop, std::move(options),
                                       [done](process::ChildExit exit) { done(std::move(exit)); });
    if (child) {
      child_ = *std::move(child);
      return;
    }
    failed_ = loop.timers().After(base::Duration::zero(),
                                  [done = std::move(done), error = child.error()] { done(error); });
  }

 private:
  std::unique_ptr<process::Child> child_;
  loop::TimerHandle failed_;
};

/// A result that was known at once, told in a later turn.
class LaterCall final : public RuntimeCall {
 public:
  LaterCall(loop::EventLoop& loop, std::function<void()> tell)
      : timer_(loop.timers().After(base::Duration::zero(), std::move(tell))) {}

 private:
  loop::TimerHandle timer_;
};

/// Several calls one after the other, up to the first that fails.
class EachCall final : public RuntimeCall {
 public:
  using BeginFn =
      std::function<ContainerRuntime::Call(const std::string& id, ContainerRuntime::Done done)>;

  EachCall(std::vector<std::string> ids, BeginFn begin, ContainerRuntime::Done done)
      : ids_(std::move(ids)), begin_(std::move(begin)), done_(std::move(done)) {
    Next();
  }

 private:
  /// Requires: there is one.
  void Next() {
    const std::string id = std::move(ids_.back());
    ids_.pop_back();
    call_ = begin_(id, [this](const Result<void>& result) {
      if (result && !ids_.empty()) return Next();
      const auto done = std::move(done_);
      done(result);
    });
  }

  std::vector<std::string> ids_;
  const BeginFn begin_;
  ContainerRuntime::Done done_;
  ContainerRuntime::Call call_;
};

/// A container is its first process here.
class RuncWatch final : public ContainerWatch {
 public:
  explicit RuncWatch(std::unique_ptr<ProcessWatch> watch) : watch_(std::move(watch)) {}
  void Terminate() override { watch_->Kill(SIGTERM); }
  void Kill() override { watch_->Kill(SIGKILL); }

 private:
  const std::unique_ptr<ProcessWatch> watch_;
};

/// Source: kubernetes pkg/kubelet/util, truncatePodHostnameIfNeeded.
std::string HostnameOf(const pod::Pod& pod) {
  std::string name = pod.name.substr(0, 63);
  while (name.ends_with('-') || name.ends_with('.'))
    name.pop_back();
  return name;
}

Result<void> WriteText(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text << std::flush;
  if (!file) return Error(Code::kInternal, path + " cannot be written");
  return {};
}

std::string_view LastLine(std::string_view text) {
  while (text.ends_with('\n'))
    text.remove_suffix(1);
  const size_t start = text.rfind('\n');
  return start == std::string_view::npos ? text : text.substr(start + 1);
}

Result<std::string> ReadSmallFile(const std::string& path) {
  const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return base::ErrnoError("open", path);
  std::array<char, 65536> buffer{};
  const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
  if (n < 0) return base::ErrnoError("read", path);
  return std::string(buffer.data(), static_cast<size_t>(n));
}

/// What runc said last in its log of JSON lines.
std::string LoggedMessage(const std::string& log_path) {
  const auto text = ReadSmallFile(log_path);
  if (!text) return "";
  const auto line = ParseJson(LastLine(*text), log_path);
  const Value* message = line ? line->Find("msg") : nullptr;
  return message ? message->text() : "";
}

Error CallError(const process::ChildExit& exit, std::string_view what, std::string said) {
  if (said.empty()) said = exit.Describe();
  // "runc create failed: …" says already what the prefix would.
  if (!said.starts_with("runc ")) said = "runc " + std::string(what) + ": " + said;
  return {Code::kInternal, base::EscapeForLine(said)};
}

Result<void> CheckExit(const Result<process::ChildExit>& exit, std::string_view what) {
  if (!exit) return exit.error();
  if (exit->ok()) return {};
  return CallError(*exit, what, std::string(LastLine(exit->errors)));
}

Result<ProcessIdentity> ReadPidFile(const std::string& path) {
  TENON_TRY(const std::string text, ReadSmallFile(path));
  const auto pid = base::ParseInt64(text);
  if (!pid || *pid < 1 || *pid > INT32_MAX) return Error(Code::kDataLoss, path + ": holds no pid");
  return IdentifyProcess(static_cast<pid_t>(*pid));
}

Result<ContainerPresence> ReadPresence(const process::ChildExit& exit) {
  if (!exit.ok()) {
    if (exit.errors.find("does not exist") != std::string::npos) return ContainerPresence::kAbsent;
    return CallError(exit, "state", std::string(LastLine(exit.errors)));
  }
  TENON_TRY(const Value state, ParseJson(exit.output, "runc state"));
  const Value* status = state.Find("status");
  const std::string text = status ? status->text() : "";
  if (text == "created") return ContainerPresence::kCreated;
  if (text == "running" || text == "paused") return ContainerPresence::kRunning;
  if (text == "stopped") return ContainerPresence::kStopped;
  return Error(Code::kInternal, "runc state: unknown status \"" + base::EscapeForLine(text) + "\"");
}

std::vector<std::string> DirectoriesIn(const std::string& path) {
  std::vector<std::string> out;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path, error))
    if (entry.is_directory(error) && !entry.is_symlink(error))
      out.push_back(entry.path().filename());
  return out;
}

/// The process id of a runc command on the containers of `state_dir`, or an empty text. What runs
/// in containers, and what runc leaves there until they start, has another command line.
std::string OtherCommand(const std::string& state_dir) {
  const std::string wanted = std::string("\0--root\0", 8) + state_dir + '\0';
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    std::string name = entry.path().filename();
    if (!base::ParseInt64(name)) continue;
    const auto command_line = ReadSmallFile(entry.path() / "cmdline");
    if (command_line && command_line->find(wanted) != std::string::npos) return name;
  }
  return {};
}

/// "runc version 1.1.5+ds1": {1, 1}.
std::optional<std::pair<int64_t, int64_t>> ParseVersion(std::string_view output) {
  constexpr std::string_view kPrefix = "runc version ";
  if (!output.starts_with(kPrefix)) return std::nullopt;
  const auto parts = base::Split(output.substr(kPrefix.size(), 32), '.');
  if (parts.size() < 2) return std::nullopt;
  const auto major = base::ParseInt64(parts[0]);
  const auto minor = base::ParseInt64(parts[1]);
  if (!major || !minor) return std::nullopt;
  return std::pair(*major, *minor);
}

}  // namespace

ContainerRuntime::Call Runc::Run(std::vector<std::string> arguments, process::ChildOptions child,
                                 RanFn done) {
  child.argv = {options_.program, "--root", options_.state_dir};
  child.argv.insert(child.argv.end(), arguments.begin(), arguments.end());
  child.deadline = kDeadline;
  return std::make_unique<RuncCall>(loop_, std::move(child), std::move(done));
}

Result<void> Runc::WriteBundle(const NewContainer& container, const std::string& bundle,
                               const std::string& cgroup) const {
  const auto rootfs_found = FindImage(options_.image_dir, container.container.image);
  if (!rootfs_found) return Error(Code::kNotFound, rootfs_found.error().message());
  const std::string& rootfs = *rootfs_found;
  const auto build = [&]() -> Result<Value> {
    TENON_TRY(const auto image, host::PosixHost::Open(rootfs));
    return BuildOciConfig(container.container, container.allocation,
                          {.rootfs = rootfs,
                           .cgroups_path = CgroupOf(container.pod.uid) + "/" + cgroup,
                           .hostname = HostnameOf(container.pod),
                           .cdi_directories = options_.cdi_directories},
                          machine_, *image);
  };
  const auto config = build();
  // A device node that is not there is no image that is not there.
  if (!config) return Error(Code::kInvalidArgument, config.error().message());
  std::error_code error;
  std::filesystem::create_directory(bundle, error);
  return WriteText(base::JoinPath(bundle, "config.json"), ToJson(*config, /*indent=*/true));
}

ContainerRuntime::Call Runc::Create(const NewContainer& container, CreateDone done) {
  // What was there before has been deleted: nobody needs its bundle.
  std::error_code error;
  for (const std::string& name : DirectoriesIn(container.directory))
    std::filesystem::remove_all(base::JoinPath(container.directory, name), error);
  const std::string unique = pod::RandomUid().substr(0, 8);
  const std::string bundle = base::JoinPath(container.directory, unique);
  const std::string id = container.id + "." + unique;
  if (auto written = WriteBundle(container, bundle, container.container.name + "." + unique);
      !written) {
    return std::make_unique<LaterCall>(
        loop_, [done = std::move(done), error = written.error()] { done(error); });
  }
  const std::string log = base::JoinPath(bundle, "runc.log");
  const std::string pid_file = base::JoinPath(bundle, "pid");
  return Run({"--log", log, "--log-format", "json", "create", "--bundle", bundle, "--pid-file",
              pid_file, id},
             {.output_path = container.log_path},
             [done = std::move(done), log, pid_file,
              name = std::string(kIdPrefix) + id](Result<process::ChildExit> exit) {
               if (!exit) return done(Error(Code::kInternal, exit.error().message()));
               if (!exit->ok()) return done(CallError(*exit, "create", LoggedMessage(log)));
               auto process = ReadPidFile(pid_file);
               if (!process) return done(Error(Code::kInternal, process.error().message()));
               done(ContainerIdentity{.name = name, .process = *process});
             });
}

ContainerRuntime::Call Runc::Start(const ContainerIdentity& container, Done done) {
  return Run({"--log", "/dev/null", "start", RuntimeId(container)}, {},
             [done = std::move(done)](const Result<process::ChildExit>& exit) {
               done(CheckExit(exit, "start"));
             });
}

ContainerRuntime::Call Runc::Delete(const std::string& id, Done done) {
  std::vector<std::string> ids = DirectoriesIn(options_.state_dir);
  // Those of former versions have no random part.
  std::erase_if(
      ids, [&id](const std::string& known) { return known != id && !known.starts_with(id + "."); });
  if (ids.empty())
    return std::make_unique<LaterCall>(loop_, [done = std::move(done)] { done({}); });
  const auto remove = [this](const std::string& known, Done removed) {
    return Run({"--log", "/dev/null", "delete", "--force", known}, {},
               [removed = std::move(removed)](const Result<process::ChildExit>& exit) {
                 removed(CheckExit(exit, "delete"));
               });
  };
  return std::make_unique<EachCall>(std::move(ids), remove, std::move(done));
}

ContainerRuntime::Call Runc::Query(const ContainerIdentity& container, QueryDone done) {
  return Run({"--log", "/dev/null", "state", RuntimeId(container)}, {},
             [done = std::move(done)](const Result<process::ChildExit>& exit) {
               if (!exit) return done(exit.error());
               done(ReadPresence(*exit));
             });
}

ContainerRuntime::Call Runc::RemovePod(const std::string& uid, Done done) {
  RemoveEmptyCgroups(CgroupOf(uid));
  return std::make_unique<LaterCall>(loop_, [done = std::move(done)] { done({}); });
}

Result<std::unique_ptr<ContainerWatch>> Runc::Watch(const ContainerIdentity& container,
                                                    ExitFn exited) {
  TENON_TRY(auto watch,
            ProcessWatch::Open(loop_, container.process,
                               [exited = std::move(exited)](const ProcessExit& exit) {
                                 exited({.exit_code = exit.exit_code, .signal = exit.signal});
                               }));
  return std::unique_ptr<ContainerWatch>(std::make_unique<RuncWatch>(std::move(watch)));
}

std::string CgroupOf(const std::string& pod_uid) {
  return "/tenon/" + pod_uid;
}

Result<void> CheckRunc(loop::EventLoop& loop, const std::string& program) {
  std::optional<process::ChildExit> exit;
  auto child = process::Child::Start(loop, {.argv = {program, "--version"}},
                                     [&exit](process::ChildExit e) { exit = std::move(e); });
  if (!child) {
    return Error(Code::kFailedPrecondition, child.error().message() + std::string(kInstall));
  }
  loop.RunUntil([&exit] { return exit.has_value(); }, kDeadline);
  const auto version = exit && exit->ok() ? ParseVersion(exit->output) : std::nullopt;
  if (!version) {
    return Error(Code::kFailedPrecondition,
                 program + " is no runc that works" + std::string(kInstall));
  }
  if (*version < std::pair<int64_t, int64_t>(1, 1)) {
    return Error(Code::kFailedPrecondition,
                 program + " is version " + std::to_string(version->first) + "." +
                     std::to_string(version->second) + std::string(kInstall));
  }
  return {};
}

Result<void> AwaitOtherCommands(loop::EventLoop& loop, const std::string& state_dir,
                                base::Duration limit) {
  constexpr std::chrono::milliseconds kPause(20);
  std::string pid = OtherCommand(state_dir);
  for (base::Duration waited{}; !pid.empty() && waited < limit; waited += kPause) {
    loop.RunUntil([] { return false; }, kPause);
    pid = OtherCommand(state_dir);
  }
  if (pid.empty()) return {};
  return Error(Code::kDeadlineExceeded, "a runc command of an earlier tenon kubelet, process " +
                                            pid + ", is still at work on the containers of " +
                                            state_dir);
}

void RemoveEmptyCgroups(const std::string& path) {
  const std::filesystem::path root = "/sys/fs/cgroup";
  std::error_code error;
  std::vector<std::filesystem::path> hierarchies = {root};  // Version 2 is mounted here itself.
  for (const auto& entry : std::filesystem::directory_iterator(root, error)) {
    if (entry.is_directory(error) && !entry.is_symlink(error)) hierarchies.push_back(entry.path());
  }
  for (const auto& hierarchy : hierarchies) {
    std::filesystem::path cgroup = hierarchy / std::filesystem::path(path).relative_path();
    for (const std::string& container : DirectoriesIn(cgroup))
      ::rmdir((cgroup / container).c_str());
    while (cgroup != hierarchy && ::rmdir(cgroup.c_str()) == 0)
      cgroup = cgroup.parent_path();
  }
}

}  // namespace tenon::runtime
