#include "manager/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <random>

namespace tenon::manager {
namespace {

using enum TopologyPolicy;

NumaMachine Machine(int numa_nodes) {
  NumaMachine machine;
  for (int from = 0; from < numa_nodes; ++from)
    for (int to = 0; to < numa_nodes; ++to)
      machine.distances[from][to] = from == to ? 10 : 20;
  return machine;
}

std::string Text(const TopologyDecision& decision) {
  return (decision.hint.mask ? std::to_string(*decision.hint.mask) : "any") +
         (decision.hint.preferred ? " preferred" : "") + (decision.admit ? " admitted" : "");
}

std::string Merge(TopologyPolicy policy, const std::vector<TopologyHints>& resources) {
  return Text(MergeHints(resources, {.policy = policy}, Machine(4)));
}

constexpr std::optional<NumaMask> kAny;

TopologyHints Hints(std::vector<TopologyHint> hints) {
  return hints;
}

/// TM-09 and TM-10: what the policies make of the same hints.
struct MergeCase {
  const char* name;
  std::vector<TopologyHints> resources;
  const char* best_effort;
  const char* restricted;
  const char* single_numa_node;
};

class MergeTest : public testing::TestWithParam<MergeCase> {};

TEST_P(MergeTest, GivesTheKubeletsDecision) {
  EXPECT_EQ(Merge(kBestEffort, GetParam().resources), GetParam().best_effort);
  EXPECT_EQ(Merge(kRestricted, GetParam().resources), GetParam().restricted);
  EXPECT_EQ(Merge(kSingleNumaNode, GetParam().resources), GetParam().single_numa_node);
  EXPECT_EQ(Merge(kNone, GetParam().resources), "any admitted");
}

INSTANTIATE_TEST_SUITE_P(
    Merge, MergeTest,
    testing::Values(MergeCase{"NoResources",
                              {},
                              "15 preferred admitted",
                              "15 preferred admitted",
                              "any preferred admitted"},
                    MergeCase{"OneThatDoesNotCare",
                              {std::nullopt},
                              "15 preferred admitted",
                              "15 preferred admitted",
                              "any preferred admitted"},
                    MergeCase{"OneThatCannotBeHad", {Hints({})}, "15 admitted", "15", "any"},
                    MergeCase{"OneMaskPreferred",
                              {Hints({{0b01, true}})},
                              "1 preferred admitted",
                              "1 preferred admitted",
                              "1 preferred admitted"},
                    MergeCase{
                        "SameMask",
                        {Hints({{0b01, true}, {0b10, true}, {0b11, false}}), Hints({{0b10, true}})},
                        "2 preferred admitted",
                        "2 preferred admitted",
                        "2 preferred admitted"},
                    MergeCase{"SameWideMaskPreferred",
                              {Hints({{0b11, true}}), Hints({{0b11, true}})},
                              "3 preferred admitted",
                              "3 preferred admitted",
                              "any"},
                    MergeCase{"NarrowerNotPreferredLosesToTheWidthThatIsNeeded",
                              {Hints({{0b01, true}, {0b11, false}}), Hints({{0b11, true}})},
                              "3 admitted",
                              "3",
                              "any"},
                    MergeCase{"NoCommonMask",
                              {Hints({{0b01, true}}), Hints({{0b10, true}})},
                              "15 admitted",
                              "15",
                              "any"},
                    MergeCase{"NoMaskPreferredAndOneMask",
                              {Hints({{kAny, true}}), Hints({{0b10, true}})},
                              "2 preferred admitted",
                              "2 preferred admitted",
                              "2 preferred admitted"},
                    MergeCase{"NoMaskNotPreferred",
                              {Hints({{kAny, false}}), Hints({{0b10, true}})},
                              "2 admitted",
                              "2",
                              "any"},
                    MergeCase{"OneNotPreferred",
                              {Hints({{0b01, false}}), Hints({{0b01, true}})},
                              "1 admitted",
                              "1",
                              "any"}),
    [](const auto& each) { return each.param.name; });

// TM-11: the masks that are closer, where equally many.
TEST(TopologyTest, PrefersTheClosestNumaNodesWhereAsked) {
  NumaMachine machine = Machine(4);
  machine.distances[2][3] = machine.distances[3][2] = 11;
  const std::vector<TopologyHints> resources = {Hints({{0b0011, true}, {0b1100, true}})};

  EXPECT_EQ(Text(MergeHints(resources, {.policy = kBestEffort}, machine)), "3 preferred admitted");
  EXPECT_EQ(Text(MergeHints(resources, {.policy = kBestEffort, .prefer_closest = true}, machine)),
            "12 preferred admitted");
  EXPECT_EQ(
      Text(MergeHints(resources, {.policy = kBestEffort, .prefer_closest = true}, Machine(4))),
      "3 preferred admitted")
      << "the smaller number where all are as close";
}

// ---- The product of all hints, as the kubelet goes through it, to compare with.
class Product {
 public:
  Product(const std::vector<TopologyHints>& resources, const TopologyOptions& options,
          const NumaMachine& machine)
      : options_(options), machine_(machine), all_(machine.All()) {
    for (const TopologyHints& hints : resources) {
      std::vector<TopologyHint> list;
      if (!hints) {
        list = {{kAny, true}};
      } else if (hints->empty()) {
        list = {{kAny, false}};
      } else {
        list = *hints;
      }
      if (options.policy == kSingleNumaNode)
        std::erase_if(list, [](const TopologyHint& h) {
          return !h.preferred || (h.mask && std::popcount(*h.mask) != 1);
        });
      int narrowest = 0;
      for (const TopologyHint& hint : list)
        if (hint.mask && (narrowest == 0 || std::popcount(*hint.mask) < narrowest))
          narrowest = std::popcount(*hint.mask);
      target_ = std::max(target_, narrowest);
      lists_.push_back(std::move(list));
    }
  }

