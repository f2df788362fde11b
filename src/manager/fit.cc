#include "manager/fit.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenon::manager {

std::string Unfit::Message() const {
  return fmt::format("Node didn't have enough resource: {}, requested: {}, used: {}, capacity: {}",
                     resource, requested, used, capacity);
}

std::optional<Unfit> FirstUnfit(const Requests& requested, const Requests& used,
                                const DeviceTable& table, const PodDevices& pods) {
  for (const auto& [resource, quantity] : requested) {
    const DeviceRow* row = table.Find(resource);
    if (quantity == 0 || (row == nullptr && !table.WasRemoved(resource))) continue;
    const IdsInUse* in_use = pods.InUse(resource);
    auto offered = static_cast<int64_t>(
        std::max(row != nullptr ? row->CountHealthy() : 0, in_use != nullptr ? in_use->size() : 0));
    auto at = used.find(resource);
    int64_t taken = at == used.end() ? 0 : at->second;
    if (quantity > offered - taken) return Unfit{resource, quantity, taken, offered};
  }
  return std::nullopt;
}

}  // namespace tenon::manager
