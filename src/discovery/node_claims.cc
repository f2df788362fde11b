#include "discovery/node_claims.h"

#include <memory>
#include <utility>

namespace tenon::discovery {
namespace {

uint64_t NumberKey(const FoundPath& path) {
  const uint64_t block = path.kind == host::FileKind::kBlockDevice ? 1 : 0;
  return block << 63 | uint64_t{path.major} << 32 | path.minor;
}

}  // namespace

void NodeClaims::Claim(const std::string& resource, FoundDevicePtr& device) {
  if (device->health == Health::kUnhealthy) return;
  const Owner self{resource, device->id.value};
  for (const FoundPath& path : device->paths) {
    if (path.mount || path.shared) continue;
    auto owner = owners_.find(NumberKey(path));
    if (owner == owners_.end() || owner->second == self) continue;
    FoundDevice refused = *device;
    refused.health = Health::kUnhealthy;
    refused.reason = path.real_path + ": also in " + std::string(owner->second.resource);
    if (owner->second.resource == resource)
      refused.reason.append(" as ").append(owner->second.device);
    device = std::make_shared<const FoundDevice>(std::move(refused));
    return;
  }
  for (const FoundPath& path : device->paths)
    if (!path.mount && !path.shared) owners_.emplace(NumberKey(path), self);
}

}  // namespace tenon::discovery