  TopologyDecision Decide() {
    Walk(0, all_, true, kAny);
    TopologyHint hint = best_ ? *best_ : TopologyHint{all_, false};
    if (options_.policy == kSingleNumaNode && hint.mask == all_) hint.mask.reset();
    return {hint, options_.policy == kBestEffort || hint.preferred};
  }

 private:
  void Walk(size_t list, NumaMask mask, bool preferred, std::optional<NumaMask> first) {
    if (list == lists_.size()) return Consider({mask, preferred});
    for (const TopologyHint& hint : lists_[list]) {
      const bool same = !hint.mask || !first || *first == *hint.mask;
      Walk(list + 1, hint.mask ? mask & *hint.mask : mask, preferred && hint.preferred && same,
           first ? first : hint.mask);
    }
  }
  void Consider(const TopologyHint& candidate) {
    if (*candidate.mask == 0) return;
    if (!best_ || Better(candidate)) best_ = candidate;
  }
  bool Better(const TopologyHint& candidate) const {
    if (candidate.preferred != best_->preferred) return candidate.preferred;
    const int d = std::popcount(*candidate.mask);
    const int c = std::popcount(*best_->mask);
    if (candidate.preferred || c > target_) return Fitter(*candidate.mask);
    if (c == target_) return d == target_ && Fitter(*candidate.mask);
    if (d > target_) return false;
    if (d == target_) return true;
    return d == c ? Fitter(*candidate.mask) : d > c;
  }
  bool Fitter(NumaMask candidate) const {
    const NumaMask best = *best_->mask;
    const int d = std::popcount(candidate);
    const int c = std::popcount(best);
    if (options_.prefer_closest && options_.policy != kSingleNumaNode && d == c) {
      const double a = Average(candidate);
      const double b = Average(best);
      if (a != b) return a < b;
    }
    return d == c ? candidate < best : d < c;
  }
  double Average(NumaMask mask) const {
    double sum = 0;
    double count = 0;
    for (int i = 0; i < kMostNumaNodes; ++i)
      for (int j = 0; j < kMostNumaNodes; ++j)
        if ((NumaBit(i) & mask) != 0 && (NumaBit(j) & mask) != 0)
          sum += machine_.distances.at(i).at(j), ++count;
    return sum / count;
  }

