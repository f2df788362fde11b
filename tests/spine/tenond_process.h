#pragma once

#include <optional>
#include <string>
#include <vector>

#include "admin/http_message.h"
#include "loop/event_loop.h"
#include "process/child.h"

namespace tenon::spine {

/// A real tenond as a child process, watched on the test's own loop. Killed with the object.
class TenondProcess final {
 public:
  /// `arguments` after the program's name; `through` is a program that execs it (see unshare(1)).
  TenondProcess(loop::EventLoop& loop, std::vector<std::string> arguments, std::string control,
                std::vector<std::string> through = {});

  /// Waits for its end. Returns: nothing when it does not end.
  std::optional<process::ChildExit> WaitForExit();
  void Signal(int signal) { child_->Kill(signal); }
  bool running() const { return !exit_; }
  pid_t pid() const { return child_->pid(); }
  /// Its standard error so far.
  const std::string& log() const { return log_; }
  bool Logged(std::string_view text) const { return log_.find(text) != std::string::npos; }
  size_t TimesLogged(std::string_view text) const;

  /// Asks its control socket. Returns: status 0 when there is no answer.
  admin::HttpResponse Get(const std::string& path);
  /// The value of a metric, its labels as they stand in the text; -1 when it is not there.
  double Metric(const std::string& name_and_labels);
  bool Ready() { return Get("/readyz").status == 200; }

  /// From /proc: what must not grow.
  size_t OpenDescriptors() const;
  size_t StatusNumber(const std::string& field) const;  ///< "Threads", "VmRSS" (KiB).

 private:
  loop::EventLoop& loop_;
  const std::string control_;
  std::string log_;
  std::optional<process::ChildExit> exit_;
  std::unique_ptr<process::Child> child_;
};

}  // namespace tenon::spine
