#pragma once

#include <memory>

#include "base/log.h"
#include "base/result.h"
#include "kubelet_service/kubelet_directory.h"
#include "kubelet_service/plugin_registry.h"
#include "kubelet_service/pod_resources_server.h"
#include "kubelet_service/registration_server.h"
#include "kubelet_service/socket_dialer.h"
#include "loop/event_loop.h"
#include "loop/worker.h"
#include "manager/checkpoint_store.h"
#include "manager/manager.h"

namespace tenon::kubelet_service {

/// A kubelet's device manager on the sockets of a directory, with its checkpoint there: all that
/// plugins and monitors see of a kubelet. Thread: loop only.
class KubeletService final {
 public:
  struct Options {
    manager::ManagerOptions manager;
    /// Of a plugin's answer. The kubelet's limit is 4 MiB.
    size_t max_response_bytes = size_t{16} << 20;
  };

  /// Restores the checkpoint, then listens. Errors: neither is possible.
  static Result<std::unique_ptr<KubeletService>> Start(loop::EventLoop& loop, base::Log& log,
                                                       std::unique_ptr<KubeletDirectory> directory,
                                                       const Options& options);
  KubeletService(const KubeletService&) = delete;
  KubeletService& operator=(const KubeletService&) = delete;

  manager::Manager& manager() { return manager_; }
  const KubeletDirectory& directory() const { return *directory_; }

 private:
  KubeletService(loop::EventLoop& loop, base::Log& log, std::unique_ptr<KubeletDirectory> directory,
                 const Options& options);

  // The servers end first, and the lock on the directory last, after the worker's last write.
  const std::unique_ptr<KubeletDirectory> directory_;
  loop::Worker worker_;
  manager::DiskCheckpointFile file_;
  SocketDialer dialer_;
  manager::Manager manager_;
  std::unique_ptr<RegistrationServer> registration_;
  std::unique_ptr<PodResourcesServer> pod_resources_;
  std::unique_ptr<PluginRegistry> registry_;
};

}  // namespace tenon::kubelet_service
