#pragma once

#include <chrono>

#include "base/clock.h"
#include "manager/numa.h"
#include "manager/topology.h"

namespace tenon::manager {

/// The defaults are the kubelet's; where it would wait for ever they are ours, as a plugin that
/// hangs must not hang the admission of pods that have nothing to do with it.
/// Source: kubernetes pkg/kubelet/cm/devicemanager/types.go and plugin/v1beta1/types.go.
struct ManagerOptions {
  base::Duration dial_timeout = std::chrono::seconds(10);
  base::Duration options_deadline = std::chrono::seconds(10);    ///< The kubelet has none.
  base::Duration allocate_deadline = std::chrono::seconds(30);   ///< The kubelet has none.
  base::Duration preferred_deadline = std::chrono::seconds(30);  ///< The kubelet has none.
  base::Duration pre_start_deadline = std::chrono::seconds(30);
  /// How long a resource outlives its plugin before a kube node has 0 of it.
  base::Duration stop_grace = std::chrono::minutes(5);
  /// As the kubelet does: an endpoint is any path, joined to the directory of the sockets. For
  /// plugins that depend on it; what they name is then connected to, whoever owns it.
  bool any_endpoint = false;
  /// As the kubelet of 1.36 does where ours differs for good reasons: docs/kubelet.md has the list.
  bool compat = false;
  TopologyOptions topology;
  NumaMachine numa;  ///< Needed where the topology policy is not none.
};

/// With no deadline but PreStartContainer's, and any endpoint: --compat=1.36.
ManagerOptions CompatibleOptions();

}  // namespace tenon::manager
