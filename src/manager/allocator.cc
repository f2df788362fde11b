#include "manager/allocator.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/strings.h"

namespace tenon::manager {
namespace {

using IdsInUse = PodDevices::IdsInUse;

bool IsFree(const DeviceRow& row, const TableDevice& device, const IdsInUse* in_use) {
  return row.IsHealthy(device) && (in_use == nullptr || !in_use->contains(device.id));
}

bool AllHealthy(const std::vector<std::string>& ids, const DeviceRow& row) {
  return std::ranges::all_of(ids, [&](const std::string& id) {
    const TableDevice* device = row.Find(id);
    return device != nullptr && row.IsHealthy(*device);
  });
}

Error Unhealthy(std::string_view why, const std::string& resource) {
  return {Code::kFailedPrecondition,
          fmt::format("{}; cannot allocate unhealthy devices {}", why, resource)};
}

}  // namespace

Result<std::optional<Selection>> Selection::Start(DeviceRequest request, const DeviceRow* row,
                                                  const PodDevices& pods) {
  const auto& [pod_uid, container, resource] = request.key;
  const auto required = static_cast<size_t>(request.required);
  if (request.have && request.have->size() != required)
    return Error(
        Code::kFailedPrecondition,
        fmt::format(R"(pod "{}" container "{}" changed request for resource "{}" from {} to {})",
                    pod_uid, container, resource, request.have->size(), required));
  if (request.running) return std::optional<Selection>();
  if (row == nullptr)
    return Error(Code::kFailedPrecondition, "cannot allocate unregistered device " + resource);
  if (row->CountHealthy() == 0) return Unhealthy("no healthy devices present", resource);
  if (request.have) {
    if (!AllHealthy(*request.have, *row))
      return Unhealthy("previously allocated devices are no longer healthy", resource);
    return std::optional<Selection>();
  }

  std::vector<std::string> taken = std::move(request.reusable);
  if (taken.size() > required) taken.resize(required);
  const IdsInUse* in_use = pods.InUse(resource);
  const size_t needed = required - taken.size();
  const auto available = static_cast<size_t>(std::ranges::count_if(
      row->devices, [&](const TableDevice& device) { return IsFree(*row, device, in_use); }));
  if (available < needed)
    return Error(
        Code::kResourceExhausted,
        fmt::format("requested number of devices unavailable for {}. Requested: {}, Available: {}",
                    resource, needed, available));
  return std::optional(Selection(std::move(request.key), required, std::move(taken)));
}

api::PreferredRequest Selection::Preference(const DeviceRow* row, const PodDevices& pods) const {
  api::PreferredRequest request{
      .available = taken_, .must_include = taken_, .size = static_cast<int32_t>(required_)};
  const IdsInUse* in_use = pods.InUse(key_.resource);
  if (row != nullptr)
    for (const TableDevice& device : row->devices)
      if (IsFree(*row, device, in_use)) request.available.push_back(device.id);
  std::ranges::sort(request.available, base::NaturalLess);
  return request;
}

Result<std::vector<std::string>> Selection::Finish(const std::vector<std::string>& preferred,
                                                   const DeviceRow* row,
                                                   const PodDevices& pods) && {
  const IdsInUse* in_use = pods.InUse(key_.resource);
  std::vector<std::string> chosen = std::move(taken_);
  auto take = [&](const TableDevice* device) {
    if (chosen.size() < required_ && device != nullptr && IsFree(*row, *device, in_use) &&
        std::ranges::find(chosen, device->id) == chosen.end())
      chosen.push_back(device->id);
  };
  if (row != nullptr) {
    for (const std::string& id : preferred)
      take(row->Find(id));
    for (const TableDevice& device : row->devices) {
      if (chosen.size() == required_) break;
      take(&device);
    }
  }
  if (chosen.size() < required_)
    return Error(
        Code::kResourceExhausted,
        fmt::format("unexpectedly allocated less resources than required. Requested: {}, Got: {}",
                    required_, chosen.size()));
  std::ranges::sort(chosen, base::NaturalLess);
  return chosen;
}

}  // namespace tenon::manager
