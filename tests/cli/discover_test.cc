#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "base/errno_error.h"
#include "cli_fixture.h"

namespace tenon::cli_test {
namespace {

/// A machine of its own in a directory, so that the one of the test does not matter.
struct DiscoverTest : CliTest {
  DiscoverTest() {
    std::filesystem::create_directories(root + "/dev/serial");
    std::ofstream(root + "/dev/serial/notes") << "text";
    std::ofstream(root + "/dev/kvm") << "text";
  }
  /// Returns: false where device nodes cannot be made.
  bool MakeDeviceNodes() const {
    for (unsigned minor : {0U, 1U}) {
      std::string path = root + "/dev/ttyUSB" + std::to_string(minor);
      if (::mknod(path.c_str(), S_IFCHR | 0600, makedev(188, minor)) != 0) return false;
      std::filesystem::create_symlink("../ttyUSB" + std::to_string(minor),
                                      root + "/dev/serial/usb-" + std::to_string(minor));
    }
    const std::string grouped = root + "/dev/ttyUSB1";
    if (::chown(grouped.c_str(), 0, 20) != 0 || ::chmod(grouped.c_str(), 0660) != 0) return false;
    std::filesystem::create_symlink("../ttyUSB0", root + "/dev/serial/usb-again");
    return true;
  }
  Outcome Discover(const std::string& config, std::vector<std::string> more = {}) {
    WriteFile("config.yaml", config);
    // By its relative name, as the width of a column must not depend on the directory.
    std::vector<std::string> args = {"discover", "--root", root, "--config", "config.yaml"};
    args.insert(args.end(), more.begin(), more.end());
    return Run(args);
  }
  std::string root = directory + "/root";
};

TEST_F(DiscoverTest, ShowsWhatEachRuleFindsAndWhatItLeavesOut) {
  if (!MakeDeviceNodes()) GTEST_SKIP() << "mknod: " << base::ErrnoText(errno);
  const std::string config =
      "domain: example.com\n"
      "resources:\n"
      "  - name: serial\n"
      "    devices:\n"
      "      - path: /dev/serial/*\n"
      "      - path: /dev/serial/usb-[1-9]\n"
      "  - {name: counter, devices: [{virtual: {count: 2}}, {virtual: {count: 1}}]}\n"
      "  - {name: absent, devices: [{path: /dev/none}]}\n";

  Outcome table = Discover(config);
  Outcome json = Discover(config, {"-o", "json"});

  EXPECT_EQ(0, table.code) << table.errors;
  ExpectGolden("discover.txt", table.out);
  ExpectGolden("discover.json", json.out);
}

TEST_F(DiscoverTest, ALiteralPathThatIsNoDeviceNodeIsUnhealthy) {
  Outcome outcome = Discover(
      "domain: example.com\n"
      "resources: [{name: kvm, devices: [{path: /dev/kvm}]}]\n");

  EXPECT_EQ(0, outcome.code) << outcome.errors;
  ExpectGolden("discover-unhealthy.txt", outcome.out);
}

TEST_F(DiscoverTest, SaysWhatIsWrongWithTheConfiguration) {
  Outcome outcome = Discover("domain: x\n");

  EXPECT_EQ(1, outcome.code);
  EXPECT_EQ("", outcome.out);
  EXPECT_THAT(outcome.errors, ::testing::HasSubstr("config.yaml:1:"));
}

TEST_F(DiscoverTest, SaysThatTheRootIsMissing) {
  Outcome outcome = Run({"discover", "--root", directory + "/none", "--config",
                         WriteFile("c.yaml",
                                   "domain: example.com\n"
                                   "resources: [{name: v, devices: [{virtual: {count: 1}}]}]\n")});

  EXPECT_EQ(1, outcome.code);
  EXPECT_THAT(outcome.errors, ::testing::HasSubstr(directory + "/none"));
}

}  // namespace
}  // namespace tenon::cli_test
