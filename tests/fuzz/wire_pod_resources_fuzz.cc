// Reads anything as a message of PodResources: the answer to List, the request of Get, the answer
// to GetAllocatableResources.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "round_trip.h"
#include "wire/pod_resources.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  tenon::fuzz::CheckRoundTrip(bytes, tenon::wire::DecodePodResources,
                              tenon::wire::EncodePodResources);
  tenon::fuzz::CheckRoundTrip(bytes, tenon::wire::DecodeGetPodResourcesRequest,
                              tenon::wire::EncodeGetPodResourcesRequest);
  tenon::fuzz::CheckRoundTrip(bytes, tenon::wire::DecodeAllocatableResources,
                              tenon::wire::EncodeAllocatableResources);
  return 0;
}
