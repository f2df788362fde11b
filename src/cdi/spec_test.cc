#include "cdi/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::cdi {
namespace {

using ::testing::ElementsAre;

constexpr std::string_view kWhole = R"({
  "cdiVersion": "0.6.0", "kind": "vendor.com/gpu", "annotations": {"a": "b"},
  "devices": [{"name": "0:1", "containerEdits": {
    "env": ["GPU=0"],
    "deviceNodes": [{"path": "/dev/gpu0"},
                    {"path": "/dev/ctl", "hostPath": "/dev/host-ctl", "type": "c", "major": 195,
                     "minor": 255, "fileMode": 438, "permissions": "rw", "uid": 0, "gid": 44}],
    "mounts": [{"hostPath": "/lib/gpu.so", "containerPath": "/usr/lib/gpu.so",
                "options": ["ro", "bind"]}],
    "hooks": [{"hookName": "createContainer", "path": "/usr/bin/hook", "args": ["hook", "x"],
               "env": ["A=b"], "timeout": 5}],
    "additionalGids": [44]}}],
  "containerEdits": {"env": ["ALL=1"]}})";

TEST(SpecTest, ReadsEverythingThatAContainerCanBeGiven) {
  auto spec = ParseSpec(kWhole, "gpu.json");

  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_EQ(spec->kind, "vendor.com/gpu");
  EXPECT_THAT(spec->edits.env, ElementsAre("ALL=1"));
  const ContainerEdits& edits = spec->devices.at("0:1");
  EXPECT_THAT(edits.env, ElementsAre("GPU=0"));
  EXPECT_THAT(edits.device_nodes, ElementsAre(DeviceNodeEdit{.path = "/dev/gpu0",
                                                             .host_path = "/dev/gpu0",
                                                             .permissions = "rwm"},
                                              DeviceNodeEdit{.path = "/dev/ctl",
                                                             .host_path = "/dev/host-ctl",
                                                             .type = "c",
                                                             .permissions = "rw",
                                                             .major = 195,
                                                             .minor = 255,
                                                             .file_mode = 438,
                                                             .uid = 0,
                                                             .gid = 44}));
  EXPECT_THAT(edits.mounts,
              ElementsAre(MountEdit{"/lib/gpu.so", "/usr/lib/gpu.so", "", {"ro", "bind"}}));
  EXPECT_THAT(edits.hooks,
              ElementsAre(HookEdit{"createContainer", "/usr/bin/hook", {"hook", "x"}, {"A=b"}, 5}));
  EXPECT_THAT(edits.additional_gids, ElementsAre(44));
}

TEST(SpecTest, ReadsYaml) {
  auto spec = ParseSpec(
      "cdiVersion: 1.0.0\nkind: v.com/c\ndevices:\n- name: all\n  containerEdits: {env: [A=1]}\n",
      "c.yaml");

  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_THAT(spec->devices.at("all").env, ElementsAre("A=1"));
}

TEST(SpecTest, WhatIsWrongIsSaidWithItsPlace) {
  const auto with = [](const std::string& devices) {
    return R"({"cdiVersion":"0.6.0","kind":"v.com/c","devices":)" + devices + "}";
  };
  const auto edits = [&with](const std::string& text) {
    return with(R"([{"name":"a","containerEdits":)" + text + "}]");
  };
  struct Case {
    std::string text;
    std::string error;
  };
  for (const Case& c : std::vector<Case>{
           {"[]", "s.json:1:1: the spec is a list, not a mapping"},
           {"{}", "s.json:1:1: cdiVersion is missing"},
           {R"({"cdiVersion":"2.0.0"})",
            "s.json:1:1: cdiVersion is none that is known, as 0.6.0 is"},
           {R"({"cdiVersion":"0.6.0","kind":"gpu"})",
            "s.json:1:1: kind must be VENDOR/CLASS, vendor.com/gpu"},
           {with("[]"), "s.json:1:1: devices must not be empty"},
           {with(R"([{"name":"-a"}])"), "s.json:1:51: name must be of letters, digits and _-.:"},
           {with(R"([{"name":"a"}])"), "s.json:1:51: containerEdits is missing"},
           {with(R"([{"name":"a","containerEdits":{}},{"name":"a","containerEdits":{}}])"),
            "s.json:1:84: device a is there twice"},
           {edits(R"({"intelRdt":{}})"),
            "s.json:1:81: containerEdits has the key intelRdt, which is not supported"},
           {edits(R"({"env":["A"]})"), "s.json:1:87: env must be a list of NAME=VALUE"},
           {edits(R"({"env":[],"env":[]})"), "s.json:1:90: env is there twice"},
           {edits(R"({"deviceNodes":[{"path":"dev"}]})"),
            "s.json:1:96: path must be an absolute path"},
           {edits(R"({"deviceNodes":[{"path":"/d","type":"x"}]})"),
            "s.json:1:96: type must be b, c or u"},
           {edits(R"({"deviceNodes":[{"path":"/d","major":-1}]})"),
            "s.json:1:117: major must be a whole number that is not negative"},
           {edits(R"({"hooks":[{"hookName":"x","path":"/h"}]})"),
            "s.json:1:90: hookName is none of the OCI runtime specification"}}) {
    auto spec = ParseSpec(c.text, "s.json");

    ASSERT_FALSE(spec) << c.text;
    EXPECT_EQ(spec.error().message(), c.error) << c.text;
  }
}

TEST(SpecTest, KnowsAQualifiedName) {
  EXPECT_TRUE(IsQualifiedName("vendor.com/gpu=0:1"));
  for (const char* name : {"", "gpu", "vendor.com/gpu", "vendor.com/gpu=", "/gpu=0", "v/=0",
                           "v.com/gpu=a/b", "v.com/gpu=a b", "v.com/g/h=a"}) {
    EXPECT_FALSE(IsQualifiedName(name)) << name;
  }
}

}  // namespace
}  // namespace tenon::cdi
