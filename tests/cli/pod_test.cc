#include <gmock/gmock.h>

#include "cli_fixture.h"
#include "fake_kubelet.h"

namespace tenon::cli_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kManifest = R"(apiVersion: v1
kind: Pod
metadata: {name: first}
spec:
  restartPolicy: Never
  containers:
    - {name: main, image: busybox, command: ["true"]}
)";

constexpr std::string_view kRunning = R"({"metadata":
    {"name": "first", "namespace": "default", "uid": "u-1"}, "status": {
    "phase": "Running", "startTime": "2026-01-01T00:00:00.000Z", "initContainerStatuses": [
      {"name": "init", "image": "busybox", "state": {"terminated": {"exitCode": 0,
        "finishedAt": "2026-01-01T00:00:00.500Z", "reason": "Completed"}}}],
    "containerStatuses": [
      {"name": "main", "image": "busybox",
       "state": {"running": {"startedAt": "2026-01-01T00:00:01.000Z"}},
       "allocatedDevices": [{"resourceName": "example.com/fuse", "deviceIDs": ["a", "b"]}]},
      {"name": "side", "image": "busybox",
       "state": {"waiting": {"reason": "PodInitializing"}},
       "allocatedDevices": [{"resourceName": "example.com/fuse", "deviceIDs": ["c"]}]}]}})";

constexpr std::string_view kEnded = R"({"metadata":
    {"name": "first", "namespace": "default"}, "status": {"phase": "Succeeded"}})";

constexpr std::string_view kRefused = R"({"metadata":
    {"name": "second", "namespace": "lab"}, "status": {"phase": "Failed",
    "reason": "UnexpectedAdmissionError",
    "message": "Allocate failed due to requested number of devices unavailable"}})";

std::string Items(std::initializer_list<std::string_view> pods) {
  std::string out = R"({"items":[)";
  for (std::string_view pod : pods)
    out.append(out.back() == '[' ? "" : ",").append(pod);
  return out + "]}";
}

struct PodTest : CliTest {
  Outcome Pod(std::vector<std::string> args, const std::string& input = {}) {
    args.insert(args.begin(), "pod");
    args.insert(args.end(), {"--kubelet-dir", directory});
    return Run(args, input);
  }
  FakeKubelet kubelet{*loop, directory};
};

TEST_F(PodTest, ApplySubmitsTheManifestAsItStands) {
  kubelet.create_answer.body = Items({kRunning});

  Outcome outcome = Pod({"apply", "-f", WriteFile("pod.yaml", std::string(kManifest))});

  EXPECT_EQ(0, outcome.code) << outcome.errors;
  EXPECT_EQ("default/first: Running\n", outcome.out);
  EXPECT_THAT(kubelet.manifests, ElementsAre(kManifest));
}

TEST_F(PodTest, ApplyReadsStandardInput) {
  kubelet.create_answer.body = Items({kRunning});

  Outcome outcome = Pod({"apply", "-f", "-", "-o", "json"}, std::string(kManifest));

  EXPECT_EQ(0, outcome.code) << outcome.errors;
  EXPECT_THAT(outcome.out, HasSubstr("\"phase\": \"Running\""));
  EXPECT_THAT(kubelet.manifests, ElementsAre(kManifest));
}

TEST_F(PodTest, ApplyFailsForAPodThatWasRefused) {
  kubelet.create_answer.body = Items({kRunning, kRefused});

  Outcome outcome = Pod({"apply", "-f", WriteFile("pod.yaml", std::string(kManifest))});

  EXPECT_EQ(1, outcome.code);
  EXPECT_EQ("default/first: Running\n", outcome.out);
  EXPECT_EQ(
      "tenon: lab/second: Failed: UnexpectedAdmissionError: Allocate failed due to requested "
      "number of devices unavailable\n",
      outcome.errors);
}

TEST_F(PodTest, ApplyWaitsForTheEndIfAsked) {
  kubelet.create_answer.body = Items({kRunning});
  kubelet.running_pod = kEnded;

  Outcome outcome = Pod({"apply", "--wait", "-f", WriteFile("p", std::string(kManifest))});

  EXPECT_EQ(0, outcome.code) << outcome.errors;
  EXPECT_EQ("default/first: Succeeded\n", outcome.out);
}

TEST_F(PodTest, ApplyNamesTheFileInWhatIsWrongWithIt) {
  Outcome outcome = Pod({"apply", "-f", WriteFile("pod.yaml", "apiVersion: v2\nkind: Pot\n")});

  EXPECT_EQ(1, outcome.code);
  ExpectGolden("pod-apply-bad.err.txt", outcome.errors);
  EXPECT_THAT(kubelet.requests, ElementsAre());
}

