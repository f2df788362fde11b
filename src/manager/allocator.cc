#include "manager/allocator.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/strings.h"

namespace tenon::manager {
namespace {

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

/// The devices that are chosen so far, of as many as are required; none twice.
class Choice {
 public:
  Choice(std::vector<std::string> first, size_t required)
      : required_(required), ids_(std::move(first)), seen_(ids_.begin(), ids_.end()) {}

  void Take(const std::vector<const TableDevice*>& devices) {
    for (const TableDevice* device : devices)
      if (ids_.size() < required_ && seen_.insert(device->id).second) ids_.push_back(device->id);
  }
  /// Those of `preferred` that are among `from`, in the order of their preference.
  void TakePreferred(const std::vector<std::string>& preferred,
                     const std::vector<const std::vector<const TableDevice*>*>& from) {
    if (preferred.empty()) return;
    std::map<std::string_view, const TableDevice*> candidates;
    for (const auto* devices : from)
      for (const TableDevice* device : *devices)
        candidates.emplace(device->id, device);
    for (const std::string& id : preferred)
      if (auto at = candidates.find(id); at != candidates.end()) Take({at->second});
  }
  std::vector<std::string> ids() && { return std::move(ids_); }

 private:
  const size_t required_;
  std::vector<std::string> ids_;
  std::set<std::string, std::less<>> seen_;
};

}  // namespace

Result<std::optional<Selection>> Selection::Start(DeviceRequest request, const DeviceRow* row,
                                                  PodDevices& pods) {
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

  if (required == 0) return std::optional<Selection>();

  std::vector<std::string> reused = std::move(request.reusable);
  if (reused.size() > required) reused.resize(required);
  Selection selection(std::move(request.key), required, std::move(reused), request.affinity);
  const size_t needed = selection.needed();
  const size_t available = pods.Free(selection.key_.resource, row).size();
  if (available < needed)
    return Error(
        Code::kResourceExhausted,
        fmt::format("requested number of devices unavailable for {}. Requested: {}, Available: {}",
                    selection.key_.resource, needed, available));
  selection.incomplete_ = needed > 0 && (!selection.IsAligned(*row) ||
                                         selection.SplitFree(row, pods).aligned.size() != needed);
  return std::optional(std::move(selection));
}

api::PreferredRequest Selection::Preference(const DeviceRow* row, PodDevices& pods) const {
  api::PreferredRequest request{
      .available = reused_, .must_include = reused_, .size = static_cast<int32_t>(required_)};
  const Split split = SplitFree(row, pods);
  const auto add = [](std::vector<std::string>& ids, const Devices& devices) {
    for (const TableDevice* device : devices)
      ids.push_back(device->id);
  };
  add(request.available, split.aligned);
  if (split.aligned.size() <= needed()) {
    add(request.must_include, split.aligned);
    add(request.available, split.unaligned);
    add(request.available, split.no_numa);
  }
  std::ranges::sort(request.available, base::NaturalLess);
  std::ranges::sort(request.must_include, base::NaturalLess);
  return request;
}

Result<std::vector<std::string>> Selection::Finish(const std::vector<std::string>& preferred,
                                                   const DeviceRow* row, PodDevices& pods) && {
  const Split split = SplitFree(row, pods);
  Choice choice(reused_, required_);
  if (split.aligned.size() > needed()) {
    choice.TakePreferred(preferred, {&split.aligned});
    choice.Take(split.aligned);
  } else {
    choice.Take(split.aligned);
    choice.TakePreferred(preferred, {&split.unaligned, &split.no_numa});
    choice.Take(split.unaligned);
    choice.Take(split.no_numa);
  }
  std::vector<std::string> chosen = std::move(choice).ids();
  if (chosen.size() < required_)
    return Error(
        Code::kResourceExhausted,
        fmt::format("unexpectedly allocated less resources than required. Requested: {}, Got: {}",
                    required_, chosen.size()));
  std::ranges::sort(chosen, base::NaturalLess);
  return chosen;
}

Selection::Split Selection::SplitFree(const DeviceRow* row, PodDevices& pods) const {
  Split split;
  for (uint32_t index : pods.Free(key_.resource, row)) {
    const TableDevice& device = row->devices[index];
    if (!IsAligned(*row) || device.numa_nodes.empty()) {
      split.no_numa.push_back(&device);
    } else if ((NumaMaskOf(device.numa_nodes) & *affinity_) != 0) {
      split.aligned.push_back(&device);
    } else {
      split.unaligned.push_back(&device);
    }
  }
  return split;
}

}  // namespace tenon::manager
