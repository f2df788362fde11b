#include <gmock/gmock.h>

#include <filesystem>

#include "admin/http_server.h"
#include "cli_fixture.h"
#include "fake_kubelet.h"
#include "rpc/server.h"
#include "wire/pod_resources.h"

namespace tenon::cli_test {
namespace {

constexpr std::string_view kStatus = R"({
  "version": "0.1.0", "startedAt": "2026-01-01T00:00:00.123Z", "ready": false,
  "resources": [
    {"name": "example.com/serial", "state": "streaming", "detail": "",
     "since": "2026-01-01T00:00:01.000Z", "devices": [
      {"id": "FTDI_1", "health": "Healthy", "since": "2026-01-01T00:00:02.000Z",
       "deviceNodes": [{"path": "/dev/ttyUSB0", "major": 188, "minor": 0}],
       "heldBy": [{"namespace": "default", "pod": "meter", "container": "main"}]},
      {"id": "FTDI_2", "health": "Unhealthy", "reason": "gone \u001b[2J\nand \u00e4 spoof",
       "since": "2026-01-01T00:00:03Z", "deviceNodes": [], "heldBy": []}]},
    {"name": "example.com/none", "state": "waiting for the kubelet",
     "detail": "no kubelet.sock in /var/lib/kubelet/device-plugins", "devices": []}],
  "events": [{"time": "2026-01-01T00:00:03.000Z", "resource": "example.com/serial",
              "device": "FTDI_2", "text": "unhealthy: gone"}],
  "fromTheFuture": {"x": 1}})";

struct StatusTest : CliTest {
  void Serve(std::string status) {
    server.Route("GET", "/api/v1/status",
                 [status](const admin::HttpRequest&, admin::Responder responder) {
                   responder.Send({.body = status});
                 });
    ASSERT_TRUE(server.ListenUnix(directory + "/c.sock"));
  }
  Outcome Status(std::vector<std::string> more = {}) {
    std::vector<std::string> args = {"status", "--control", directory + "/c.sock"};
    args.insert(args.end(), more.begin(), more.end());
    return Run(args);
  }
  admin::HttpServer server{*loop};
};

TEST_F(StatusTest, ShowsResourcesDevicesAndEventsInTables) {
  Serve(std::string(kStatus));

  Outcome outcome = Status();

  EXPECT_EQ(0, outcome.code) << outcome.errors;
  ExpectGolden("status.txt", outcome.out);
}

TEST_F(StatusTest, HandsJsonOnWithWhatItDoesNotKnow) {
  Serve(std::string(kStatus));

  Outcome outcome = Status({"-o", "json"});

  EXPECT_EQ(0, outcome.code);
  ExpectGolden("status.json", outcome.out);
}

TEST_F(StatusTest, ShowsWhatIsWrongWithTheWhole) {
  Serve(
      R"({"version":"0.1.0","ready":false,"configErrors":["/etc/c.yaml:1:1: no","/etc/c.yaml:2:1: nor"],
            "holdersUnknown":"connect pod-resources/kubelet.sock: No such file or directory"})");

  ExpectGolden("status-trouble.txt", Status().out);
}

TEST_F(StatusTest, ShowsADaemonThatOffersNothing) {
  Serve(R"({"version":"0.1.0","ready":true})");

  ExpectGolden("status-empty.txt", Status().out);
}

TEST_F(StatusTest, SaysWhichDaemonIsNotThereAndHowToNameAnother) {
  Outcome outcome = Status();

  EXPECT_EQ(1, outcome.code);
  EXPECT_EQ("", outcome.out);
  ExpectGolden("status-absent.txt", outcome.errors);
}

TEST_F(StatusTest, SaysThatAnAnswerIsNoJson) {
  Serve("<html>");

  Outcome outcome = Status();

  EXPECT_EQ(1, outcome.code);
  EXPECT_THAT(outcome.errors, ::testing::StartsWith("tenon: answer of tenond:1:1: "));
}

/// A kubelet's PodResources API as any kubelet has it.
struct KubeletStatusTest : CliTest {
  KubeletStatusTest() {
    std::filesystem::create_directories(directory + "/pod-resources");
    server = *rpc::Server::Listen(*loop, log, directory + "/pod-resources/kubelet.sock", {});
    Answer(wire::kPodResourcesList,
           wire::EncodePodResources(
               {{"meter",
                 "default",
                 {{"main", {{"a.b/serial", {"s1"}, {0}}, {"a.b/serial", {"s1"}, {1}}}},
                  {"side", {{"a.b/gone", {"g"}, {}}}}}}}));
  }
  void Answer(std::string_view method, const std::string& answer) {
    server->AddUnary(std::string(method),
                     [answer](std::string_view, const std::unique_ptr<rpc::UnaryCall>& call) {
                       call->Reply(answer);
                     });
  }
  Outcome Status(std::vector<std::string> more = {}) {
    std::vector<std::string> args = {"status", "--kubelet-dir", directory};
    args.insert(args.end(), more.begin(), more.end());
    return Run(args);
  }
  base::NullLog log;
  std::unique_ptr<rpc::Server> server;
};

TEST_F(KubeletStatusTest, ShowsWhoHoldsWhatOnAnyKubelet) {
  Answer(
      wire::kGetAllocatableResources,
      wire::EncodeAllocatableResources(
          {{"a.b/serial", {"s1"}, {0}}, {"a.b/serial", {"s1"}, {1}}, {"a.b/serial", {"s2"}, {}}}));

  Outcome table = Status();
  Outcome json = Status({"-o", "json"});

  EXPECT_EQ(0, table.code) << table.errors;
  ExpectGolden("status-kubelet.txt", table.out);
  ExpectGolden("status-kubelet.json", json.out);
}

TEST_F(KubeletStatusTest, SaysWhatAnOldKubeletDoesNotTell) {
  Outcome outcome = Status();

  EXPECT_EQ(0, outcome.code) << outcome.errors;
  ExpectGolden("status-kubelet-old.txt", outcome.out);
}

TEST_F(KubeletStatusTest, FailsWhereNoKubeletAnswers) {
  server.reset();

  Outcome outcome = Status();

  EXPECT_EQ(1, outcome.code);
  EXPECT_THAT(outcome.errors, ::testing::HasSubstr(directory + "/pod-resources/kubelet.sock"));
}

TEST_F(CliTest, NodeShowsCapacityAndAllocatable) {
  FakeKubelet kubelet(*loop, directory);
  kubelet.node = R"({"metadata": {"name": "demo"}, "status": {
      "capacity": {"example.com/fuse": "1", "example.com/dongle": "4"},
      "allocatable": {"example.com/fuse": "0", "example.com/dongle": "4"}}})";

  Outcome table = Run({"node", "--kubelet-dir", directory});
  Outcome json = Run({"node", "--kubelet-dir", directory, "-o", "json"});

  EXPECT_EQ(0, table.code) << table.errors;
  ExpectGolden("node.txt", table.out);
  ExpectGolden("node.json", json.out);
}

}  // namespace
}  // namespace tenon::cli_test
