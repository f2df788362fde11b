#include "manager/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <utility>

#include "base/strings.h"

namespace tenon::manager {
namespace {

constexpr int kLeastMaxNumaNodes = 8;  // policy_options.go, defaultMaxAllowableNUMANodes

Error Invalid(std::string text) {
  return {Code::kInvalidArgument, std::move(text)};
}

/// As strconv.ParseBool.
std::optional<bool> ParseBool(std::string_view text) {
  for (std::string_view yes : {"1", "t", "T", "true", "TRUE", "True"})
    if (text == yes) return true;
  for (std::string_view no : {"0", "f", "F", "false", "FALSE", "False"})
    if (text == no) return false;
  return std::nullopt;
}

Result<void> SetOption(TopologyOptions& options, const std::string& name, const std::string& text) {
  if (name == "prefer-closest-numa-nodes") {
    std::optional<bool> value = ParseBool(text);
    if (!value)
      return Invalid(fmt::format(R"(bad value for option "{}": "{}" is neither true nor false)",
                                 name, base::EscapeForLine(text)));
    options.prefer_closest = *value;
    return {};
  }
  if (name == "max-allowable-numa-nodes") {
    std::optional<int64_t> value = base::ParseInt64(text);
    if (!value || *value > kMostNumaNodes)
      return Invalid(
          fmt::format(R"(bad value for option "{}": "{}" is no whole number of at most {})", name,
                      base::EscapeForLine(text), kMostNumaNodes));
    if (*value < kLeastMaxNumaNodes)
      return Invalid(fmt::format(R"(the minimum value of "{}" should not be less than {})", name,
                                 kLeastMaxNumaNodes));
    options.max_numa_nodes = static_cast<int>(*value);
    return {};
  }
  return Invalid(fmt::format(R"(unknown Topology Manager Policy option: "{}")", name));
}

/// Distinct masks in the order in which they came; a small hash table, as it is asked for every
/// pair of a set and a hint.
class MaskSet final {
 public:
  void Insert(NumaMask mask) {
    if (masks_.size() * 2 >= slots_.size()) Grow();
    size_t slot = SlotOf(mask);
    if (slots_[slot] != 0) return;
    masks_.push_back(mask);
    slots_[slot] = static_cast<uint32_t>(masks_.size());
  }
  bool Contains(NumaMask mask) const { return !masks_.empty() && slots_[SlotOf(mask)] != 0; }
  const std::vector<NumaMask>& masks() const { return masks_; }

 private:
  /// Where it is, or belongs.
  size_t SlotOf(NumaMask mask) const {
    constexpr NumaMask kOdd = 0x9E3779B97F4A7C15;
    const int shift = std::countl_zero(slots_.size()) + 1;
    size_t slot = mask * kOdd >> shift;
    while (slots_[slot] != 0 && masks_[slots_[slot] - 1] != mask)
      slot = (slot + 1) & (slots_.size() - 1);
    return slot;
  }
  void Grow() {
    constexpr size_t kLeast = 64;
    slots_.assign(std::max(kLeast, slots_.size() * 2), 0);
    for (size_t i = 0; i < masks_.size(); ++i)
      slots_[SlotOf(masks_[i])] = static_cast<uint32_t>(i + 1);
  }

  std::vector<NumaMask> masks_;
  std::vector<uint32_t> slots_;  ///< Index into masks_ and one; 0: free.
};

/// What one resource offers: masks, each once, and which of them are preferred.
struct Offers {
  MaskSet all;
  MaskSet preferred;
  bool any = false;            ///< Also: no mask.
  bool any_preferred = false;  ///< That is preferred.
};

Offers OffersOf(const TopologyHints& hints, TopologyPolicy policy) {
  Offers offers;
  const auto add = [&](const TopologyHint& hint) {
    if (policy == TopologyPolicy::kSingleNumaNode &&
        (!hint.preferred || (hint.mask && std::popcount(*hint.mask) != 1)))
      return;
    if (hint.mask) {
      offers.all.Insert(*hint.mask);
      if (hint.preferred) offers.preferred.Insert(*hint.mask);
    } else {
      offers.any = true;
      offers.any_preferred = offers.any_preferred || hint.preferred;
    }
  };
  if (!hints) {
    add({std::nullopt, true});
  } else if (hints->empty()) {
    add({std::nullopt, false});
  } else {
    std::ranges::for_each(*hints, add);
  }
  return offers;
}

/// Every set that is left of `all` when each resource takes one of its offers.
std::vector<NumaMask> Outcomes(const std::vector<Offers>& resources, NumaMask all) {
  MaskSet outcomes;
  outcomes.Insert(all);
  for (const Offers& offers : resources) {
    MaskSet next;
    for (NumaMask before : outcomes.masks()) {
      if (offers.any) next.Insert(before);
      for (NumaMask mask : offers.all.masks())
        next.Insert(before & mask);
    }
    outcomes = std::move(next);
  }
  return outcomes.masks();
}

/// The sets that every resource prefers, or would do with any.
std::vector<NumaMask> PreferredOutcomes(const std::vector<Offers>& resources, NumaMask all) {
  std::vector<NumaMask> outcomes;
  bool nobody_cares = true;
  MaskSet named;
  for (const Offers& offers : resources) {
    nobody_cares = nobody_cares && offers.any_preferred;
    for (NumaMask mask : offers.preferred.masks())
      named.Insert(mask);
  }
  if (nobody_cares) outcomes.push_back(all);
  for (NumaMask mask : named.masks()) {
    if (std::ranges::all_of(resources, [&](const Offers& offers) {
          return offers.any_preferred || offers.preferred.Contains(mask);
        }))
      outcomes.push_back(mask & all);
  }
  return outcomes;
}

/// Orders outcomes as the kubelet's comparison of two merged hints does.
class Comparison final {
 public:
  Comparison(const std::vector<Offers>& resources, const TopologyOptions& options,
             const NumaMachine& machine)
      : closest_(options.prefer_closest && options.policy != TopologyPolicy::kSingleNumaNode),
        machine_(machine) {
    for (const Offers& offers : resources) {
      int narrowest = 0;
      for (NumaMask mask : offers.all.masks())
        if (narrowest == 0 || std::popcount(mask) < narrowest) narrowest = std::popcount(mask);
      target_ = std::max(target_, narrowest);
    }
  }

