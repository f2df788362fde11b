// Reads anything as an AllocateResponse. Each part of one that is split must decode by itself.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "round_trip.h"
#include "wire/messages.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tenon;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  fuzz::CheckRoundTrip(bytes, wire::DecodeContainerAllocation, wire::EncodeContainerAllocation);
  const auto parts = wire::SplitAllocateResponse(bytes);
  if (!parts) return 0;
  std::vector<ContainerAllocation> containers;
  for (const std::string& part : *parts) {
    auto container = wire::DecodeContainerAllocation(part);
    TENON_CHECK(container);
    containers.push_back(*std::move(container));
  }
  const auto again = wire::SplitAllocateResponse(wire::EncodeAllocateResponse(containers));
  TENON_CHECK(again && again->size() == containers.size());
  for (size_t i = 0; i < containers.size(); ++i)
    TENON_CHECK(*wire::DecodeContainerAllocation(again->at(i)) == containers[i]);
  return 0;
}
