#include "policy/replicas.h"

#include <memory>
#include <utility>

#include "base/check.h"

namespace tenon::policy {
namespace {

constexpr std::string_view kSeparator = "::";

}  // namespace

DeviceSetPtr Replicate(const DeviceSetPtr& devices, int64_t share) {
  TENON_CHECK(share >= 1);
  if (share == 1) return devices;
  DeviceSet replicas{.revision = devices->revision};
  replicas.devices.reserve(devices->devices.size() * static_cast<size_t>(share));
  for (const Device& device : devices->devices) {
    for (int64_t i = 0; i < share; ++i) {
      replicas.devices.push_back(device);
      replicas.devices.back().id.value.append(kSeparator).append(std::to_string(i));
    }
  }
  SortById(replicas.devices);
  return std::make_shared<const DeviceSet>(std::move(replicas));
}

std::string_view ReplicaOf(std::string_view id) {
  return id.substr(0, id.rfind(kSeparator));
}

}  // namespace tenon::policy
