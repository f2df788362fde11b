#include "pod/fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace tenon::pod {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr char kSerial[] = "a.b/serial";

std::string PodText(const std::string& spec) {
  return "{kind: Pod, metadata: {name: p}, spec: " + spec + "}";
}

ScheduledPod ReadOne(const std::string& spec) {
  auto pods = ReadScheduledPods(PodText(spec), "p.yaml");
  EXPECT_TRUE(pods) << pods.error().message();
  return pods ? pods->at(0) : ScheduledPod();
}

std::string Wants(int64_t count, const std::string& more = "") {
  return "{" + more + "resources: {limits: {a.b/serial: " + std::to_string(count) + "}}}";
}

TEST(FitTest, ContainersAddUpAndInitContainersDoNot) {
  EXPECT_THAT(ReadOne("{containers: [" + Wants(2) + "," + Wants(1) + "]}").requests,
              ElementsAre(Pair(kSerial, 3)));
  EXPECT_THAT(ReadOne("{initContainers: [" + Wants(4) + "," + Wants(5) + "], containers: [" +
                      Wants(2) + "]}")
                  .requests,
              ElementsAre(Pair(kSerial, 5)));
}

TEST(FitTest, SidecarsStayAndCountForWhatStartsAfterThem) {
  const std::string sidecar = Wants(2, "restartPolicy: Always, ");
  EXPECT_THAT(ReadOne("{initContainers: [" + Wants(4) + "," + sidecar + "], containers: [" +
                      Wants(1) + "]}")
                  .requests,
              ElementsAre(Pair(kSerial, 4)));
  EXPECT_THAT(ReadOne("{initContainers: [" + sidecar + "," + Wants(4) + "], containers: [" +
                      Wants(1) + "]}")
                  .requests,
              ElementsAre(Pair(kSerial, 6)));
}

TEST(FitTest, OverheadCountsAndCpuDoesNot) {
  EXPECT_THAT(ReadOne("{overhead: {a.b/serial: 1, cpu: 250m}, containers: [{resources: {requests: "
                      "{cpu: 0.5, a.b/serial: 1k}}}]}")
                  .requests,
              ElementsAre(Pair(kSerial, 1001)));
}

TEST(FitTest, ReadsListsAsKubectlWritesThem) {
  auto nodes = ReadKubeNodes(
      R"({"kind": "List", "items": [
            {"kind": "Node", "metadata": {"name": "a"},
             "status": {"allocatable": {"cpu": "4", "a.b/serial": "2"}}},
            {"kind": "Node", "metadata": {"name": "b"}, "status": {}}]})",
      "nodes.json");
  ASSERT_TRUE(nodes) << nodes.error().message();
  EXPECT_THAT(*nodes, ElementsAre(KubeNode{"a", {{kSerial, 2}}}, KubeNode{"b", {}}));

  auto pods = ReadScheduledPods(
      "kind: PodList\nitems:\n- metadata: {name: p, namespace: lab}\n  spec: {nodeName: a, "
      "containers: []}\n  status: {phase: Failed}\n",
      "pods.yaml");
  ASSERT_TRUE(pods) << pods.error().message();
  EXPECT_THAT(*pods, ElementsAre(ScheduledPod{"lab/p", "a", true, {}}));
}

TEST(FitTest, WhatIsNoPodIsSaidWithItsPlace) {
  const auto error = [](const std::string& text) {
    auto pods = ReadScheduledPods(text, "p.yaml");
    return pods ? "none" : pods.error().message();
  };
  EXPECT_EQ(error("{kind: Node}"), "p.yaml:1:1: kind must be Pod or a list of them");
  EXPECT_EQ(error(""), "p.yaml: holds no Pod");
  EXPECT_EQ(error("{kind: List, items: []}"), "p.yaml: holds no Pod");
  EXPECT_EQ(error(PodText("{containers: [{resources: {limits: {a.b/c: 0.5}}}]}")),
            "p.yaml:1:83: a.b/c: must be an integer");
  EXPECT_THAT(error(PodText("{containers: [{resources: {limits: {a.b/c: many}}}]}")),
              ::testing::StartsWith("p.yaml:1:83: a.b/c: "));
}

