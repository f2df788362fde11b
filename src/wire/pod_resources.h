#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "device/pod_resources.h"

/// Bytes of PodResources v1 List and back; the same rules as in messages.h. CPUs, memory and
/// dynamic resources are skipped when read and not written.
/// Source of field numbers: podresources/v1 api.proto.
namespace tenon::wire {

inline constexpr std::string_view kPodResourcesList = "/v1.PodResourcesLister/List";

std::string EncodePodResources(const std::vector<PodResources>& pods);
Result<std::vector<PodResources>> DecodePodResources(std::string_view bytes);

}  // namespace tenon::wire