  const TopologyOptions options_;
  const NumaMachine& machine_;
  const NumaMask all_;
  std::vector<std::vector<TopologyHint>> lists_;
  int target_ = 0;
  std::optional<TopologyHint> best_;
};

TEST(TopologyTest, AgreesWithTheProductOfAllHintsOnEightNumaNodes) {
  const char* long_run = std::getenv("TENON_LONG");
  const int rounds = long_run != nullptr && std::string(long_run) == "1" ? 10'000 : 100;
  const uint64_t seed = std::random_device{}();
  std::printf("TENON_SEED=%llu, %d rounds\n", static_cast<unsigned long long>(seed), rounds);
  std::mt19937_64 random(seed);
  const auto below = [&random](size_t n) { return random() % n; };
  constexpr size_t kMostHints = 40;
  for (int round = 0; round < rounds; ++round) {
    NumaMachine machine = Machine(8);
    for (auto& [from, row] : machine.distances)
      for (auto& [to, distance] : row)
        if (from != to) distance = 11 + static_cast<int>(below(4));
    std::vector<TopologyHints> resources(1 + below(3));
    for (TopologyHints& hints : resources) {
      if (below(10) == 0) continue;
      hints.emplace();
      const size_t count = below(10) == 0 ? 0 : 1 + below(kMostHints);
      for (size_t i = 0; i < count; ++i) {
        TopologyHint hint{random() & 0xFF & (below(2) == 0 ? random() : ~uint64_t{0}),
                          below(3) == 0};
        if (*hint.mask == 0) hint.mask.reset();
        hints->push_back(hint);
      }
    }
    for (TopologyPolicy policy : {kBestEffort, kRestricted, kSingleNumaNode}) {
      const TopologyOptions options{.policy = policy, .prefer_closest = below(2) == 0};
      ASSERT_EQ(Text(MergeHints(resources, options, machine)),
                Text(Product(resources, options, machine).Decide()))
          << "round " << round << " of seed " << seed;
    }
  }
}

// ---- Options
std::string Parse(const std::string& policy, const std::string& scope,
                  const std::map<std::string, std::string>& options) {
  auto parsed = ParseTopologyOptions(policy, scope, options);
  return parsed ? "ok" : parsed.error().message();
}

// TM-01 TestNewManager, TM-02 TestManagerScope, TM-12.
TEST(TopologyTest, ReadsThePoliciesScopesAndOptionsOfTheKubelet) {
  for (const char* policy : {"none", "best-effort", "restricted", "single-numa-node"})
    EXPECT_EQ(Parse(policy, "container", {}), "ok");
  EXPECT_EQ(Parse("restricted", "pod",
                  {{"prefer-closest-numa-nodes", "true"}, {"max-allowable-numa-nodes", "10"}}),
            "ok");
  auto parsed = ParseTopologyOptions(
      "restricted", "pod",
      {{"prefer-closest-numa-nodes", "1"}, {"max-allowable-numa-nodes", "10"}});
  EXPECT_EQ(parsed->policy, kRestricted);
  EXPECT_EQ(parsed->scope, TopologyScope::kPod);
  EXPECT_TRUE(parsed->prefer_closest);
  EXPECT_EQ(parsed->max_numa_nodes, 10);
}

TEST(TopologyTest, RefusesOtherPoliciesScopesAndOptionsAsTheKubeletDoes) {
  EXPECT_EQ(Parse("strict", "container", {}), "unknown policy: \"strict\"");
  EXPECT_EQ(Parse("none", "node", {}), "unknown scope: \"node\"");
  EXPECT_EQ(Parse("none", "pod", {{"fast", "true"}}),
            "unknown Topology Manager Policy option: \"fast\"");
  EXPECT_EQ(Parse("none", "pod", {{"max-allowable-numa-nodes", "7"}}),
            "the minimum value of \"max-allowable-numa-nodes\" should not be less than 8");
  EXPECT_THAT(Parse("none", "pod", {{"max-allowable-numa-nodes", "many"}}),
              testing::StartsWith("bad value for option \"max-allowable-numa-nodes\""));
  EXPECT_THAT(Parse("none", "pod", {{"prefer-closest-numa-nodes", "maybe"}}),
              testing::StartsWith("bad value for option \"prefer-closest-numa-nodes\""));
}

TEST(TopologyTest, RefusesAMachineWithMoreNumaNodesThanAllowed) {
  EXPECT_TRUE(CheckTopology({.policy = kRestricted}, Machine(8)));
  EXPECT_TRUE(CheckTopology({.policy = kNone}, Machine(9)));
  EXPECT_TRUE(CheckTopology({.policy = kRestricted, .max_numa_nodes = 9}, Machine(9)));
  auto refused = CheckTopology({.policy = kRestricted}, Machine(9));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), "unsupported on machines with more than 8 NUMA Nodes");
}

}  // namespace
}  // namespace tenon::manager
