#include "policy/preferred.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/strings.h"
#include "policy/replicas.h"

namespace tenon::policy {
namespace {

/// Groups of which every combination is tried; with more the large ones are taken first.
constexpr size_t kMostCombined = 12;

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

/// One available id and where it belongs.
struct Candidate {
  std::string id;
  size_t device = 0;  ///< Replicas of one device have the same number.
  size_t numa = 0;    ///< Devices of one NUMA node have the same number.
  bool required = false;
};

/// A request whose sizes fit: candidates in natural order.
struct Choice {
  std::vector<Candidate> candidates;
  size_t size = 0;
};

using Picks = std::vector<size_t>;  // Indices of candidates, ascending.

Result<Choice> Check(const api::PreferredRequest& request) {
  if (request.size < 0) return Invalid("size " + std::to_string(request.size) + " is negative");
  Choice choice{.size = static_cast<size_t>(request.size)};
  std::vector<std::string> available = InNaturalOrder(request.available);
  std::vector<std::string> required = InNaturalOrder(request.must_include);
  if (required.size() > choice.size)
    return Invalid(Devices(required.size()) + " must be included, " + std::to_string(choice.size) +
                   " asked for");
  for (const std::string& id : required)
    if (!std::ranges::binary_search(available, id, base::NaturalLess))
      return Invalid("device " + base::EscapeForLine(id) +
                     " must be included and is not available");
  if (available.size() < choice.size)
    return Invalid(Devices(available.size()) + " available, " + std::to_string(choice.size) +
                   " asked for");
  for (std::string& id : available) {
    const bool is_required = std::ranges::binary_search(required, id, base::NaturalLess);
    choice.candidates.push_back({.id = std::move(id), .required = is_required});
  }
  return choice;
}

/// Numbers the devices and NUMA nodes of the candidates from 0, in the order in which they come.
void Locate(const DeviceSet& devices, bool shared, std::vector<Candidate>& candidates) {
  std::map<std::string, size_t, std::less<>> device_numbers;
  std::map<int, size_t> numa_numbers;
  for (Candidate& candidate : candidates) {
    const std::string device(shared ? ReplicaOf(candidate.id) : candidate.id);
    candidate.device = device_numbers.emplace(device, device_numbers.size()).first->second;
    const Device* known = FindDevice(devices.devices, candidate.id);
    const int numa_node = known == nullptr || known->numa_nodes.empty() ? -1 : known->numa_nodes[0];
    candidate.numa = numa_numbers.emplace(numa_node, numa_numbers.size()).first->second;
  }
}

/// Takes the required ones, then each time the candidate of which device, then NUMA node, least
/// has been taken. Both counts are convex and devices lie inside of NUMA nodes, which makes the
/// greedy choice the best one. `allowed` may leave candidates out.
template <class Allowed>
Picks Spread(const Choice& choice, bool over_numa, const Allowed& allowed) {
  const std::vector<Candidate>& all = choice.candidates;
  std::vector<size_t> of_device(all.size());
  std::vector<size_t> of_numa(all.size());
  std::vector<bool> taken(all.size());
  Picks picks;
  auto take = [&](size_t i) {
    taken[i] = true;
    ++of_device[all[i].device];
    ++of_numa[all[i].numa];
    picks.push_back(i);
  };
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].required) take(i);
  auto cost = [&](size_t i) {
    return std::tuple(of_device[all[i].device], over_numa ? of_numa[all[i].numa] : 0, i);
  };
  while (picks.size() < choice.size) {
    std::optional<size_t> best;
    for (size_t i = 0; i < all.size(); ++i)
      if (!taken[i] && allowed(all[i]) && (!best || cost(i) < cost(*best))) best = i;
    if (!best) break;
    take(*best);
  }
  std::ranges::sort(picks);
  return picks;
}

/// The first ones in order, the required ones among them.
template <class Allowed>
Picks InOrder(const Choice& choice, const Allowed& allowed) {
  const auto required =
      static_cast<size_t>(std::ranges::count(choice.candidates, true, &Candidate::required));
  size_t free = choice.size - required;
  Picks picks;
  for (size_t i = 0; i < choice.candidates.size(); ++i) {
    const Candidate& candidate = choice.candidates[i];
    if (!candidate.required && (free == 0 || !allowed(candidate))) continue;
    if (!candidate.required) --free;
    picks.push_back(i);
  }
  return picks;
}

/// Devices or NUMA nodes, of which as few as possible are to be used.
struct Groups {
  std::vector<size_t> available;  ///< Candidates in each.
  std::vector<bool> required;
  size_t Candidate::*of = nullptr;
};

Groups MakeGroups(const Choice& choice, size_t Candidate::*of) {
  Groups groups{.of = of};
  for (const Candidate& candidate : choice.candidates) {
    const size_t group = candidate.*of;
    if (group >= groups.available.size()) {
      groups.available.resize(group + 1);
      groups.required.resize(group + 1);
    }
    ++groups.available[group];
    groups.required[group] = groups.required[group] || candidate.required;
  }
  return groups;
}

