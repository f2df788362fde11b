#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "loop/event_loop.h"

namespace tenon::process {

struct ChildOptions {
  /// argv[0] is the absolute path of the program: no shell, no search.
  std::vector<std::string> argv;
  /// The whole environment; nothing of ours is inherited.
  std::map<std::string, std::string> env = {{"PATH", "/usr/sbin:/usr/bin:/sbin:/bin"}};
  std::string working_directory = "/";
  /// Given on standard input, which is then closed.
  std::string input;
  /// After this the whole process group is killed; nullopt lets it run until it ends.
  std::optional<base::Duration> deadline = std::chrono::seconds(30);
  /// Standard output and standard error each: more is dropped, and the child told nothing.
  size_t max_output_bytes = size_t{64} << 10;
  /// A file that gets standard output and error, appended, instead of us: what a grandchild goes
  /// on writing there needs nobody to read it. Made with mode 0600. Optional.
  std::string output_path;
  /// Killed when the thread that starts it ends, however that ends; not what it has started, nor a
  /// program with rights of its own (set-user-ID, file capabilities). Source:
  /// PR_SET_PDEATHSIG(2const).
  bool dies_with_parent = false;
  /// Gets standard output (1) and error (2) as they come, all of it, instead of keeping them; may
  /// destroy the child. Optional.
  std::function<void(int stream, std::string_view bytes)> on_output;
};

/// How a child ended.
struct ChildExit {
  int code = -1;           ///< Exit status, if it exited by itself; else -1.
  int signal = 0;          ///< The signal that ended it; 0 if it exited.
  bool timed_out = false;  ///< We killed it at its deadline.
  base::Duration deadline{};
  bool output_cut = false;
  std::string output;  ///< Standard output.
  std::string errors;  ///< Standard error.

  bool ok() const { return code == 0; }
  /// "exit status 3", "killed by signal 9 (Killed)", "killed after 30 s", for messages.
  std::string Describe() const;
};

/// One program in a process group of its own, watched by the loop through a pidfd.
///
/// Destroying it kills the group and leaves the child to be reaped; `done` does not run then. All
/// descriptors but 0, 1 and 2 are closed in the child, its signal mask and handlers are the
/// defaults.
/// A grandchild that keeps the pipes open does not delay `done`: it runs when the child itself
/// has ended and what was in the pipes then has been read. Nor does a child that cannot even be
/// killed: two seconds after its deadline `done` runs without it. Thread: loop only.
class Child {
 public:
  using DoneFn = std::function<void(ChildExit)>;

  /// Starts the program. `done` runs once and may destroy the child. Requires: nobody else in
  /// this process waits for children it did not start. Errors: what exec says, naming argv[0],
  /// nothing is left behind; kFailedPrecondition where SIGCHLD is ignored.
  static Result<std::unique_ptr<Child>> Start(loop::EventLoop& loop, ChildOptions options,
                                              DoneFn done);
  Child() = default;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  virtual ~Child() = default;

  virtual pid_t pid() const = 0;
  /// Sends a signal to the process group; does nothing once it has ended.
  virtual void Kill(int signal) = 0;
};

}  // namespace tenon::process
