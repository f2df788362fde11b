#include "import/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/strings.h"
#include "config/config.h"

namespace tenon::importer {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// What is imported, checked to be a configuration that tenond takes.
std::string Imported(Format format, const std::string& text,
                     const std::vector<std::string>& allow_paths = {}) {
  auto config = Import(format, {{"f", text}}, "");
  if (!config) return "error: " + config.error().message();
  auto outcome = config::Load(*config, "out", {.allow_paths = allow_paths});
  EXPECT_TRUE(outcome.config) << base::Join(outcome.errors, "\n") << "\n" << *config;
  return *config;
}

/// Without comments.
std::string Bare(const std::string& config) {
  std::string bare;
  for (std::string_view line : base::Split(config, '\n'))
    if (line.find_first_not_of(' ') != std::string_view::npos &&
        line[line.find_first_not_of(' ')] != '#')
      bare.append(line).append("\n");
  return bare;
}

TEST(Import, AFileOfGenericDevicePlugin) {
  const std::string config = Imported(Format::kGenericDevicePlugin, R"(
devices:
  - name: serial
    groups:
      - paths: [{path: /dev/ttyUSB*}, {path: /dev/ttyACM*, mountPath: /dev/acm, limit: 2}]
      - paths: [{path: /dev/ttyS0, permissions: rw}]
  - name: fuse
    groups: [{count: 10, paths: [{path: /dev/fuse}]}]
  - name: stick
    groups: [{usb: [{vendor: 0451, product: 2838, serial: "0001"}]}]
  - name: video
    groups: [{paths: [{path: /dev/video0, optional: true}, {path: /dev/dri, type: Mount, readOnly: true}]}]
)");

  EXPECT_EQ(R"(domain: squat.ai
resources:
  - name: serial
    devices:
      - {all: [{path: /dev/ttyUSB*, permissions: mrw}, {path: /dev/ttyACM*, mountPath: /dev/acm/, permissions: mrw, limit: 2}]}
      - {path: /dev/ttyS0, permissions: rw}
  - name: fuse
    share: 10
    devices:
      - {path: /dev/fuse, permissions: mrw}
  - name: stick
    devices:
      - {usb: {vendor: "0451", product: "2838", serial: '0001'}}
  - name: video
    devices:
      - {all: [{path: /dev/video0, permissions: mrw, optional: true}, {path: /dev/dri, type: mount, readOnly: true}]}
)",
            Bare(config));
  EXPECT_THAT(config, HasSubstr("# Ids differ"));
  EXPECT_THAT(config, HasSubstr("replicas"));
}

TEST(Import, ADeviceFlagOfGenericDevicePlugin) {
  EXPECT_THAT(Imported(Format::kGenericDevicePlugin,
                       R"({"name": "tun", "groups": [{"paths": [{"path": "/dev/net/tun"}]}]})"),
              HasSubstr("      - {path: /dev/net/tun, permissions: mrw}\n"));
}

TEST(Import, AFileOfHostDevicePlugin) {
  const std::string config = Imported(Format::kHostDevicePlugin, R"({
    "resourceName": "github.com/fuse", "socketName": "x.sock", "numDevices": 3,
    "hostDevices": [{"hostPath": "/dev/fuse", "containerPath": "/dev/fuse", "permission": "mrw"},
                    {"hostPath": "/dev/snd/pcm*", "containerPath": "/dev/sound/pcm*"}]})");

  EXPECT_EQ(R"(domain: github.com
resources:
  - name: github.com/fuse
    share: 3
    devices:
      - {all: [{path: /dev/fuse, permissions: mrw, limit: 1000}, {path: /dev/snd/pcm*, mountPath: /dev/sound/, permissions: rw}]}
)",
            Bare(config));
}

TEST(Import, AFileOfVirtualDevicePlugin) {
  EXPECT_EQ(R"(domain: example.com
resources:
  - name: example.com/licence
    devices:
      - {virtual: {count: 5}}
)",
            Bare(Imported(Format::kVirtualDevicePlugin,
                          "resourceName: example.com/licence\nsocketName: x\ncount: 5\n")));
}

TEST(Import, AFileOfSmarterDeviceManager) {
  EXPECT_EQ(R"(domain: smarter-devices
resources:
  - name: snd
    share: 20
    devices:
      - {path: /dev/snd}
  - name: gpiochip
    share: 2
    devices:
      - {path: /dev/gpiochip*}
  - name: net_tun
    devices:
      - {path: /dev/net/tun}
)",
            Bare(Imported(Format::kSmarterDeviceManager,
                          "- {devicematch: ^snd$, nummaxdevices: 20}\n"
                          "- {devicematch: '^gpiochip[0-9]*$', nummaxdevices: 2}\n"
                          "- {devicematch: '^net\\/tun$'}\n")));
}

TEST(Import, WhatIsNotUnderstoodIsAnErrorWithItsPlace) {
  EXPECT_EQ(
      "error: f:1:39: key \"color\" is not known of this plugin; known here: path, "
      "mountPath, permissions, readOnly, type, limit, optional",
      Imported(Format::kGenericDevicePlugin,
               "{name: x, groups: [{paths: [{path: a, color: b}]}]}"));
  EXPECT_THAT(Imported(Format::kSmarterDeviceManager, "- {devicematch: nvidia-gpu}"),
              HasSubstr("error: f:1:3: devicematch nvidia-gpu cannot be written as a pattern"));
  EXPECT_THAT(Imported(Format::kHostDevicePlugin, "{}"), HasSubstr("\"resourceName\" is missing"));
  EXPECT_THAT(Imported(Format::kVirtualDevicePlugin, "count: 1"),
              HasSubstr("\"resourceName\" is missing"));
  EXPECT_EQ("error: f:1:30: \"count\" is a number of at least 1 there",
            Imported(Format::kGenericDevicePlugin, "{name: x, groups: [{ count:  many}]}"));
  EXPECT_EQ("error: f:1:20: \"groups\" is a list there",
            Imported(Format::kGenericDevicePlugin, "{name: x, groups:  {}}"));
  EXPECT_THAT(Imported(Format::kGenericDevicePlugin, "- 1"), HasSubstr("error: f:1:1: a mapping"));
}

TEST(Import, ADomainOfTheCommandLineGoesBeforeThatOfTheFile) {
  auto config =
      Import(Format::kGenericDevicePlugin, {{"f", "domain: a.b\ndevices: []"}}, "example.com");

  ASSERT_TRUE(config);
  EXPECT_THAT(*config, HasSubstr("domain: example.com"));
  EXPECT_THAT(*config, Not(HasSubstr("a.b")));
}

TEST(Examples, AreConfigurationsThatTenondTakes) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(EXAMPLES_PATH)) {
    if (entry.path().extension() != ".yaml") continue;
    auto outcome = config::LoadPaths({entry.path()});
    EXPECT_TRUE(outcome.config) << base::Join(outcome.errors, "\n");
    ++count;
  }
  EXPECT_EQ(10U, count);
}

}  // namespace
}  // namespace tenon::importer
