#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace tenon::kubelet_service {

/// The directory of a kubelet: `root`/device-plugins with kubelet.sock, the plugins' sockets and
/// the checkpoint, `root`/pod-resources and `root`/plugins_registry.
///
/// Opening it removes all sockets, as plugins take that for a kubelet's restart; on a directory
/// that a living kubelet uses it would cut off all its plugins. So it is refused where a kubelet
/// answers, and in the directory of the machine's own kubelet, unless told to take over; and a
/// lock keeps a second one of us out, whatever was told. Thread: loop only.
class KubeletDirectory final {
 public:
  /// Makes what is missing, mode 0700, takes the lock and removes old sockets.
  /// Errors: kFailedPrecondition, somebody uses it; kPermissionDenied, others can write to it; or
  /// what cannot be made. The texts say what to do.
  static Result<std::unique_ptr<KubeletDirectory>> Open(const std::string& root, bool take_over);
  KubeletDirectory(const KubeletDirectory&) = delete;
  KubeletDirectory& operator=(const KubeletDirectory&) = delete;

  const std::string& root() const { return root_; }
  std::string plugin_directory() const;
  std::string pod_resources_socket() const;
  std::string plugin_registry() const;

 private:
  explicit KubeletDirectory(std::string root) : root_(std::move(root)) {}
  Result<void> Create(bool take_over) const;
  Result<void> Lock();
  Result<void> RefuseLiveKubelet() const;
  Result<void> RemoveSockets() const;

  const std::string root_;
  base::UniqueFd lock_;
};

}  // namespace tenon::kubelet_service
