#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "loop/event_loop.h"
#include "process/child.h"

namespace tenon::program {

/// A program as the configuration names it: no shell, nothing is searched.
struct Program {
  std::vector<std::string> argv;  ///< argv[0] is an absolute path.
  base::Duration timeout = std::chrono::seconds(30);
  bool operator==(const Program&) const = default;
};

/// The one way by which the daemon starts programs of a configuration: only those in directories
/// that its command line names, so that whoever edits a ConfigMap does not become root.
///
/// What counts is the file that the path leads to: it is in such a directory, it and the
/// directories down to it belong to root or to the user of this process, and nobody else may
/// write to them. The environment is clean; output is cut at 64 KiB, time at the timeout, and
/// then the whole process group is killed. A program does not outlive this process, however that
/// ends. Thread: loop only.
class Runner final {
 public:
  /// What it wrote to standard output if it ended with status 0. Else how it ended and the first
  /// line of what it said: "exit status 3: no such board".
  using DoneFn = std::function<void(Result<std::string> output)>;

  /// `allowed` are the values of --allow-exec.
  Runner(loop::EventLoop& loop, std::vector<std::string> allowed)
      : loop_(loop), allowed_(std::move(allowed)) {}
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  /// Starts a program with these variables beside PATH. `done` runs once, in a later turn, and may
  /// destroy the child; never after the child was destroyed, which kills it. Errors, each naming
  /// the program: kPermissionDenied with the rule that it breaks, or what exec says.
  Result<std::unique_ptr<process::Child>> Start(const Program& program,
                                                std::map<std::string, std::string> env,
                                                DoneFn done);

 private:
  /// Returns: the file that `path` leads to, which is what may be run: the path itself may lead
  /// elsewhere a moment later.
  Result<std::string> Resolve(const std::string& path) const;

  loop::EventLoop& loop_;
  const std::vector<std::string> allowed_;
};

}  // namespace tenon::program
