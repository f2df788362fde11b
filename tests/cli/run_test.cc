#include <gmock/gmock.h>

#include <csignal>

#include "cli_fixture.h"
#include "fake_kubelet.h"
#include "value/value.h"

namespace tenon::cli_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string PodIn(std::string_view phase, std::string_view main_state) {
  return R"({"metadata":{"name":"meter","namespace":"default"},"status":{"phase":")" +
         std::string(phase) + R"(","containerStatuses":[{"name":"main","state":)" +
         std::string(main_state) + "}]}}";
}

struct RunTest : CliTest {
  RunTest() {
    kubelet.running_pod = PodIn("Running", R"({"running":{}})");
    kubelet.ended_pod = PodIn("Succeeded", R"({"terminated":{"exitCode":0}})");
    kubelet.create_answer.body = R"({"items":[)" + kubelet.running_pod + "]}";
  }
  Outcome RunMeter(const std::function<void(process::Child&)>& while_running = {}) {
    return Run({"run", "--kubelet-dir", directory, "--name", "meter", "--image", "busybox",
                "--limits", "example.com/serial=2", "--limits", "example.com/tun=1", "--env",
                "A=b=c", "--", "sh", "-c", "exit 3"},
               {}, while_running);
  }
  FakeKubelet kubelet{*loop, directory};
};

TEST_F(RunTest, SubmitsAPodShowsItsLogAndDeletesIt) {
  kubelet.log = "one\ntwo\n";
  kubelet.log_piece = 3;

  Outcome outcome = RunMeter();

  EXPECT_EQ(0, outcome.code) << outcome.errors;
  EXPECT_EQ("one\ntwo\n", outcome.out);
  EXPECT_EQ("", outcome.errors);
  EXPECT_EQ("main", kubelet.log_container);
  EXPECT_THAT(kubelet.requests,
              ElementsAre("POST /api/v1/pods", "DELETE /api/v1/pods/default/meter"));
}

TEST_F(RunTest, ThePodIsWhatTheCommandLineSays) {
  RunMeter();

  ASSERT_EQ(1U, kubelet.manifests.size());
  auto pod = ParseJson(kubelet.manifests[0], "manifest");
  ASSERT_TRUE(pod);
  EXPECT_EQ("meter", pod->At({"metadata", "name"})->text());
  const Value& container = pod->At({"spec", "containers"})->items()[0];
  EXPECT_EQ(R"(["sh","-c","exit 3"])", ToJson(*container.Find("command")));
  EXPECT_EQ(R"([{"name":"A","value":"b=c"}])", ToJson(*container.Find("env")));
  EXPECT_EQ(R"({"example.com/serial":"2","example.com/tun":"1"})",
            ToJson(*container.At({"resources", "limits"})));
}

TEST_F(RunTest, EndsWithTheCodeOfTheContainer) {
  kubelet.ended_pod = PodIn("Failed", R"({"terminated":{"exitCode":3}})");
  EXPECT_EQ(3, RunMeter().code);

  kubelet.ended_pod = PodIn("Failed", R"({"terminated":{"exitCode":137,"signal":9}})");
  EXPECT_EQ(137, RunMeter().code);
}

TEST_F(RunTest, ARefusedPodIsTellingAndIsDeleted) {
  kubelet.running_pod = R"({"metadata":{"name":"meter","namespace":"default"},"status":{
      "phase":"Failed","reason":"UnexpectedAdmissionError","message":"no device is free"}})";
  kubelet.ended_pod = kubelet.running_pod;

  Outcome outcome = RunMeter();

  EXPECT_EQ(125, outcome.code);
  EXPECT_EQ("tenon: default/meter: Failed: UnexpectedAdmissionError: no device is free\n",
            outcome.errors);
  EXPECT_THAT(kubelet.requests,
              ElementsAre("POST /api/v1/pods", "DELETE /api/v1/pods/default/meter"));
}

TEST_F(RunTest, ASignalDeletesThePod) {
  kubelet.ended_pod = kubelet.running_pod;  // Runs for ever.
  bool sent = false;

  Outcome outcome = RunMeter([&](process::Child& child) {
    if (!sent && !kubelet.log_container.empty()) child.Kill(SIGTERM);
    sent = sent || !kubelet.log_container.empty();
  });

  EXPECT_EQ(128 + SIGTERM, outcome.code);
  EXPECT_EQ("", outcome.errors);
  EXPECT_THAT(kubelet.requests,
              ElementsAre("POST /api/v1/pods", "DELETE /api/v1/pods/default/meter"));
}

TEST_F(RunTest, APodThatIsNotTakenIsNotDeleted) {
  kubelet.create_answer = admin::ErrorResponse(409, "pod default/meter is there already");

  Outcome outcome = RunMeter();

  EXPECT_EQ(125, outcome.code);
  EXPECT_EQ("tenon: pod default/meter is there already\n", outcome.errors);
  EXPECT_THAT(kubelet.requests, ElementsAre("POST /api/v1/pods"));
}

TEST_F(RunTest, ADeletionThatFailsIsAFailure) {
  kubelet.delete_answer = admin::ErrorResponse(500, "runc: no");

  Outcome outcome = RunMeter();

  EXPECT_EQ(125, outcome.code);
  EXPECT_EQ("tenon: delete default/meter: runc: no\n", outcome.errors);
}

TEST_F(RunTest, APluginThatEndsIsToldAndNoPodIsMade) {
  kubelet.node = R"({"status":{"allocatable":{"a.b/c":"0"}}})";

  Outcome outcome = Run({"run", "--kubelet-dir", directory, "--image", "x", "--limits", "a.b/c=1",
                         "--plugin", "/nowhere/plugin --x", "--", "true"});

  // Without device-plugins/ in the directory 'tenon plugin' itself refuses.
  EXPECT_EQ(125, outcome.code);
  EXPECT_THAT(outcome.errors, HasSubstr("start 'tenon kubelet' first"));
  EXPECT_THAT(outcome.errors, HasSubstr("tenon: --plugin: /nowhere/plugin ended: exit status 1\n"));
  EXPECT_THAT(kubelet.requests, ::testing::Not(::testing::Contains("POST /api/v1/pods")));
}

TEST_F(RunTest, ARootFileSystemIsNamedByItsRealPath) {
  Run({"run", "--kubelet-dir", directory, "--rootfs",
       directory + "/../" + directory.substr(directory.rfind('/') + 1), "--", "true"});

  ASSERT_EQ(1U, kubelet.manifests.size());
  EXPECT_THAT(kubelet.manifests[0], HasSubstr("\"image\":\"" + directory + "\""));
}

}  // namespace
}  // namespace tenon::cli_test
