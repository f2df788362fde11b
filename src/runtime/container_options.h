#pragma once

#include <vector>

#include "base/result.h"
#include "device/allocation.h"
#include "pod/pod.h"

namespace tenon::runtime {

/// The variables of plugins, then the pod's, whose values may use the pod's earlier ones; of two
/// of one name the later one wins. Source: the kubelet's order, generateContainerConfig.
std::vector<pod::EnvVar> ListVariables(const pod::Container& container,
                                       const ContainerAllocation& allocation);

/// Refuses annotations by which runtimes are given orders: hooks, devices, systemd properties, CDI
/// names. Errors: kInvalidArgument, naming the annotation.
Result<void> CheckAnnotations(const ContainerAllocation& allocation);

}  // namespace tenon::runtime
