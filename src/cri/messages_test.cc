#include "cri/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::cri {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using std::string_literals::operator""s;

TEST(MessagesTest, ASandboxIsInTheMachinesNetworkAndItsContainersHaveTheirOwnPids) {
  const std::string bytes = EncodeRunPodSandboxRequest({.name = "p",
                                                        .uid = "u",
                                                        .namespace_name = "n",
                                                        .log_directory = "/l",
                                                        .cgroup_parent = "/t"});

  EXPECT_EQ(bytes,
            "\x0a\x1d"
            "\x0a\x09\x0a\x01p\x12\x01u\x1a\x01n"                    // metadata
            "\x1a\x02/l"                                             // log_directory
            "\x42\x0c\x0a\x02/t\x12\x06\x0a\x04\x08\x02\x10\x01"s);  // linux
}

TEST(MessagesTest, AContainerHasWhatItWasAllocated) {
  const ContainerConfig config{.name = "main",
                               .attempt = 3,
                               .image = "img",
                               .command = {"sh"},
                               .args = {"-c"},
                               .env = {{"A", "1"}},
                               .mounts = {{"/in", "/host", true}},
                               .device_nodes = {{"/dev/c", "/dev/h", "rw"}},
                               .cdi_devices = {"v.com/c=a"},
                               .labels = {{"l", "m"}},
                               .annotations = {{"a", "b"}},
                               .log_path = "main/log"};

  const std::string bytes = EncodeCreateContainerRequest("box", config, {.name = "p"});

  EXPECT_THAT(bytes, ::testing::StartsWith("\x0a\x03"
                                           "box\x12"));
  for (const std::string& part :
       {"\x0a\x08\x0a\x04main\x10\x03"s, "\x12\x05\x0a\x03img"s, "\x1a\x02sh"s, "\x22\x02-c"s,
        "\x32\x06\x0a\x01\x41\x12\x01\x31"s, "\x3a\x0e\x0a\x03/in\x12\x05/host\x18\x01"s,
        "\x42\x14\x0a\x06/dev/c\x12\x06/dev/h\x1a\x02rw"s, "\x4a\x06\x0a\x01l\x12\x01m"s,
        "\x52\x06\x0a\x01\x61\x12\x01\x62"s, "\x5a\x08main/log"s, "\x8a\x01\x0b\x0a\x09v.com/c=a"s,
        "/proc/kcore"s, "/proc/sysrq-trigger"s}) {
    EXPECT_THAT(bytes, HasSubstr(part));
  }
}

TEST(MessagesTest, ReadsWhatTheRuntimeAnswers) {
  EXPECT_EQ(*DecodeId("\x0a\x02id"s), "id");
  EXPECT_EQ(DecodeId("").error().message(), "the answer has no id");
  EXPECT_EQ(*DecodeVersion("\x0a\x02v1\x12\x0a"
                           "containerd\x1a\x06"
                           "1.6.20"s),
            (RuntimeVersion{"containerd", "1.6.20"}));
  EXPECT_THAT(*DecodeListContainers("\x0a\x05\x0a\x01\x61\x30\x01\x0a\x03\x0a\x01\x62"s),
              ElementsAre(ListedContainer{"a", ContainerState::kRunning},
                          ListedContainer{"b", ContainerState::kCreated}));
  EXPECT_THAT(*DecodeListPodSandbox("\x0a\x03\x0a\x01\x61\x0a\x05\x0a\x01\x62\x18\x01"s),
              ElementsAre(ListedSandbox{"a", true}, ListedSandbox{"b", false}));
  const auto status = DecodeContainerStatus(
      "\x0a\x13\x0a\x01\x61\x18\x02\x38\x89\x01\x52\x09"
      "OOMKilled"s);
  ASSERT_TRUE(status) << status.error().message();
  EXPECT_EQ(**status, (ContainerStatus{ContainerState::kExited, 137, "OOMKilled", ""}));
  EXPECT_EQ(DecodeContainerStatus("")->has_value(), false);
  EXPECT_TRUE(*DecodeImageStatus("\x0a\x03\x0a\x01\x61"s));
  EXPECT_FALSE(*DecodeImageStatus(""));
  EXPECT_EQ(DecodeListContainers("\x0a\x02\x30\x63"s)->at(0).state, ContainerState::kUnknown);
}

TEST(MessagesTest, FiltersAndTimeoutsStandWhereTheRuntimeLooksForThem) {
  EXPECT_EQ(EncodeListContainersRequest({{"k", "v"}}), "\x0a\x08\x22\x06\x0a\x01k\x12\x01v"s);
  EXPECT_EQ(EncodeListPodSandboxRequest({{"k", "v"}}), "\x0a\x08\x1a\x06\x0a\x01k\x12\x01v"s);
  EXPECT_EQ(EncodeStopContainerRequest("c", 30), "\x0a\x01\x63\x10\x1e"s);
  EXPECT_EQ(EncodeStopContainerRequest("c", 0), "\x0a\x01\x63"s);
  EXPECT_EQ(EncodeImageStatusRequest("i"), "\x0a\x03\x0a\x01i"s);
}

}  // namespace
}  // namespace tenon::cri