TEST_F(PodTest, ApplyHandsOnWhatTheDaemonRefuses) {
  kubelet.create_answer = admin::ErrorResponse(409, "pod default/first is there already");

  Outcome outcome = Pod({"apply", "-f", WriteFile("pod.yaml", std::string(kManifest))});

  EXPECT_EQ(1, outcome.code);
  EXPECT_EQ("tenon: pod default/first is there already\n", outcome.errors);

  kubelet.create_answer = {.status = 400, .body = R"({"errors":["m:1:1: a","m:2:1: b"]})"};
  EXPECT_EQ("tenon: m:1:1: a\ntenon: m:2:1: b\n",
            Pod({"apply", "-f", directory + "/pod.yaml"}).errors);
}

TEST_F(PodTest, ApplySaysThatTheFileCannotBeRead) {
  Outcome outcome = Pod({"apply", "-f", directory + "/none.yaml"});

  EXPECT_EQ(1, outcome.code);
  EXPECT_THAT(outcome.errors, HasSubstr("open " + directory + "/none.yaml: No such file"));
}

TEST_F(PodTest, ListShowsPodsAndWhatTheyHold) {
  kubelet.pods = Items({kRunning, kRefused});

  Outcome all = Pod({"list"});
  Outcome lab = Pod({"list", "-n", "lab"});

  EXPECT_EQ(0, all.code) << all.errors;
  ExpectGolden("pod-list.txt", all.out);
  ExpectGolden("pod-list-lab.txt", lab.out);
}

TEST_F(PodTest, ListAsJsonIsAList) {
  kubelet.pods = Items({kRunning, kRefused});

  ExpectGolden("pod-list.json", Pod({"list", "-n", "lab", "-o", "json"}).out);
}

TEST_F(PodTest, DescribeShowsEachContainer) {
  kubelet.running_pod = kRunning;

  Outcome outcome = Pod({"describe", "first"});

  EXPECT_EQ(0, outcome.code) << outcome.errors;
  ExpectGolden("pod-describe.txt", outcome.out);
}

TEST_F(PodTest, DescribeMarksADeviceThatIsUnhealthy) {
  kubelet.running_pod = R"({"metadata": {"name": "first"}, "status": {"containerStatuses": [
      {"name": "main",
       "allocatedResourcesStatus": [{"name": "example.com/fuse", "resources": [
           {"resourceID": "a", "health": "Healthy"}, {"resourceID": "b", "health": "Unhealthy"}]}],
       "allocatedDevices": [{"resourceName": "example.com/fuse", "deviceIDs": ["a", "b"]},
                            {"resourceName": "example.com/tun", "deviceIDs": ["b"]}]}]}})";

  Outcome outcome = Pod({"describe", "first"});

  EXPECT_THAT(outcome.out, HasSubstr("Holds:    example.com/fuse: a, b (unhealthy)\n"));
  EXPECT_THAT(outcome.out, HasSubstr("Holds:    example.com/tun: b\n"));
}

TEST_F(PodTest, DescribeSaysThatThereIsNoSuchPod) {
  Outcome outcome = Pod({"describe", "none", "-n", "lab"});

  EXPECT_EQ(1, outcome.code);
  EXPECT_EQ("tenon: no pod /api/v1/pods/lab/none\n", outcome.errors);
}

TEST_F(PodTest, DeleteEndsOnePod) {
  Outcome outcome = Pod({"delete", "first", "-n", "lab", "--grace", "3"});

  EXPECT_EQ(0, outcome.code) << outcome.errors;
  EXPECT_EQ("lab/first: deleted\n", outcome.out);
  EXPECT_THAT(kubelet.requests, ElementsAre("DELETE /api/v1/pods/lab/first?grace=3"));
}

TEST_F(PodTest, DeleteAllEndsThoseOfTheNamespaceOrOfAll) {
  kubelet.pods = Items({kRunning, kRefused});

  Outcome outcome = Pod({"delete", "--all"});
  Outcome lab = Pod({"delete", "--all", "-n", "lab"});

  EXPECT_EQ("default/first: deleted\nlab/second: deleted\n", outcome.out);
  EXPECT_EQ("lab/second: deleted\n", lab.out);
}

