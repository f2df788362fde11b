#include <gmock/gmock.h>

#include "cli_fixture.h"

namespace tenon::cli_test {
namespace {

using ::testing::HasSubstr;

/// An entry whose answer has the variable VISIBLE=d0 and the device node /dev/x0; its checksum was
/// computed by the kubelet's own code.
constexpr const char* kGood =
    R"({"Data":{"PodDeviceEntries":[{"PodUID":"11111111-2222-3333-4444-555555555555",)"
    R"("ContainerName":"main","ResourceName":"vendor.com/gpu","DeviceIDs":{"0":["d0"]},)"
    R"("AllocResp":"Cg0KB1ZJU0lCTEUSAmQwGhYKBy9kZXYveDASBy9kZXYveDAaAnJ3"}],)"
    R"("RegisteredDevices":{"vendor.com/gpu":["d0","d1"]}},"Checksum":3693125021})";

/// Two pods with the same device, one of them without an answer, of a resource whose plugin went.
constexpr const char* kTrouble =
    R"({"Data":{"PodDeviceEntries":[)"
    R"({"PodUID":"a","ContainerName":"main","ResourceName":"example.com/gone",)"
    R"("DeviceIDs":{"-1":["x"]},"AllocResp":""},)"
    R"({"PodUID":"b","ContainerName":"main","ResourceName":"example.com/gone",)"
    R"("DeviceIDs":{"-1":["x"]},"AllocResp":null}],)"
    R"("RegisteredDevices":{}},"Checksum":1})";

struct CheckpointTest : CliTest {};

TEST_F(CheckpointTest, ShowsWhoHoldsWhatAndWhatPluginsGave) {
  Outcome outcome = Run({"checkpoint", WriteFile("good", kGood)});

  EXPECT_EQ(0, outcome.code);
  EXPECT_EQ("", outcome.errors);
  ExpectGolden("checkpoint.txt", outcome.out);
}

TEST_F(CheckpointTest, ReportsAsJsonFromStandardInput) {
  Outcome outcome = Run({"checkpoint", "-o", "json", "-"}, kGood);

  EXPECT_EQ(0, outcome.code);
  ExpectGolden("checkpoint.json", outcome.out);
}

TEST_F(CheckpointTest, ABrokenFileIsShownAllTheSameAndFails) {
  Outcome outcome = Run({"checkpoint", WriteFile("trouble", kTrouble)});

  EXPECT_EQ(1, outcome.code);
  ExpectGolden("checkpoint-trouble.txt", outcome.out);
  ExpectGolden("checkpoint-trouble.err.txt", outcome.errors);
}

TEST_F(CheckpointTest, WhatIsNoCheckpointIsSaidWithItsPlace) {
  Outcome outcome = Run({"checkpoint", WriteFile("cut", R"({"Data":{)")});
  EXPECT_EQ(1, outcome.code);
  EXPECT_EQ("", outcome.out);
  EXPECT_THAT(outcome.errors, HasSubstr(directory + "/cut:1:"));

  outcome = Run({"checkpoint", directory + "/none"});
  EXPECT_EQ(1, outcome.code);
  EXPECT_THAT(outcome.errors, HasSubstr("/none"));
}

}  // namespace
}  // namespace tenon::cli_test