  std::optional<NumaMask> Best(const std::vector<NumaMask>& outcomes, bool preferred) const {
    std::optional<NumaMask> best;
    for (NumaMask mask : outcomes)
      if (mask != 0 && (!best || IsBetter(mask, *best, preferred))) best = mask;
    return best;
  }

 private:
  bool IsBetter(NumaMask mask, NumaMask than, bool preferred) const {
    const int bits = std::popcount(mask);
    const int than_bits = std::popcount(than);
    if (bits == than_bits) return IsFitter(mask, than);
    if (preferred) return bits < than_bits;
    // As wide as the resource that needs most, else the nearest below, else the nearest above.
    const auto key = [&](int b) {
      return std::pair(b == target_ ? 0 : b < target_ ? 1 : 2, std::abs(b - target_));
    };
    return key(bits) < key(than_bits);
  }
  /// Requires: equally many NUMA nodes.
  bool IsFitter(NumaMask mask, NumaMask than) const {
    if (!closest_) return mask < than;
    return std::pair(machine_.SumOfDistances(mask), mask) <
           std::pair(machine_.SumOfDistances(than), than);
  }

  const bool closest_;
  const NumaMachine& machine_;
  /// How many NUMA nodes the narrowest offer has of the resource whose narrowest is the widest.
  int target_ = 0;
};

}  // namespace

Result<TopologyOptions> ParseTopologyOptions(const std::string& policy, const std::string& scope,
                                             const std::map<std::string, std::string>& options) {
  static constexpr std::pair<std::string_view, TopologyPolicy> kPolicies[] = {
      {"none", TopologyPolicy::kNone},
      {"best-effort", TopologyPolicy::kBestEffort},
      {"restricted", TopologyPolicy::kRestricted},
      {"single-numa-node", TopologyPolicy::kSingleNumaNode}};
  static constexpr std::pair<std::string_view, TopologyScope> kScopes[] = {
      {"container", TopologyScope::kContainer}, {"pod", TopologyScope::kPod}};
  TopologyOptions parsed;
  const auto* named_policy = std::ranges::find(kPolicies, policy, [](auto& p) { return p.first; });
  if (named_policy == std::end(kPolicies))
    return Invalid(fmt::format(R"(unknown policy: "{}")", base::EscapeForLine(policy)));
  parsed.policy = named_policy->second;
  const auto* named_scope = std::ranges::find(kScopes, scope, [](auto& s) { return s.first; });
  if (named_scope == std::end(kScopes))
    return Invalid(fmt::format(R"(unknown scope: "{}")", base::EscapeForLine(scope)));
  parsed.scope = named_scope->second;
  for (const auto& [name, text] : options)
    TENON_TRY_VOID(SetOption(parsed, name, text));
  return parsed;
}

Result<void> CheckTopology(const TopologyOptions& options, const NumaMachine& machine) {
  if (options.policy == TopologyPolicy::kNone ||
      machine.size() <= static_cast<size_t>(options.max_numa_nodes))
    return {};
  return Error(
      Code::kFailedPrecondition,
      fmt::format("unsupported on machines with more than {} NUMA Nodes", options.max_numa_nodes));
}

TopologyDecision MergeHints(const std::vector<TopologyHints>& resources,
                            const TopologyOptions& options, const NumaMachine& machine) {
  if (options.policy == TopologyPolicy::kNone) return {.hint = {}, .admit = true};
  const NumaMask all = machine.All();
  std::vector<Offers> offers;
  offers.reserve(resources.size());
  for (const TopologyHints& hints : resources)
    offers.push_back(OffersOf(hints, options.policy));
  const Comparison comparison(offers, options, machine);
  TopologyHint best{.mask = all, .preferred = false};
  if (auto preferred = comparison.Best(PreferredOutcomes(offers, all), true)) {
    best = {*preferred, true};
  } else if (auto other = comparison.Best(Outcomes(offers, all), false)) {
    best = {*other, false};
  }
  if (options.policy == TopologyPolicy::kSingleNumaNode && best.mask == all) best.mask.reset();
  return {.hint = best, .admit = options.policy == TopologyPolicy::kBestEffort || best.preferred};
}

}  // namespace tenon::manager
