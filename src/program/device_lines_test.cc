#include "program/device_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::program {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(DeviceLines, AreOneDeviceALine) {
  auto told = ReadDeviceLines(
      "{\"tenon\": 1}\n"
      "{\"id\": \"a\"}\n"
      "\n"
      "{\"id\": \"b\", \"healthy\": false, \"reason\": \"hot\", \"numaNodes\": [1, 0], "
      "\"paths\": [\"/dev/x\", {\"path\": \"/dev/y\", \"mountPath\": \"/dev/z\", "
      "\"permissions\": \"r\"}], \"env\": {\"A\": \"1\"}, \"annotations\": {\"a/b\": \"2\"}}");

  ASSERT_TRUE(told);
  EXPECT_THAT(told->faults, IsEmpty());
  EXPECT_THAT(told->devices,
              ElementsAre(ToldDevice{.id = "a"},
                          ToldDevice{.id = "b",
                                     .healthy = false,
                                     .reason = "hot",
                                     .paths = {{"/dev/x", "", ""}, {"/dev/y", "/dev/z", "r"}},
                                     .numa_nodes = {0, 1},
                                     .env = {{"A", "1"}},
                                     .annotations = {{"a/b", "2"}}}));
}

TEST(DeviceLines, OneBadLineRemovesNoOtherDevice) {
  for (const char* line :
       {"{", "[]", "{}", "{\"id\": \"\"}", "{\"id\": 1}", "{\"id\": \"b\", \"colour\": 1}",
        "{\"id\": \"b\", \"paths\": [\"dev/x\"]}", "{\"id\": \"b\", \"paths\": [\"/dev/../x\"]}",
        "{\"id\": \"b\", \"paths\": [{\"path\": \"/dev/x\", \"permissions\": \"q\"}]}",
        "{\"id\": \"b\", \"env\": {\"A=B\": \"1\"}}", "{\"id\": \"b\", \"numaNodes\": [-1]}",
        "{\"id\": \"b\", \"env\": {\"A\": \"\\u0000\"}}", "{\"id\": \"b\", \"healthy\": 1}",
        "{\"id\": \"a\"}", "{\"id\": \"\xff\"}"}) {
    auto told = ReadDeviceLines(std::string("{\"tenon\": 1}\n{\"id\": \"a\"}\n") + line +
                                "\n{\"id\": \"c\"}\n");

    ASSERT_TRUE(told) << line;
    EXPECT_THAT(told->devices, ElementsAre(ToldDevice{.id = "a"}, ToldDevice{.id = "c"})) << line;
    EXPECT_THAT(told->faults, ElementsAre(HasSubstr("line 3: "))) << line;
  }
}

TEST(DeviceLines, WithoutAVersionThatIsKnownNothingIsRead) {
  EXPECT_FALSE(ReadDeviceLines(""));
  EXPECT_FALSE(ReadDeviceLines("{\"id\": \"a\"}\n"));
  EXPECT_FALSE(ReadDeviceLines("Segmentation fault\n"));
  auto told = ReadDeviceLines("{\"tenon\": 2}\n{\"id\": \"a\"}\n");
  ASSERT_FALSE(told);
  EXPECT_EQ("it speaks version 2, not 1", told.error().message());
}

}  // namespace
}  // namespace tenon::program