TEST(FitTest, EachKubeNodeAnswersForItself) {
  const ScheduledPod pod{.name = "p", .requests = {{"a.b/c", 1}, {kSerial, 2}, {"a.b/zero", 0}}};
  const std::vector<KubeNode> nodes = {
      {"full", {{kSerial, 3}, {"a.b/c", 1}}}, {"bare", {}}, {"good", {{kSerial, 2}, {"a.b/c", 1}}}};
  const std::vector<ScheduledPod> others = {{"q", "full", false, {{kSerial, 2}}},
                                            {"ended", "good", true, {{kSerial, 2}}},
                                            {"pending", "", false, {{kSerial, 2}}}};

  EXPECT_THAT(
      FitPod(pod, nodes, others),
      ElementsAre(NodeFit{"full", {{kSerial, 2, 1}}},
                  NodeFit{"bare", {{"a.b/c", 1, 0}, {kSerial, 2, 0}}}, NodeFit{"good", {}}));
  EXPECT_EQ(Shortage{kSerial}.Message(), "Insufficient a.b/serial");
}

TEST(FitTest, CountsOfAnySizeDoNotOverflow) {
  const std::string most = std::to_string(INT64_MAX);
  const ScheduledPod pod = ReadOne("{containers: [{resources: {limits: {a.b/serial: " + most +
                                   "}}}, {resources: {limits: {a.b/serial: " + most + "}}}]}");
  EXPECT_THAT(pod.requests, ElementsAre(Pair(kSerial, INT64_MAX)));

  const ScheduledPod other{"q", "n", false, {{kSerial, INT64_MAX}}};
  EXPECT_THAT(FitPod({.requests = {{kSerial, 1}}}, {{"n", {}}}, {other, other})[0].shortages,
              ElementsAre(Shortage{kSerial, 1, -INT64_MAX}));
}

/// A pod by what its containers want of one resource.
struct RandomPod {
  struct Init {
    int64_t wants;
    bool sidecar;
  };
  std::vector<Init> inits;
  std::vector<int64_t> apps;

  /// The most that it holds at any moment, by playing its start through.
  int64_t Peak() const {
    int64_t kept = 0;
    int64_t peak = 0;
    for (const Init& init : inits) {
      peak = std::max(peak, kept + (init.sidecar ? 0 : init.wants));
      if (init.sidecar) kept += init.wants;
    }
    for (int64_t wants : apps)
      kept += wants;
    return std::max(peak, kept);
  }
  std::string Spec() const {
    std::string text = "{initContainers: [";
    for (const Init& init : inits)
      text += Wants(init.wants, init.sidecar ? "restartPolicy: Always, " : "") + ",";
    text += "], containers: [";
    for (int64_t wants : apps)
      text += Wants(wants) + ",";
    return text + "]}";
  }
};

TEST(FitTest, ARandomPodFitsExactlyWhereItsPeakIsFree) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto draw = [&random](int most) { return static_cast<int64_t>(random() % (most + 1)); };
  for (int round = 0; round < 300; ++round) {
    RandomPod made;
    for (int64_t i = draw(3); i > 0; --i)
      made.inits.push_back({draw(4), draw(1) == 1});
    for (int64_t i = draw(3); i > 0; --i)
      made.apps.push_back(draw(4));
    const int64_t used = draw(5);
    const int64_t offered = draw(20);

    const auto fit =
        FitPod(ReadOne(made.Spec()), {{"n", {{kSerial, offered}}}},
               {{"q", "n", false, {{kSerial, used}}}, {"other", "m", false, {{kSerial, 9}}}});

    const bool fits = made.Peak() == 0 || made.Peak() <= offered - used;
    ASSERT_EQ(fit[0].shortages.empty(), fits) << made.Spec() << " of " << offered << "-" << used;
  }
}

}  // namespace
}  // namespace tenon::pod
