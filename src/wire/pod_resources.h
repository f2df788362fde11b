#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "device/pod_resources.h"

/// Bytes of PodResources v1 and v1alpha1 and back; the same rules as in messages.h. CPUs, memory
/// and dynamic resources are skipped when read and not written.
/// Source of field numbers: podresources/v1 and v1alpha1 api.proto.
namespace tenon::wire {

inline constexpr std::string_view kPodResourcesList = "/v1.PodResourcesLister/List";
inline constexpr std::string_view kPodResourcesGet = "/v1.PodResourcesLister/Get";
inline constexpr std::string_view kGetAllocatableResources =
    "/v1.PodResourcesLister/GetAllocatableResources";
inline constexpr std::string_view kPodResourcesListV1alpha1 = "/v1alpha1.PodResourcesLister/List";

/// The answers to both Lists (v1alpha1 has no NUMA nodes), and with one pod the answer to Get.
std::string EncodePodResources(const std::vector<PodResources>& pods);
Result<std::vector<PodResources>> DecodePodResources(std::string_view bytes);

/// Which pod Get asks for.
struct PodName {
  std::string name;
  std::string namespace_name;
  bool operator==(const PodName&) const = default;
};
std::string EncodeGetPodResourcesRequest(const PodName& pod);
Result<PodName> DecodeGetPodResourcesRequest(std::string_view bytes);

/// The answer to GetAllocatableResources.
std::string EncodeAllocatableResources(const std::vector<ContainerDevices>& devices);
Result<std::vector<ContainerDevices>> DecodeAllocatableResources(std::string_view bytes);

}  // namespace tenon::wire
