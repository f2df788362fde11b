#include "pod/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pod/status.h"

namespace tenon::pod {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;

Manifest Parse(std::string_view text) {
  return ParseManifest(text, "pod.yaml", [] { return std::string("made-up-uid"); });
}

/// The only problem of a manifest.
std::string ProblemOf(std::string_view text) {
  const Manifest manifest = Parse(text);
  EXPECT_EQ(manifest.problems.size(), 1u) << ::testing::PrintToString(manifest.problems);
  EXPECT_THAT(manifest.pods, IsEmpty());
  return manifest.problems.empty() ? "" : manifest.problems.front();
}

/// A good pod with `lines` added to its only container.
std::string WithContainerLines(std::string_view lines) {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: camera}\nspec:\n  restartPolicy: Never\n"
         "  containers:\n  - name: main\n    image: busybox\n" +
         std::string(lines);
}

TEST(ManifestTest, ReadsAWholePod) {
  const Manifest manifest = Parse(R"(apiVersion: v1
kind: Pod
metadata:
  name: camera
  namespace: lab
  uid: 0f5c
  labels: {app: camera}
  annotations: {example.com/note: "any text, really"}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 5
  initContainers:
  - name: probe
    image: tools/probe
  containers:
  - name: main
    image: busybox
    command: [/bin/sh, -c]
    args: ["exec cat /dev/video0"]
    workingDir: /tmp
    env:
    - {name: MODE, value: "1"}
    - name: EMPTY
    resources:
      limits: {example.com/video: 1, cpu: 500m}
      requests: {example.com/video: "1000m", cpu: 100m}
)");

  ASSERT_THAT(manifest.problems, IsEmpty());
  ASSERT_EQ(manifest.pods.size(), 1u);
  const Pod& pod = manifest.pods[0];
  EXPECT_EQ(pod.FullName(), "lab/camera");
  EXPECT_EQ(pod.uid, "0f5c");
  EXPECT_THAT(pod.labels, ElementsAre(Pair("app", "camera")));
  EXPECT_THAT(pod.annotations, ElementsAre(Pair("example.com/note", "any text, really")));
  EXPECT_EQ(pod.termination_grace, std::chrono::seconds(5));
  ASSERT_EQ(pod.init_containers.size(), 1u);
  EXPECT_EQ(pod.init_containers[0].image, "tools/probe");
  ASSERT_EQ(pod.containers.size(), 1u);
  const Container& container = pod.containers[0];
  EXPECT_THAT(container.command, ElementsAre("/bin/sh", "-c"));
  EXPECT_THAT(container.args, ElementsAre("exec cat /dev/video0"));
  EXPECT_EQ(container.working_dir, "/tmp");
  EXPECT_THAT(container.env, ElementsAre(EnvVar{"MODE", "1"}, EnvVar{"EMPTY", ""}));
  EXPECT_THAT(ExtendedLimits(container), ElementsAre(Pair("example.com/video", 1)));
  EXPECT_EQ(container.requests.at("cpu").text(), "100m");
}

TEST(ManifestTest, ReadsSeveralDocumentsAndJson) {
  const std::string one = WithContainerLines("");
  std::string two = one;
  two.replace(two.find("camera"), 6, "second");

  const Manifest yaml = Parse(one + "---\n" + two + "---\n");
  const Manifest json = Parse(R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "j"},
      "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox",
      "args": ["\ud83d\ude00"]}]}})");

  ASSERT_THAT(yaml.problems, IsEmpty());
  ASSERT_EQ(yaml.pods.size(), 2u);
  EXPECT_EQ(yaml.pods[1].name, "second");
  ASSERT_THAT(json.problems, IsEmpty());
  EXPECT_EQ(json.pods[0].FullName(), "default/j");
  EXPECT_EQ(json.pods[0].uid, "made-up-uid");
  EXPECT_THAT(json.pods[0].containers[0].args, ElementsAre("\U0001F600"));
}

