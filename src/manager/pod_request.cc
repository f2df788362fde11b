#include "manager/pod_request.h"

#include <algorithm>

namespace tenon::manager {
namespace {

struct Sums {
  int64_t apps = 0;
  int64_t sidecars = 0;
  int64_t most_at_start = 0;  ///< Of an init container with the sidecars that run beside it.
};

void Add(Sums& sums, ContainerKind kind, int64_t quantity) {
  switch (kind) {
    case ContainerKind::kApp:
      sums.apps += quantity;
      break;
    case ContainerKind::kSidecar:
      sums.sidecars += quantity;
      break;
    case ContainerKind::kInit:
      sums.most_at_start = std::max(sums.most_at_start, sums.sidecars + quantity);
      break;
  }
}

}  // namespace

std::map<std::string, int64_t> TotalRequests(const PodRequest& pod) {
  std::map<std::string, Sums> sums;
  for (const ContainerRequest& container : pod.containers)
    for (const auto& [resource, quantity] : container.limits)
      Add(sums[resource], container.kind, quantity);
  std::map<std::string, int64_t> totals;
  for (const auto& [resource, sum] : sums)
    totals[resource] = std::max(sum.apps + sum.sidecars, sum.most_at_start);
  return totals;
}

}  // namespace tenon::manager
