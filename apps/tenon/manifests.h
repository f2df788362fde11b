#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenon::cli {

struct ManifestOptions {
  std::string image;
  std::string namespace_name = "tenon";
  std::string kubelet_dir = "/var/lib/kubelet";
  std::vector<std::string> allow_paths;  ///< Mounted where tenond looks for them.
  bool cdi = false;                      ///< The directory of CDI specs is mounted, to be written.
  bool surge = false;                    ///< For Kubernetes 1.25 and newer.
  bool selinux = false;
};

/// Namespace, ConfigMap with `config`, and DaemonSet, as YAML for `kubectl apply -f -`: what
/// deploy/kubernetes has as its base and overlays, from the same files. Requires: valid UTF-8.
std::string Manifests(const ManifestOptions& options, std::string_view config);

}  // namespace tenon::cli
