#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "process/child.h"
#include "tenon/control_client.h"

namespace tenon::cli {

/// The device plugins that `tenon run --plugin` brings along: started before its pod by 'tenon
/// plugin', told to end after it. What they write goes to standard error.
class RunPlugins final {
 public:
  /// `client` must outlive it.
  explicit RunPlugins(ControlClient& client) : client_(client) {}
  RunPlugins(const RunPlugins&) = delete;
  RunPlugins& operator=(const RunPlugins&) = delete;
  /// Ends them: SIGTERM, after five seconds SIGKILL.
  ~RunPlugins();

  /// Starts one. `command` is split at spaces. Errors: it is empty, or cannot be started.
  Result<void> Start(const std::string& command, const std::string& kubelet_dir);

  /// Waits until the kubelet has as many healthy devices of each resource as are wanted.
  /// Errors: kDeadlineExceeded, naming what is missing; kFailedPrecondition when a plugin has
  /// ended; what the kubelet says; interrupted.
  Result<void> AwaitDevices(const std::map<std::string, int64_t>& wanted);

 private:
  struct Plugin {
    std::string command;
    std::unique_ptr<process::Child> child;
    std::string end;  ///< How it ended; empty while it runs.
  };

  Result<std::string> FirstMissing(const std::map<std::string, int64_t>& wanted);
  bool AllEnded() const;

  ControlClient& client_;
  std::vector<std::unique_ptr<Plugin>> plugins_;
};

}  // namespace tenon::cli
