#include "pod/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::pod {
namespace {

using ::testing::HasSubstr;

PodStatus FullStatus() {
  const base::WallTime time = base::FakeClock().WallNow();
  PodStatus status{
      .phase = Phase::kFailed, .reason = "Error", .message = "two\nlines", .start_time = time};
  status.init_containers.push_back(
      {.name = "probe",
       .image = "probe",
       .container_id = "runc://u.probe",
       .state = {.kind = ContainerState::Kind::kTerminated,
                 .reason = "Error",
                 .exit_code = 137,
                 .signal = 9,
                 .started_at = time,
                 .finished_at = time + std::chrono::seconds(1)},
       .allocated_devices = {{.resource_name = "example.com/x", .device_ids = {"1", "2"}}}});
  status.containers.push_back(
      {.name = "main", .image = "busybox", .state = {.reason = "PodInitializing"}});
  status.containers.push_back(
      {.name = "second",
       .image = "busybox",
       .state = {.kind = ContainerState::Kind::kRunning, .started_at = time}});
  return status;
}

TEST(StatusTest, LooksLikeAPodStatus) {
  EXPECT_EQ(ToJson(ToValue(FullStatus())),
            R"({"phase":"Failed","reason":"Error","message":"two\nlines",)"
            R"("startTime":"2026-01-01T00:00:00.000Z",)"
            R"("initContainerStatuses":[{"name":"probe","image":"probe","imageID":"",)"
            R"("containerID":"runc://u.probe","state":{"terminated":{"exitCode":137,"signal":9,)"
            R"("reason":"Error","startedAt":"2026-01-01T00:00:00.000Z",)"
            R"("finishedAt":"2026-01-01T00:00:01.000Z"}},"ready":false,"started":false,)"
            R"("restartCount":0,"allocatedDevices":[{"resourceName":"example.com/x",)"
            R"("deviceIDs":["1","2"]}]}],)"
            R"("containerStatuses":[{"name":"main","image":"busybox","imageID":"",)"
            R"("state":{"waiting":{"reason":"PodInitializing"}},"ready":false,"started":false,)"
            R"("restartCount":0},{"name":"second","image":"busybox","imageID":"",)"
            R"("state":{"running":{"startedAt":"2026-01-01T00:00:00.000Z"}},"ready":true,)"
            R"("started":true,"restartCount":0}]})");
}

TEST(StatusTest, ShowsTheHealthOfDevicesAsAClusterDoes) {
  PodStatus status;
  status.containers.push_back(
      {.name = "main", .device_health = {{"example.com/x", {{"1", true}, {"2", false}}}}});

  EXPECT_THAT(ToJson(ToValue(status)),
              HasSubstr(R"("allocatedResourcesStatus":[{"name":"example.com/x","resources":[)"
                        R"({"resourceID":"1","health":"Healthy"},)"
                        R"({"resourceID":"2","health":"Unhealthy"}]}])"));
}

TEST(StatusTest, AnEarlierEndIsReadBackWithTheNumberOfRestarts) {
  PodStatus status = FullStatus();
  status.containers[0].restart_count = 70000;
  status.containers[0].last_state = ContainerState{
      .kind = ContainerState::Kind::kTerminated, .reason = "OOMKilled", .exit_code = 137};
  const auto json = ParseJson(ToJson(ToValue(status)), "status");

  EXPECT_EQ(*ParseStatus(*json), status);
}

TEST(StatusTest, IsReadBack) {
  const auto json = ParseJson(ToJson(ToValue(FullStatus())), "status");
  ASSERT_TRUE(json);

  const auto status = ParseStatus(*json);

  ASSERT_TRUE(status) << status.error().message();
  EXPECT_EQ(*status, FullStatus());
}

TEST(StatusTest, WhatIsBrokenIsNamed) {
  struct Case {
    const char* text;
    const char* field;
  };
  for (const Case& c :
       {Case{R"({})", "phase"}, Case{R"({"phase":"Odd"})", "phase"}, Case{R"([])", "phase"},
        Case{R"({"phase":[]})", "phase"},
        Case{R"({"phase":"Running","startTime":"now"})", "startTime"},
        Case{R"({"phase":"Running","containerStatuses":{}})", "containerStatuses"},
        Case{R"({"phase":"Running","containerStatuses":[{}]})", "state"},
        Case{R"({"phase":"Running","containerStatuses":[{"state":{"odd":{}}}]})", "odd"},
        Case{R"({"phase":"Running","containerStatuses":[{"state":{"terminated":)"
             R"({"exitCode":"x"}}}]})",
             "exitCode"}}) {
    const auto json = ParseJson(c.text, "status");
    ASSERT_TRUE(json) << c.text;

    const auto status = ParseStatus(*json);

    ASSERT_FALSE(status) << c.text;
    EXPECT_EQ(status.error().code(), Code::kDataLoss);
    EXPECT_THAT(status.error().message(), HasSubstr(c.field));
  }
}

}  // namespace
}  // namespace tenon::pod
