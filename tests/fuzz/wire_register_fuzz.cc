// Reads anything as a RegisterRequest, as DevicePluginOptions, and as what plugins in
// plugins_registry say.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "round_trip.h"
#include "wire/messages.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  tenon::fuzz::CheckRoundTrip(bytes, tenon::wire::DecodeRegisterRequest,
                              tenon::wire::EncodeRegisterRequest);
  tenon::fuzz::CheckRoundTrip(bytes, tenon::wire::DecodePluginOptions,
                              tenon::wire::EncodePluginOptions);
  tenon::fuzz::CheckRoundTrip(bytes, tenon::wire::DecodePluginInfo, tenon::wire::EncodePluginInfo);
  tenon::fuzz::CheckRoundTrip(bytes, tenon::wire::DecodeRegistrationStatus,
                              tenon::wire::EncodeRegistrationStatus);
  return 0;
}
