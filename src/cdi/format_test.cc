#include <gtest/gtest.h>

#include "cdi/spec.h"

namespace tenon::cdi {
namespace {

TEST(FormatTest, WhatIsWrittenIsReadAgain) {
  Spec spec{.kind = "example.com/camera"};
  spec.edits.env = {"ALL=1"};
  ContainerEdits& edits = spec.devices["046d:0825:C0FFEE"];
  edits.env = {"A=\"quoted\"", "B=\n"};
  edits.device_nodes = {{.path = "/dev/cam", .host_path = "/dev/video0", .permissions = "rw"},
                        {.path = "/dev/x",
                         .host_path = "/dev/x",
                         .type = "c",
                         .permissions = "r",
                         .major = 1,
                         .minor = 3,
                         .file_mode = 0600,
                         .uid = 0,
                         .gid = 44}};
  edits.mounts = {{.host_path = "/run/cam",
                   .container_path = "/run/cam",
                   .type = "",
                   .options = {"bind", "ro"}}};
  edits.hooks = {{.name = "createContainer",
                  .path = "/bin/hook",
                  .args = {"hook"},
                  .env = {"C=1"},
                  .timeout = 5}};
  edits.additional_gids = {44};

  auto read = ParseSpec(FormatSpec(spec), "camera.json");

  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(spec, *read);
}

TEST(FormatTest, TheVersionIsTheLowestThatHasItAll) {
  Spec spec{.kind = "example.com/camera"};
  spec.devices["a"].env = {"A=1"};
  EXPECT_NE(std::string::npos, FormatSpec(spec).find(R"("cdiVersion": "0.5.0")"));

  spec.kind = "example.com/camera.usb";
  EXPECT_NE(std::string::npos, FormatSpec(spec).find(R"("cdiVersion": "0.6.0")"));

  spec.devices["a"].additional_gids = {5};
  EXPECT_NE(std::string::npos, FormatSpec(spec).find(R"("cdiVersion": "0.7.0")"));
}

TEST(FormatTest, EachIdHasAValidNameOfItsOwn) {
  EXPECT_EQ("0403:6001:S", DeviceName("0403:6001:S"));
  EXPECT_EQ("x_x__a", DeviceName("__a"));
  EXPECT_EQ("a__x", DeviceName("a_"));
  EXPECT_EQ("x_x..._x", DeviceName("..."));
  EXPECT_EQ("x_x_x", DeviceName(""));
  for (const char* id : {"__a", "a.", ":", "", "serial_2Fx"})
    EXPECT_TRUE(IsQualifiedName("v.com/c=" + DeviceName(id))) << id;
}

}  // namespace
}  // namespace tenon::cdi