TEST_F(PodTest, DeleteGoesOnAfterAFailure) {
  kubelet.pods = Items({kRunning, kRefused});
  kubelet.delete_answer = admin::ErrorResponse(500, "runc: no");

  Outcome outcome = Pod({"delete", "--all"});

  EXPECT_EQ(1, outcome.code);
  EXPECT_EQ("tenon: runc: no\ntenon: runc: no\n", outcome.errors);
  EXPECT_EQ(3U, kubelet.requests.size());
}

TEST_F(PodTest, LogsPrintsWhatIsThereInPieces) {
  kubelet.running_pod = kRunning;
  kubelet.log = "one\ntwo\nthree\n";
  kubelet.log_piece = 5;

  Outcome outcome = Pod({"logs", "first", "-c", "side"});

  EXPECT_EQ(0, outcome.code) << outcome.errors;
  EXPECT_EQ(kubelet.log, outcome.out);
  EXPECT_EQ("side", kubelet.log_container);
}

TEST_F(PodTest, AdmitShowsWhatARuntimeWouldBeTold) {
  kubelet.trial = R"({"admitted":true,"containers":[{"name":"main","config":{"devices":[]}},)"
                  R"({"name":"side","error":"no such device"}]})";
  const std::string file = WriteFile("pod.yaml", std::string(kManifest));

  Outcome shown = Pod({"admit", file, "-c", "main"});
  EXPECT_EQ(0, shown.code) << shown.errors;
  EXPECT_EQ("{\n  \"devices\": []\n}\n", shown.out);
  EXPECT_EQ(kubelet.manifests.at(0), kManifest);

  Outcome wrong = Pod({"admit", file, "-o", "oci", "-c", "side"});
  EXPECT_EQ(1, wrong.code);
  EXPECT_EQ("tenon: side: no such device\n", wrong.errors);
  EXPECT_THAT(kubelet.requests,
              ElementsAre("POST /api/v1/trials?format=cri", "POST /api/v1/trials?format=oci"));
  EXPECT_EQ("tenon: which container? Give its name with -c\n", Pod({"admit", file}).errors);

  kubelet.trial = R"({"admitted":false,"reason":"UnexpectedAdmissionError","message":"no"})";
  Outcome refused = Pod({"admit", file});
  EXPECT_EQ(1, refused.code);
  EXPECT_EQ("tenon: UnexpectedAdmissionError: no\n", refused.errors);
}

TEST_F(PodTest, LogsTakesTheFormatOfACriRuntimeApart) {
  kubelet.log =
      "2026-01-01T00:00:00.1Z stdout F one\n2026-01-01T00:00:00.2Z stderr P tw\n"
      "2026-01-01T00:00:00.3Z stderr F o\n2026-01-01T00:00:00.4Z stdout F \nodd\n";
  kubelet.log_piece = 7;
  kubelet.running_pod = kubelet.ended_pod =
      R"({"status":{"phase":"Succeeded","containerStatuses":[{"name":"main",)"
      R"("containerID":"containerd://abc"}]}})";

  EXPECT_EQ("one\ntwo\n\nodd\n", Run({"pod", "logs", "--kubelet-dir", directory, "first"}).out);
}

TEST_F(PodTest, LogsEndsWhenNobodyReadsThem) {
  kubelet.running_pod = kRunning;
  kubelet.ended_pod = kRunning;  // Runs for ever.
  kubelet.log = "one\ntwo\n";
  kubelet.log_piece = 4;
  std::optional<process::ChildExit> ended;
  auto child =
      process::Child::Start(*loop,
                            {.argv = {"/bin/sh", "-c",
                                      "exec " TENON_BINARY " pod logs -f first --kubelet-dir " +
                                          directory + " >/dev/full"}},
                            [&](process::ChildExit exit) { ended = std::move(exit); });
  ASSERT_TRUE(child);
  ASSERT_TRUE(loop->RunUntil([&] { return ended.has_value(); }, std::chrono::seconds(20)));

  EXPECT_EQ(1, ended->code);
  EXPECT_EQ("tenon: standard output could not be written\n", ended->errors);
}

TEST_F(PodTest, LogsFollowsUntilThePodHasEnded) {
  kubelet.running_pod = kRunning;
  kubelet.ended_pod = kEnded;
  kubelet.log = "one\ntwo\nthree\n";
  kubelet.log_piece = 5;

  Outcome outcome = Pod({"logs", "-f", "first"});

  EXPECT_EQ(0, outcome.code) << outcome.errors;
  EXPECT_EQ(kubelet.log, outcome.out);
}

}  // namespace
}  // namespace tenon::cli_test