TEST(ManifestTest, TellsAllProblemsAtOnceWithTheirPlaces) {
  const Manifest manifest = Parse(R"(apiVersion: v2
kind: Deployment
metadata:
  name: Camera
  uid: a/b
spec:
  volumes: []
  restartPolicy: Sometimes
  containers:
  - name: main
    command: /bin/sh
    args: [1]
  - name: main
    image: busybox
    resources:
      limits: {example.com/video: 0.5, gpu: 1}
)");

  EXPECT_THAT(manifest.problems,
              ElementsAre("pod.yaml:1:13: apiVersion: must be v1",
                          "pod.yaml:2:7: kind: must be Pod: other kinds need a cluster",
                          StartsWith("pod.yaml:4:9: metadata.name: must be lower-case letters"),
                          "pod.yaml:5:8: metadata.uid: must be a UUID, or be left out",
                          StartsWith("pod.yaml:10:5: spec.containers[0].image: is required: write"),
                          "pod.yaml:11:14: spec.containers[0].command: must be a list of texts, "
                          "not text",
                          "pod.yaml:12:12: spec.containers[0].args[0]: must be text: write \"1\" "
                          "in quotes",
                          StartsWith("pod.yaml:16:40: spec.containers[1].resources.limits[gpu]: "
                                     "doesn't follow extended resource name standard"),
                          "pod.yaml:16:35: spec.containers[1].resources.limits.example.com/video: "
                          "must be an integer",
                          "pod.yaml:13:11: spec.containers[1].name: another container is called "
                          "main: write a different name",
                          "pod.yaml:8:18: spec.restartPolicy: must be Always, OnFailure or Never",
                          StartsWith("pod.yaml:7:3: spec.volumes: is not supported; supported "
                                     "here: initContainers, containers")));
}

TEST(ManifestTest, WhatIsNotSupportedIsRefusedByName) {
  EXPECT_THAT(ProblemOf(WithContainerLines("    securityContext: {}\n")),
              HasSubstr("spec.containers[0].securityContext: is not supported"));
  EXPECT_THAT(ProblemOf(WithContainerLines("    restartPolicy: Always\n")),
              HasSubstr("restartPolicy: is for init containers, which it makes sidecars"));
  EXPECT_THAT(ProblemOf(WithContainerLines("    env: [{name: A, valueFrom: {fieldRef: x}}]\n")),
              HasSubstr("spec.containers[0].env[0].valueFrom: is not supported: write value"));
  EXPECT_THAT(ProblemOf(WithContainerLines("    image: twice\n")),
              HasSubstr("9:5: spec.containers[0].image: is there twice"));
}

// DM-23 TestAdmitPodWithDRAResources: such a pod never gets as far as its admission.
TEST(ManifestTest, APodWithResourceClaimsIsRefused) {
  const Manifest manifest = Parse(
      WithContainerLines("    resources: {limits: {example.com/x: 1}, claims: [{name: gpu}]}\n"
                         "  resourceClaims: [{name: gpu, resourceClaimName: gpu}]\n"));

  EXPECT_THAT(manifest.pods, IsEmpty());
  EXPECT_THAT(manifest.problems,
              ElementsAre(HasSubstr("spec.containers[0].resources.claims: is not supported"),
                          HasSubstr("spec.resourceClaims: is not supported")));
}

TEST(ManifestTest, ExtendedResourcesFollowTheApisRules) {
  EXPECT_THAT(ProblemOf(WithContainerLines("    resources: {requests: {example.com/x: 1}}\n")),
              HasSubstr("resources.requests.example.com/x: Limit must be set for non "
                        "overcommitable resources"));
  EXPECT_THAT(ProblemOf(WithContainerLines(
                  "    resources: {limits: {example.com/x: 2}, requests: {example.com/x: 1}}\n")),
              HasSubstr("must be equal to example.com/x limit of 2"));
  EXPECT_THAT(ProblemOf(WithContainerLines("    resources: {limits: {example.com/x: 1500m}}\n")),
              HasSubstr("must be an integer"));
  EXPECT_THAT(ProblemOf(WithContainerLines("    resources: {limits: {example.com/x: -1}}\n")),
              HasSubstr("must not be negative"));
  EXPECT_THAT(ProblemOf(WithContainerLines("    resources: {limits: {example.com/x: []}}\n")),
              HasSubstr("must be a quantity such as 1"));
  EXPECT_THAT(ProblemOf(WithContainerLines("    resources: {limits: {kubernetes.io/x: 1}}\n")),
              HasSubstr("doesn't follow extended resource name standard"));
  EXPECT_THAT(
      ProblemOf(WithContainerLines("    resources: {limits: {cpu: 1}, requests: {cpu: 1001m}}\n")),
      HasSubstr("must be less than or equal to cpu limit of 1"));
  EXPECT_THAT(Parse(WithContainerLines("    resources: {limits: {example.com/x: 3Ki}}\n")).problems,
              IsEmpty());
}