/// Where there are too many for every combination: the required ones and then the largest.
std::vector<bool> LargestGroups(const Groups& groups, size_t size) {
  std::vector<bool> used = groups.required;
  size_t have = 0;
  for (size_t i = 0; i < used.size(); ++i)
    if (used[i]) have += groups.available[i];
  while (have < size) {
    // The smallest that is enough, else the largest.
    std::optional<size_t> best;
    auto cost = [&](size_t i) {
      const bool enough = have + groups.available[i] >= size;
      return std::pair(!enough, enough ? groups.available[i] : SIZE_MAX - groups.available[i]);
    };
    for (size_t i = 0; i < used.size(); ++i)
      if (!used[i] && (!best || cost(i) < cost(*best))) best = i;
    if (!best) break;
    used[*best] = true;
    have += groups.available[*best];
  }
  return used;
}

/// Calls `visit` with each set of as few groups as hold the required candidates and are enough.
template <class Visit>
void ForSmallestSets(const Groups& groups, size_t size, const Visit& visit) {
  const size_t count = groups.available.size();
  if (count > kMostCombined) return visit(LargestGroups(groups, size));
  std::vector<std::vector<bool>> smallest;
  size_t least = SIZE_MAX;
  for (uint32_t bits = 0; bits < (uint32_t{1} << count); ++bits) {
    std::vector<bool> used(count);
    size_t have = 0;
    size_t groups_used = 0;
    bool has_required = true;
    for (size_t i = 0; i < count; ++i) {
      used[i] = (bits >> i & 1U) != 0;
      has_required = has_required && (used[i] || !groups.required[i]);
      if (!used[i]) continue;
      have += groups.available[i];
      ++groups_used;
    }
    if (!has_required || have < size || groups_used > least) continue;
    if (groups_used < least) smallest.clear();
    least = groups_used;
    smallest.push_back(std::move(used));
  }
  for (const std::vector<bool>& used : smallest)
    visit(used);
}

Picks Packed(const Choice& choice, bool shared) {
  const Groups groups = MakeGroups(choice, shared ? &Candidate::device : &Candidate::numa);
  std::optional<std::pair<size_t, Picks>> best;
  ForSmallestSets(groups, choice.size, [&](const std::vector<bool>& used) {
    size_t available = 0;
    for (size_t i = 0; i < used.size(); ++i)
      if (used[i]) available += groups.available[i];
    auto picks =
        InOrder(choice, [&](const Candidate& candidate) { return used[candidate.*groups.of]; });
    std::pair option(available, std::move(picks));
    if (!best || option < *best) best = std::move(option);
  });
  return best ? std::move(best->second) : Picks();
}

/// How often devices are taken more than once.
size_t Doubles(const Choice& choice, const Picks& picks) {
  std::map<size_t, size_t> counts;
  size_t squares = 0;
  for (size_t i : picks)
    squares += 2 * counts[choice.candidates[i].device]++ + 1;
  return squares;
}

Picks OfFewNumaNodes(const Choice& choice) {
  const Groups groups = MakeGroups(choice, &Candidate::numa);
  std::optional<std::pair<size_t, Picks>> best;
  ForSmallestSets(groups, choice.size, [&](const std::vector<bool>& used) {
    auto picks =
        Spread(choice, false, [&](const Candidate& candidate) { return used[candidate.numa]; });
    const size_t doubles = Doubles(choice, picks);
    std::pair option(doubles, std::move(picks));
    if (!best || option < *best) best = std::move(option);
  });
  return best ? std::move(best->second) : Picks();
}

Picks Pick(Preference preference, const Choice& choice, bool shared) {
  auto any = [](const Candidate&) { return true; };
  switch (preference) {
    case Preference::kSpread:
      return Spread(choice, true, any);
    case Preference::kPacked:
      return Packed(choice, shared);
    case Preference::kNuma:
      return OfFewNumaNodes(choice);
    case Preference::kInOrder:
      break;
  }
  return InOrder(choice, any);
}

}  // namespace

Result<std::vector<std::string>> Prefer(Preference preference, const DeviceSet& devices,
                                        bool shared, const api::PreferredRequest& request) {
  TENON_TRY(Choice choice, Check(request));
  Locate(devices, shared, choice.candidates);
  std::vector<std::string> chosen;
  for (const bool required : {true, false})
    for (size_t i : Pick(preference, choice, shared))
      if (choice.candidates[i].required == required) chosen.push_back(choice.candidates[i].id);
  return chosen;
}

Result<std::vector<std::string>> PreferInOrder(const api::PreferredRequest& request) {
  return Prefer(Preference::kInOrder, {}, false, request);
}

}  // namespace tenon::policy
