#include "discovery/holding.h"

#include <algorithm>

#include "base/strings.h"
#include "discovery/resolve.h"

namespace tenon::discovery {
namespace {

std::string Joined(const std::set<std::string>& ids) {
  return base::Join({ids.begin(), ids.end()}, ", ");
}

bool HasNumberOf(const FoundDevice& device, const std::set<std::string>& numbers) {
  return std::ranges::any_of(device.paths, [&](const FoundPath& path) {
    return !path.mount && !path.shared && numbers.contains(DeviceNumber(path));
  });
}

}  // namespace

bool MarkIfHeldOtherwise(const std::string& resource, const std::vector<Holding>& holdings,
                         FoundDevice& device) {
  if (device.health == Health::kUnhealthy || device.paths.empty()) return false;
  for (const Holding& holding : holdings) {
    if (!HasNumberOf(device, holding.numbers)) continue;
    if (holding.resource == resource && holding.ids.contains(device.id.value)) continue;
    device.health = Health::kUnhealthy;
    device.reason = "held by " + holding.holder + " as " + Joined(holding.ids);
    if (holding.resource != resource) device.reason += " of " + holding.resource;
    return true;
  }
  return false;
}

std::vector<FoundDevice> VanishedWhileHeld(const std::string& resource,
                                           const std::vector<Holding>& holdings,
                                           const std::vector<FoundDevice>& found) {
  std::vector<FoundDevice> vanished;
  std::set<std::string> present;
  for (const Holding& holding : holdings) {
    if (holding.resource != resource) continue;
    if (present.empty())
      for (const FoundDevice& device : found)
        present.insert(device.id.value);
    for (const std::string& id : holding.ids) {
      if (present.contains(id)) continue;
      // Found under another id it is not gone.
      if (std::ranges::any_of(found, [&](const FoundDevice& device) {
            return !holding.ids.contains(device.id.value) && HasNumberOf(device, holding.numbers);
          }))
        continue;
      present.insert(id);
      vanished.push_back({.id = {id},
                          .health = Health::kUnhealthy,
                          .reason = "vanished while held by " + holding.holder});
    }
  }
  return vanished;
}

}  // namespace tenon::discovery
