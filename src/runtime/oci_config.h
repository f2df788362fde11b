#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "device/allocation.h"
#include "host/host.h"
#include "pod/pod.h"
#include "value/value.h"

namespace tenon::runtime {

/// Where and as what a container runs.
struct OciOptions {
  std::string rootfs;        ///< Directory of its image; never written to.
  std::string cgroups_path;  ///< "/tenon/<pod uid>/<container>.<random>".
  std::string hostname;
  std::vector<std::string> cdi_directories;  ///< Where CDI names are looked up.
};

/// The OCI runtime configuration of one container: its namespaces, the default capabilities, a
/// read-only root with tmpfs on /tmp and /run, and what `allocation` gives it.
///
/// Device nodes are looked up here, at the start: a device that was unplugged and plugged in again
/// may have another number than at the allocation. The device cgroup refuses all others but those
/// that the runtime always allows (docs/security.md). The pod's variables come after the plugin's
/// and win; those of CDI specs come last, as runtimes that know CDI add them. CDI names are looked
/// up now, too, since runc does not know them.
/// `machine` is where device nodes and mounts come from, `image` the root file system.
/// Errors: what the kubelet shows as CreateContainerConfigError: a device node that is not there
/// or is none, a mount point that the image lacks, no command, a CDI name that no spec has, an
/// annotation by which a plugin would give the runtime orders.
/// Source: OCI runtime-spec 1.0.2 config-linux.md; kubelet's order of variables: spec §5.
Result<Value> BuildOciConfig(const pod::Container& container, const ContainerAllocation& allocation,
                             const OciOptions& options, host::Host& machine, host::Host& image);

}  // namespace tenon::runtime
