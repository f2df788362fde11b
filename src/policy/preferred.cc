#include "policy/preferred.h"

#include <algorithm>

#include "base/strings.h"

namespace tenon::policy {
namespace {

std::vector<std::string> InNaturalOrder(std::vector<std::string> ids) {
  std::ranges::sort(ids, base::NaturalLess);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

Error Invalid(const std::string& why) {
  return {Code::kInvalidArgument, "preferred allocation: " + why};
}

std::string Devices(size_t count) {
  return std::to_string(count) + (count == 1 ? " device" : " devices");
}

}  // namespace

Result<std::vector<std::string>> PreferInOrder(const api::PreferredRequest& request) {
  if (request.size < 0) return Invalid("size " + std::to_string(request.size) + " is negative");
  auto size = static_cast<size_t>(request.size);
  std::vector<std::string> available = InNaturalOrder(request.available);
  std::vector<std::string> chosen = InNaturalOrder(request.must_include);
  if (chosen.size() > size)
    return Invalid(Devices(chosen.size()) + " must be included, " + std::to_string(size) +
                   " asked for");
  for (const std::string& id : chosen)
    if (!std::ranges::binary_search(available, id, base::NaturalLess))
      return Invalid("device " + base::EscapeForLine(id) +
                     " must be included and is not available");
  if (available.size() < size)
    return Invalid(Devices(available.size()) + " available, " + std::to_string(size) +
                   " asked for");
  const size_t required = chosen.size();
  for (std::string& id : available) {
    if (chosen.size() == size) break;
    auto end = chosen.begin() + static_cast<std::ptrdiff_t>(required);
    if (!std::binary_search(chosen.begin(), end, id, base::NaturalLess))
      chosen.push_back(std::move(id));
  }
  return chosen;
}

}  // namespace tenon::policy
