// Reads anything as an answer to PodResources List.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "round_trip.h"
#include "wire/pod_resources.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  tenon::fuzz::CheckRoundTrip(bytes, tenon::wire::DecodePodResources,
                              tenon::wire::EncodePodResources);
  return 0;
}