TEST(ManifestTest, TextThatYamlReadsAsSomethingElseMustBeQuoted) {
  for (const char* value : {"1", "-1.5", "true", "No", "0x1F", "1e3", ".5"}) {
    EXPECT_THAT(ProblemOf(WithContainerLines("    args: [" + std::string(value) + "]\n")),
                HasSubstr("must be text: write \"" + std::string(value) + "\" in quotes"));
  }
  for (const char* value :
       {"'1'", "1.2.3", "10.0.0.1", "e3", "-", "-c", "1s", "yes-please", "0x"}) {
    EXPECT_THAT(Parse(WithContainerLines("    args: [" + std::string(value) + "]\n")).problems,
                IsEmpty());
  }
}

TEST(ManifestTest, WhatIsNoPodIsRefused) {
  EXPECT_THAT(ProblemOf(""), HasSubstr("holds no pod"));
  EXPECT_THAT(ProblemOf("just text"), HasSubstr("must be a mapping"));
  EXPECT_THAT(ProblemOf("a: [1"), StartsWith("pod.yaml:"));
  EXPECT_THAT(ProblemOf("{\"a\": 1"), StartsWith("pod.yaml:"));
  const Manifest empty = Parse("{}");
  EXPECT_THAT(empty.problems,
              ElementsAre(HasSubstr("apiVersion: is required: write apiVersion: v1"),
                          HasSubstr("kind: is required: write kind: Pod"),
                          HasSubstr("metadata.name: is required"),
                          HasSubstr("spec.containers: is required: write at least one container")));
}

TEST(ManifestTest, ThePolicyForRestartsIsTheApisUnlessItIsGiven) {
  const std::string base =
      "apiVersion: v1\nkind: Pod\nmetadata: {name: camera}\nspec:\n  containers:\n"
      "  - {name: main, image: busybox}\n";
  const auto policy = [&base](const std::string& more) {
    const Manifest manifest = Parse(base + more);
    EXPECT_THAT(manifest.problems, IsEmpty());
    return manifest.pods.empty() ? RestartPolicy::kNever : manifest.pods[0].restart_policy;
  };

  EXPECT_EQ(policy(""), RestartPolicy::kAlways);
  EXPECT_EQ(policy("  restartPolicy: Always\n"), RestartPolicy::kAlways);
  EXPECT_EQ(policy("  restartPolicy: OnFailure\n"), RestartPolicy::kOnFailure);
  EXPECT_EQ(policy("  restartPolicy: Never\n"), RestartPolicy::kNever);
}

TEST(ManifestTest, AnInitContainerThatIsAlwaysRestartedIsASidecar) {
  const std::string base =
      "apiVersion: v1\nkind: Pod\nmetadata: {name: camera}\nspec:\n  containers:\n"
      "  - {name: main, image: busybox}\n  initContainers:\n"
      "  - {name: probe, image: busybox}\n  - {name: proxy, image: busybox, restartPolicy: ";

  const Manifest manifest = Parse(base + "Always}\n");
  ASSERT_THAT(manifest.problems, IsEmpty());
  EXPECT_FALSE(manifest.pods[0].init_containers[0].sidecar);
  EXPECT_TRUE(manifest.pods[0].init_containers[1].sidecar);
  EXPECT_EQ(Parse(ToJson(ToValue(manifest.pods[0]))).pods, manifest.pods);

  EXPECT_THAT(ProblemOf(base + "OnFailure}\n"),
              HasSubstr("spec.initContainers[1].restartPolicy: must be Always, which makes a "
                        "sidecar, or be left out"));
}

TEST(ManifestTest, TwoPodsOfOneNameInAFileAreRefused) {
  const std::string one = WithContainerLines("");

  EXPECT_THAT(ProblemOf(one + "---\n" + one),
              HasSubstr("another pod in this file is called default/camera"));
}

TEST(ManifestTest, NothingThatCouldForgeALineGetsIntoAProblem) {
  EXPECT_THAT(ProblemOf(WithContainerLines("    \"a\\nb\": 1\n")),
              HasSubstr("spec.containers[0].a\\nb: is not supported"));
  EXPECT_THAT(ProblemOf(R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "j"},
      "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox",
      "args": ["a\u0000b"]}]}})"),
              HasSubstr("spec.containers[0].args[0]: must not hold a NUL character"));
}

TEST(ManifestTest, APodIsReadBackFromWhatItIsShownAs) {
  const Manifest manifest = Parse(WithContainerLines(
      "    command: [\"1\"]\n    workingDir: /\n    env: [{name: A, value: \"true\"}]\n"
      "    resources: {limits: {example.com/x: 2000m}}\n"));
  ASSERT_EQ(manifest.pods.size(), 1u);

  const Manifest again = Parse(ToJson(ToValue(manifest.pods[0])));

  ASSERT_THAT(again.problems, IsEmpty());
  EXPECT_EQ(again.pods, manifest.pods);
}

}  // namespace
}  // namespace tenon::pod
