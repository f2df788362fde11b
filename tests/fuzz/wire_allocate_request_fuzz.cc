// Reads anything as an AllocateRequest and as a PreStartContainerRequest.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "round_trip.h"
#include "wire/messages.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  tenon::fuzz::CheckRoundTrip(bytes, tenon::wire::DecodeAllocateRequest,
                              tenon::wire::EncodeAllocateRequest);
  tenon::fuzz::CheckRoundTrip(bytes, tenon::wire::DecodePreStartRequest,
                              tenon::wire::EncodePreStartRequest);
  return 0;
}
