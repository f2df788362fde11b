// Reads anything as a preferred allocation, request and response.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "round_trip.h"
#include "wire/messages.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  tenon::fuzz::CheckRoundTrip(bytes, tenon::wire::DecodePreferredRequest,
                              tenon::wire::EncodePreferredRequest);
  tenon::fuzz::CheckRoundTrip(bytes, tenon::wire::DecodePreferredResponse,
                              tenon::wire::EncodePreferredResponse);
  return 0;
}
