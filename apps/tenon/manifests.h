#pragma once

#include <map>
#include <string>
#include <vector>

namespace tenon::cli {

struct ManifestOptions {
  std::string image;
  std::string namespace_name = "tenon";
  std::string kubelet_dir = "/var/lib/kubelet";
  std::vector<std::string> allow_paths;  ///< Mounted where tenond looks for them.
  bool cdi = false;                      ///< The directory of CDI specs is mounted, to be written.
  bool open_check = false;               ///< The container is privileged, as it opens device nodes.
  bool surge = false;                    ///< For Kubernetes 1.25 and newer.
  bool selinux = false;
};

/// Namespace, ConfigMap and DaemonSet, as YAML for `kubectl apply -f -`: what deploy/kubernetes has
/// as its base and overlays, from the same files. `files`: the configuration's texts, valid UTF-8,
/// by their names in the ConfigMap.
std::string Manifests(const ManifestOptions& options,
                      const std::map<std::string, std::string>& files);

}  // namespace tenon::cli
