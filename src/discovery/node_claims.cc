#include "discovery/node_claims.h"

#include "discovery/resolve.h"

namespace tenon::discovery {

void NodeClaims::Claim(const std::string& resource, FoundDevice& device) {
  if (device.health == Health::kUnhealthy) return;
  const std::pair self(resource, device.id.value);
  for (const FoundPath& path : device.paths) {
    if (path.mount || path.shared) continue;
    auto owner = owners_.find(DeviceNumber(path));
    if (owner == owners_.end() || owner->second == self) continue;
    device.health = Health::kUnhealthy;
    device.reason = path.real_path + ": also in " + owner->second.first;
    if (owner->second.first == resource) device.reason += " as " + owner->second.second;
    return;
  }
  for (const FoundPath& path : device.paths)
    if (!path.mount && !path.shared) owners_.emplace(DeviceNumber(path), self);
}

}  // namespace tenon::discovery
