#include "discovery/holding.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/strings.h"
#include "discovery/resolve.h"

namespace tenon::discovery {
namespace {

std::string Joined(const std::set<std::string>& ids) {
  return base::Join({ids.begin(), ids.end()}, ", ");
}

bool MayBeHeld(const FoundPath& path) {
  return !path.mount && !path.shared;
}

bool HasNumberOf(const FoundDevice& device, const std::set<std::string>& numbers) {
  return std::ranges::any_of(device.paths, [&](const FoundPath& path) {
    return MayBeHeld(path) &&
           (numbers.contains(DeviceNumber(path)) || numbers.contains(path.real_path));
  });
}

}  // namespace

const FoundDevice* FindById(const Snapshot& sorted, std::string_view id) {
  auto found = std::ranges::lower_bound(
      sorted, id, {}, [](const FoundDevicePtr& d) -> std::string_view { return d->id.value; });
  return found != sorted.end() && (*found)->id.value == id ? found->get() : nullptr;
}

bool Holdings::Set(std::vector<Holding> all) {
  if (all == all_) return false;
  all_ = std::move(all);
  Index();
  return true;
}

void Holdings::Add(Holding holding) {
  std::erase_if(all_, [&](const Holding& other) {
    return other.resource == holding.resource && other.ids == holding.ids;
  });
  all_.push_back(std::move(holding));
  Index();
}

void Holdings::Index() {
  by_number_.clear();
  for (size_t i = 0; i < all_.size(); ++i)
    for (const std::string& number : all_[i].numbers)
      by_number_[number].push_back(i);
}

bool Holdings::MarkIfHeldOtherwise(const std::string& resource, FoundDevicePtr& device) const {
  if (by_number_.empty() || device->health == Health::kUnhealthy) return false;
  for (const FoundPath& path : device->paths) {
    if (!MayBeHeld(path)) continue;
    std::string who =
        WhoHoldsOtherwise(resource, device->id.value, DeviceNumber(path), path.real_path);
    if (who.empty()) continue;
    FoundDevice marked = *device;
    marked.health = Health::kUnhealthy;
    marked.reason = std::move(who);
    device = std::make_shared<const FoundDevice>(std::move(marked));
    return true;
  }
  return false;
}

std::string Holdings::WhoHoldsOtherwise(const std::string& resource, std::string_view id,
                                        const std::string& number,
                                        const std::string& real_path) const {
  for (const std::string& key : {number, real_path}) {
    auto held = by_number_.find(key);
    if (held == by_number_.end()) continue;
    for (size_t at : held->second) {
      const Holding& holding = all_[at];
      if (holding.resource == resource && holding.ids.contains(std::string(id))) continue;
      std::string who = "held by " + holding.holder + " as " + Joined(holding.ids);
      if (holding.resource != resource) who += " of " + holding.resource;
      return who;
    }
  }
  return {};
}

Snapshot Holdings::VanishedWhileHeld(const std::string& resource, const Snapshot& found) const {
  Snapshot vanished;
  std::set<std::string> told;
  for (const Holding& holding : all_) {
    if (holding.resource != resource) continue;
    for (const std::string& id : holding.ids) {
      if (FindById(found, id) != nullptr || told.contains(id)) continue;
      // Found under another id it is not gone.
      if (std::ranges::any_of(found, [&](const FoundDevicePtr& device) {
            return !holding.ids.contains(device->id.value) && HasNumberOf(*device, holding.numbers);
          }))
        continue;
      told.insert(id);
      vanished.push_back(std::make_shared<const FoundDevice>(
          FoundDevice{.id = {id},
                      .health = Health::kUnhealthy,
                      .reason = "vanished while held by " + holding.holder}));
    }
  }
  return vanished;
}

}  // namespace tenon::discovery
