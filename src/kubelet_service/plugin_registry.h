#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "host/file_watch.h"
#include "kubelet_service/socket_dialer.h"
#include "loop/event_loop.h"
#include "manager/manager.h"

namespace tenon::kubelet_service {

/// The second way in: plugins that put their registration socket into plugins_registry and wait to
/// be found there, as those for SR-IOV and RDMA network devices do.
///
/// Every socket below the directory, but for those whose name begins with a dot, is asked who it
/// is, and told what came of it. A socket that is replaced is registered anew, one that is removed
/// takes its plugin with it, one that fails is tried again later and later. Thread: loop only.
/// Owner: ends before the manager. Source: kubernetes pkg/kubelet/pluginmanager.
class PluginRegistry final {
 public:
  struct Options {
    SocketDialer::Options dialer;
    base::Duration connect_limit = std::chrono::seconds(10);
    base::Duration info_deadline = std::chrono::seconds(1);
    base::Duration notify_deadline = std::chrono::seconds(5);
    base::Duration first_retry = std::chrono::milliseconds(500);
    base::Duration last_retry = std::chrono::seconds(122);
  };

  /// Errors: the directory cannot be watched.
  static Result<std::unique_ptr<PluginRegistry>> Start(loop::EventLoop& loop, base::Log& log,
                                                       manager::Manager& manager,
                                                       std::string directory,
                                                       const Options& options);
  PluginRegistry(const PluginRegistry&) = delete;
  PluginRegistry& operator=(const PluginRegistry&) = delete;
  ~PluginRegistry();

 private:
  class FoundSocket;
  /// Tells a socket from one that was made later at the same path.
  struct Identity {
    uint64_t inode = 0;
    int64_t made_ns = 0;
    auto operator<=>(const Identity&) const = default;
  };

  PluginRegistry(loop::EventLoop& loop, base::Log& log, manager::Manager& manager,
                 std::string directory, const Options& options);
  /// Looks at the whole directory. Errors: it cannot be watched.
  Result<void> Scan();
  /// Returns: false if the directory has gone; never of the uppermost one.
  Result<bool> Watch(const std::string& path);
  Result<void> ScanDirectory(const std::string& path, std::map<std::string, Identity>& sockets,
                             std::set<std::string>& directories);
  void ScanLater();

  loop::EventLoop& loop_;
  base::Log& log_;
  manager::Manager& manager_;
  const std::string directory_;
  const Options options_;
  SocketDialer dialer_;
  std::unique_ptr<host::FileWatch> watch_;
  std::map<std::string, std::unique_ptr<host::DirectoryWatch>> directories_;
  std::set<std::string> gone_;  ///< Of those, the ones whose watch is dead.
  std::map<std::string, std::unique_ptr<FoundSocket>> sockets_;
  loop::TimerHandle scanning_;
};

}  // namespace tenon::kubelet_service
