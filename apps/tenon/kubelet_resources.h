#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/pod_resources.h"
#include "value/value.h"

namespace tenon::cli {

/// What a kubelet, any kubelet, says of its devices: PodResources List and GetAllocatableResources
/// put together.
struct KubeletResources {
  struct Holder {
    std::string namespace_name;
    std::string pod;
    std::string container;
  };
  struct Device {
    bool allocatable = false;
    std::set<int64_t> numa_nodes;
    std::vector<Holder> holders;
  };
  /// Resource → id → device.
  std::map<std::string, std::map<std::string, Device>> resources;
  /// Why it is not known what is allocatable: kubelets before 1.23 do not tell. Empty if it is.
  std::string allocatable_unknown;
};

/// Asks the kubelet on `socket` and waits. Errors: nobody answers there; what the kubelet says.
Result<KubeletResources> AskKubeletResources(const std::string& socket);

std::string RenderKubeletResources(const KubeletResources& kubelet);
Value ToValue(const KubeletResources& kubelet);

}  // namespace tenon::cli
