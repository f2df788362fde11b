// Reads anything as a ListAndWatchResponse. Its devices, as a plugin would hold them, must come
// back from their own encoding.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "wire/messages.h"

namespace {

using tenon::Device;
using tenon::Health;
using tenon::api::ListedDevice;

Device Held(const ListedDevice& listed) {
  Device device{.id = {listed.id}};
  device.health = listed.health == tenon::api::kHealthy ? Health::kHealthy : Health::kUnhealthy;
  for (int64_t numa_node : listed.numa_nodes)
    device.numa_nodes.push_back(static_cast<int>(numa_node));
  return device;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto listed = tenon::wire::DecodeDeviceList(bytes);
  if (!listed) return 0;
  std::vector<Device> devices;
  for (const ListedDevice& device : *listed)
    devices.push_back(Held(device));
  const std::string encoded = tenon::wire::EncodeDeviceList(devices);
  TENON_CHECK(encoded.size() == tenon::wire::DeviceListSize(devices));
  const auto again = tenon::wire::DecodeDeviceList(encoded);
  TENON_CHECK(again && again->size() == devices.size());
  for (size_t i = 0; i < devices.size(); ++i)
    TENON_CHECK(Held(again->at(i)) == devices[i]);
  return 0;
}
