#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "device/event_ring.h"
#include "device/pod_resources.h"
#include "tenond/resource_set.h"
#include "value/value.h"

namespace tenon::tenond {

/// What GET /api/v1/status tells beside the resources themselves.
struct StatusFacts {
  std::string version;
  base::WallTime started_at;
  std::string config_file;
  std::vector<std::string> config_errors;  ///< Of the newest file; then an older one is in force.
  std::string plugin_dir;
};

/// The status object; docs/control-api.md describes it. `pods` is what the kubelet says about who
/// holds what, or why it is not known.
Value StatusJson(const StatusFacts& facts, const ResourceSet& resources, const EventRing& events,
                 const Result<std::vector<PodResources>>& pods);

}  // namespace tenon::tenond
