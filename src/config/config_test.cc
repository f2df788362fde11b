#include "config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/strings.h"
#include "config/files.h"

namespace tenon::config {
namespace {

using ::testing::ElementsAre;

Config Accept(std::string_view text, const LoadOptions& options = {}) {
  ConfigOutcome outcome = Load(text, "f.yaml", options);
  if (outcome.config) return *std::move(outcome.config);
  ADD_FAILURE() << base::Join(outcome.errors, "\n");
  return {};
}

/// The only rule of a configuration with one, as a T.
template <class T>
T AcceptRule(const std::string& rule, const LoadOptions& options = {}) {
  Config config = Accept("domain: d.com\nresources: [{name: r, devices: [" + rule + "]}]", options);
  if (!config.resources.empty() && config.resources[0].devices.size() == 1)
    if (const auto* source = std::get_if<T>(&config.resources[0].devices[0].members[0].source))
      return *source;
  ADD_FAILURE() << rule;
  return {};
}

/// What the only rule of a configuration says about its device nodes.
NodeRule AcceptNodes(const std::string& rule, const LoadOptions& options = {}) {
  Config config = Accept("domain: d.com\nresources: [{name: r, devices: [" + rule + "]}]", options);
  return config.resources.empty() ? NodeRule{} : config.resources[0].devices[0].members[0].nodes;
}

TEST(Config, ReadsPathsAndVirtualDevices) {
  Config config = Accept(R"(
domain: example.com
resources:
  - name: serial
    devices:
      - path: /dev/serial/by-id/*
        mountPath: /dev/serial/
      - {path: /dev/ttyS0, permissions: rwm}
  - name: other.org/dongle
    devices: [{virtual: {count: 4}}]
)");
  ASSERT_EQ(2, config.resources.size());
  EXPECT_EQ("example.com/serial", config.resources[0].name.text());
  EXPECT_EQ((Mark{4, 5}), config.resources[0].mark);
  ASSERT_EQ(2, config.resources[0].devices.size());
  const auto& by_id = std::get<PathRule>(config.resources[0].devices[0].members[0].source);
  EXPECT_TRUE(by_id.path.Matches("/dev/serial/by-id/usb-x"));
  EXPECT_EQ("/dev/serial/by-id/*", by_id.pattern);
  const NodeRule& nodes = config.resources[0].devices[0].members[0].nodes;
  EXPECT_THAT(nodes.mount_paths, ElementsAre("/dev/serial/"));
  EXPECT_EQ("rw", nodes.permissions);
  EXPECT_EQ((Mark{8, 9}), config.resources[0].devices[1].mark);
  EXPECT_EQ("rwm", config.resources[0].devices[1].members[0].nodes.permissions);
  EXPECT_EQ("other.org/dongle", config.resources[1].name.text());
  EXPECT_EQ(4, std::get<VirtualRule>(config.resources[1].devices[0].members[0].source).count);
}

TEST(Config, ReadsJsonByteOrderMarksAndCrlf) {
  std::string json =
      R"({"domain": "d.com", "resources": [{"name": "r", "devices": [{"path": "/dev/fuse"}]}]})";
  EXPECT_EQ("d.com/r", Accept(json).resources[0].name.text());
  std::string crlf =
      "\xEF\xBB\xBF"
      "domain: d.com\r\nresources:\r\n- name: r\r\n  devices:\r\n  - path: /dev/fuse\r\n";
  EXPECT_EQ("/dev/fuse", std::get<PathRule>(Accept(crlf).resources[0].devices[0].members[0].source)
                             .path.LiteralPrefix());
}

TEST(Config, FollowsAliases) {
  Config config = Accept(
      "domain: d.com\nresources:\n- {name: a, devices: &all [{virtual: {count: 2}}]}\n"
      "- {name: b, devices: *all}\n");
  EXPECT_EQ(2, std::get<VirtualRule>(config.resources[1].devices[0].members[0].source).count);
}

TEST(Config, ALiteralPathMayHaveAMountPathOfItsOwn) {
  EXPECT_THAT(AcceptNodes("{path: /dev/fuse, mountPath: /dev/a*b}").mount_paths,
              ElementsAre("/dev/a*b"));
  EXPECT_THAT(AcceptNodes("{path: /dev/fuse, mountPath: /run/x/}").mount_paths,
              ElementsAre("/run/x/"));
}

TEST(Config, PatternsMayCoverAllOfDev) {
  EXPECT_TRUE(AcceptRule<PathRule>("{path: /dev/*}").path.Matches("/dev/fuse"));
}

TEST(Config, AllowPathOpensOtherDirectories) {
  EXPECT_EQ("/run/dev",
            AcceptRule<PathRule>("{path: /run/dev/*}", {{"/run/dev"}}).path.LiteralPrefix());
}

TEST(Config, UnsafeTakesTheRuleAndTheCommandLineTogether) {
  EXPECT_TRUE(AcceptNodes("{path: /dev/mem, unsafe: true}", {{"/dev/mem"}}).unsafe);
  EXPECT_TRUE(AcceptNodes("{path: /dev/disk/by-id/*, unsafe: true}", {{"/dev/disk"}}).unsafe);
  EXPECT_FALSE(AcceptNodes("{path: /dev/fuse, unsafe: false}").unsafe);
}

TEST(Config, TheLargestVirtualCountIsAccepted) {
  EXPECT_EQ(kMaxVirtualDevices, AcceptRule<VirtualRule>("{virtual: {count: 100000}}").count);
}

TEST(Config, TenFaultsAreReportedAsTenWithTheirPlaces) {
  ConfigOutcome outcome = Load(R"(domain: Example.com
resource: []
resources:
  - name: serial
    devices:
      - path: dev/ttyS0
      - path: /dev/tty[0-9
        permissions: xyz
      - virtual: {count: 0}
  - name: serial
    devices:
      - {path: /dev/fuse, virtual: {count: 1}}
      - gpu: {vendor: 0451}
  - name: empty
    devices: []
)",
                               "f.yaml");
  EXPECT_FALSE(outcome.config);
  EXPECT_THAT(
      outcome.errors,
      ElementsAre(
          "f.yaml:1:9: domain \"Example.com\": no DNS name; write lower-case letters, digits and "
          "\"-\" in labels joined by \".\", as in example.com",
          "f.yaml:2:1: unknown key \"resource\"; did you mean \"resources\"? known here: domain, "
          "resources",
          "f.yaml:6:15: path \"dev/ttyS0\": not an absolute path; begin it with \"/\"",
          "f.yaml:7:15: path \"/dev/tty[0-9\": character 9: \"[\" is never closed; write \"\\[\" "
          "for the character itself",
          "f.yaml:8:22: permissions \"xyz\"; write one or more of \"r\" (read), \"w\" (write) and "
          "\"m\" (mknod), each once",
          "f.yaml:9:26: count \"0\"; write a number from 1 to 100000, without quotes",
          "f.yaml:10:11: resource example.com/serial exists already, in line 4; put all its "
          "devices under one name",
          "f.yaml:12:27: \"path\" and \"virtual\" in one rule; make two rules of them, each with "
          "\"- \"",
          "f.yaml:13:9: unknown key \"gpu\"; known here: path, usb, pci, sysfs, virtual, command, "
          "all, "
          "nodes, mountPath, permissions, type, readOnly, shared, unsafe",
          "f.yaml:15:14: \"devices\" must be a list with at least one item, this is an empty list; "
          "begin each item with \"- \""));
}

TEST(Config, AnInvalidAllowPathIsAnErrorOfTheCommandLine) {
  EXPECT_THAT(Load("", "f.yaml", {{"dev"}}).errors,
              ElementsAre("--allow-path dev: not an absolute path; begin it with \"/\""));
}

// spec/generic-devices.md §5, input 9.
TEST(Config, UsbIdsAreHexTextAndNeverAnotherNumber) {
  for (const auto& [written, means] :
       std::initializer_list<std::pair<const char*, const char*>>{{"0451", "0451"},
                                                                  {"2838", "2838"},
                                                                  {"1209", "1209"},
                                                                  {"1e04", "1e04"},
                                                                  {"089A", "089a"},
                                                                  {"\"0x1209\"", "1209"},
                                                                  {"0x1209", "1209"}}) {
    const std::string text(written);
    EXPECT_EQ(means, AcceptRule<UsbRule>("{usb: {vendor: " + text + "}}").any_of[0].vendor);
    // As JSON a number cannot begin with 0 or x: those stand in quotes there.
    const std::string quoted = text.starts_with('"') ? text : "\"" + text + "\"";
    EXPECT_EQ(means,
              AcceptRule<UsbRule>("{\"usb\": {\"vendor\": " + quoted + "}}").any_of[0].vendor);
  }
  EXPECT_EQ("2838", AcceptRule<UsbRule>("{\"usb\": {\"vendor\": 2838}}").any_of[0].vendor);
}

TEST(Config, ReadsSelectorsOfEveryKind) {
  const auto usb = AcceptRule<UsbRule>(
      "{usb: [{vendor: 1a6e, product: 089a}, {vendor: 18d1, product: 9302, serial: 'A*', port: "
      "1-1.4, class: 'ff', interface: '00'}], nodes: [tty, hidraw]}");
  ASSERT_EQ(2U, usb.any_of.size());
  EXPECT_EQ((UsbMatch{"18d1", "9302", "A*", "1-1.4", "ff", "00"}), usb.any_of[1]);
  EXPECT_THAT(usb.subsystems, ElementsAre("tty", "hidraw"));
  const auto pci = AcceptRule<PciRule>(
      "{pci: {vendor: 0x15b3, device: '1018', class: '0200', driver: vfio-pci, address: '3b:00.1', "
      "virtual: true, of: '0000:3b:00.0'}, nodes: vfio}");
  EXPECT_EQ((PciMatch{"15b3", "1018", "0000:3b:00.1", "vfio-pci", "0200", "0000:3b:00.0", true}),
            pci.any_of[0]);
  EXPECT_TRUE(pci.vfio);
  EXPECT_TRUE(pci.subsystems.empty());
  const auto sysfs = AcceptRule<SysfsRule>(
      "{sysfs: {subsystem: input, name: 'event*', attributes: {device/name: 'A *'}, together: "
      "true}}");
  EXPECT_EQ((SysfsRule{"input", "event*", {{"device/name", "A *"}}, true}), sysfs);
  const auto counter = AcceptRule<VirtualRule>(
      "{virtual: {count: 2, env: {LICENCE: full}, annotations: {example.com/k: v}}}");
  EXPECT_EQ((VirtualRule{2, {{"LICENCE", "full"}}, {{"example.com/k", "v"}}}), counter);
}

TEST(Config, CdiIsTrueFalseOrOnlyAndNeedsNamesThatItTakes) {
  auto cdi = [](const std::string& value) {
    return Accept("domain: d.com\nresources: [{name: serial, cdi: " + value +
                  ", devices: [{path: /dev/a}]}]")
        .resources[0]
        .cdi;
  };
  EXPECT_EQ(Cdi::kAlso, cdi("true"));
  EXPECT_EQ(Cdi::kOnly, cdi("only"));
  EXPECT_EQ(Cdi::kNo, cdi("false"));
  auto errors = [](const std::string& name, const std::string& value) {
    return Load("domain: d.com\nresources: [{name: " + name + ", cdi: " + value +
                    ", devices: [{path: /dev/a}]}]",
                "f")
        .errors;
  };
  EXPECT_THAT(errors("serial", "maybe"),
              ElementsAre("f:2:33: cdi \"maybe\"; write true, false or only"));
  for (const char* name : {"s", "3d", "3com.com/serial"})
    EXPECT_THAT(errors(name, "only"), ElementsAre(testing::HasSubstr("begin with a letter")))
        << name;
}

TEST(Config, ReadsGroupsSharingAndAliases) {
  Config config = Accept(R"(
domain: d.com
resources:
  - name: capture
    share: 10
    devices:
      - all:
          - {path: /dev/snd/pcm*}
          - {path: /dev/snd/timer, limit: 4, shared: true}
          - {path: /dev/snd/seq, optional: true, mountPath: [/dev/a, /dev/b/]}
  - name: other
    devices: [{path: /dev/snd/timer, shared: true}, {path: /dev/shm, type: mount, readOnly: true}]
)");
  ASSERT_EQ(2U, config.resources.size());
  EXPECT_EQ(10, config.resources[0].share);
  const DeviceRule& group = config.resources[0].devices[0];
  EXPECT_TRUE(group.group);
  ASSERT_EQ(3U, group.members.size());
  EXPECT_EQ(4, group.members[1].limit);
  EXPECT_TRUE(group.members[1].nodes.shared);
  EXPECT_TRUE(group.members[2].optional);
  EXPECT_THAT(group.members[2].nodes.mount_paths, ElementsAre("/dev/a", "/dev/b/"));
  const NodeRule& mount = config.resources[1].devices[1].members[0].nodes;
  EXPECT_TRUE(mount.mount && mount.read_only);
}

TEST(Config, SelectorsFindBlockDevicesOnlyWhereTheCommandLineLetsThem) {
  const std::string rule = "{usb: {vendor: '0951'}, nodes: [block], unsafe: true}";
  EXPECT_TRUE(AcceptNodes(rule, {{"/dev/block"}}).unsafe);
  EXPECT_THAT(Load("domain: d.com\nresources: [{name: r, devices: [" + rule + "]}]", "f").errors,
              ElementsAre("f:2:73: a selector that may find block devices must be allowed; start "
                          "tenond with --allow-path /dev/block"));
}

TEST(Config, AnOpenCheckNamesSubsystems) {
  const Config config = Accept(
      "domain: d.com\nresources:\n"
      "  - {name: a, devices: [{path: /dev/a}], openCheck: {subsystems: [tty, usb], every: 5}}\n"
      "  - {name: b, devices: [{path: /dev/b}], openCheck: {subsystems: drm}}\n"
      "  - {name: c, devices: [{path: /dev/c}]}\n");
  ASSERT_EQ(3U, config.resources.size());
  EXPECT_EQ((OpenCheck{{"tty", "usb"}, 5}), config.resources[0].open_check);
  EXPECT_EQ((OpenCheck{{"drm"}, 60}), config.resources[1].open_check);
  EXPECT_FALSE(config.resources[2].open_check);
}

class ConfigFileTest : public ::testing::Test {
 protected:
  ConfigFileTest() {
    std::string pattern = ::testing::TempDir() + "tenon-config-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) ADD_FAILURE() << "mkdtemp " << pattern;
    directory_ = pattern;
  }
  ~ConfigFileTest() override { std::filesystem::remove_all(directory_); }

  std::string Write(const std::string& name, std::string_view text) {
    std::string path = directory_ + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  std::string directory_;
};

TEST_F(ConfigFileTest, ReadsAFileThroughASymlink) {
  Write("real", "domain: d.com\nresources: [{name: r, devices: [{path: /dev/fuse}]}]\n");
  std::filesystem::create_symlink("real", directory_ + "/link");
  EXPECT_TRUE(LoadPaths({directory_ + "/link"}).config);
}

TEST_F(ConfigFileTest, NamesTheFileInErrors) {
  std::string path = Write("bad.yaml", "domain: d.com\nresources: 4\n");
  EXPECT_THAT(LoadPaths({path}).errors,
              ElementsAre(path + ":2:12: \"resources\" must be a list with at least one item, this "
                                 "is a number; begin each item with \"- \""));
}

TEST_F(ConfigFileTest, RefusesWhatIsNoTextFile) {
  std::string missing = directory_ + "/none";
  EXPECT_THAT(LoadPaths({missing}).errors,
              ElementsAre("open " + missing + ": No such file or directory"));
  std::string fifo = directory_ + "/fifo";
  ASSERT_EQ(0, ::mkfifo(fifo.c_str(), 0600));
  EXPECT_THAT(LoadPaths({fifo}).errors,
              ElementsAre(fifo + ": not a regular file; name a text file"));
  std::string binary = Write("binary", std::string_view("\x7f"
                                                        "ELF\2\1\1\0",
                                                        8));
  EXPECT_THAT(LoadPaths({binary}).errors,
              ElementsAre(binary + ":1:5: control character 0x02; this does not look like text"));
  std::string large = Write("large", std::string(kMaxFileBytes + 1, '#'));
  EXPECT_THAT(LoadPaths({large}).errors,
              ElementsAre(large + ": more than 1048576 bytes; a configuration is smaller"));
  EXPECT_THAT(LoadPaths({Write("empty", "")}).errors,
              ElementsAre(directory_ + "/empty:1:1: empty; begin it with \"domain: example.com\" "
                                       "and \"resources:\""));
}

/// A resource of this name, made of this path.
std::string OneResource(const std::string& name, const std::string& path) {
  return "domain: d.com\nresources:\n  - name: " + name + "\n    devices: [{path: " + path + "}]\n";
}

std::vector<std::string> Names(const ConfigOutcome& outcome) {
  std::vector<std::string> names;
  if (outcome.config)
    for (const ResourceConfig& resource : outcome.config->resources)
      names.push_back(resource.name.text());
  return names;
}

TEST_F(ConfigFileTest, ADirectoryIsItsFilesInTheOrderOfTheirBytes) {
  Write("b.yaml", OneResource("b", "/dev/b"));
  Write("a.yml", OneResource("a", "/dev/a"));
  Write("Z.json",
        R"({"domain": "d.com", "resources": [{"name": "z", "devices": [{"path": "/dev/z"}]}]})");
  Write("README", "no configuration");
  Write(".b.yaml.swp", "no configuration");
  Write(".hidden.yaml", "no configuration");
  std::filesystem::create_directory(directory_ + "/old.yaml");

  const ConfigOutcome outcome = LoadPaths({directory_});

  EXPECT_THAT(outcome.errors, ElementsAre());
  EXPECT_THAT(Names(outcome), ElementsAre("d.com/z", "d.com/a", "d.com/b"));
  EXPECT_EQ(directory_ + "/b.yaml", outcome.config->resources.back().file);
}

TEST_F(ConfigFileTest, AMountedConfigMapIsReadOnce) {
  std::filesystem::create_directory(directory_ + "/..2026");
  Write("..2026/serial.yaml", OneResource("serial", "/dev/a"));
  std::filesystem::create_symlink("..2026", directory_ + "/..data");
  std::filesystem::create_symlink("..data/serial.yaml", directory_ + "/serial.yaml");

  EXPECT_THAT(Names(LoadPaths({directory_})), ElementsAre("d.com/serial"));
}

TEST_F(ConfigFileTest, FilesComeInTheOrderOfTheCommandLineEachWithItsDomain) {
  const std::string b = Write("b", OneResource("x", "/dev/b"));
  const std::string a =
      Write("a", "domain: other.org\nresources: [{name: x, devices: [{path: /dev/a}]}]\n");

  EXPECT_THAT(Names(LoadPaths({b, a})), ElementsAre("d.com/x", "other.org/x"));
  EXPECT_THAT(LoadPaths({a, b, a}).errors, ElementsAre(a + ": named twice; leave one of them out"));
}

TEST_F(ConfigFileTest, WhatTwoFilesOfferIsAnErrorThatNamesBothPlaces) {
  const std::string a = Write("a.yaml", OneResource("x", "/dev/a"));
  const std::string b = Write("b.yaml", OneResource("x", "/dev/a"));

  EXPECT_THAT(LoadPaths({directory_}).errors,
              ElementsAre(b + ":3:11: resource d.com/x exists already, in " + a +
                              ":3:11; put all its devices under one name",
                          b + ":4:22: path \"/dev/a\" is offered already, in " + a +
                              ":4:22; give each device node to one rule only, or let both say "
                              "\"shared: true\""));
}

TEST_F(ConfigFileTest, ErrorsOfAllFilesAreReportedAtOnce) {
  const std::string a = Write("a.yaml", "domain: d.com\n");
  const std::string b = Write("b.yaml", "\t");
  const std::string c = Write("c.yaml", OneResource("c", "dev"));
  const std::string good = Write("d.yaml", OneResource("good", "/dev/d"));
  const std::string missing = directory_ + "/none";

  const ConfigOutcome outcome = LoadPaths({missing, directory_});

  EXPECT_FALSE(outcome.config);
  EXPECT_THAT(outcome.errors,
              ElementsAre("open " + missing + ": No such file or directory",
                          ::testing::StartsWith(a + ":1:1: \"resources\" is missing"),
                          ::testing::StartsWith(b + ":1:1: "),
                          ::testing::StartsWith(c + ":4:22: path \"dev\"")));
}

TEST_F(ConfigFileTest, ADirectoryWithoutFilesAndOneWithTooManyAreErrors) {
  Write("README", "");
  EXPECT_THAT(LoadPaths({directory_}).errors,
              ElementsAre(directory_ + ": a directory without files that end in .yaml, .yml or "
                                       ".json; put the configuration into one"));
  for (size_t i = 0; i <= kMaxFiles; ++i)
    Write(std::to_string(i) + ".yaml", "");
  EXPECT_THAT(LoadPaths({directory_}).errors,
              ElementsAre(directory_ + ": 257 files; make it at most 256, one file holds any "
                                       "number of resources"));
}

TEST_F(ConfigFileTest, ALinkToNothingInADirectoryIsAnError) {
  std::filesystem::create_symlink("..data/x", directory_ + "/x.yaml");
  EXPECT_THAT(LoadPaths({directory_}).errors,
              ElementsAre("open " + directory_ + "/x.yaml: No such file or directory"));
}

}  // namespace
}  // namespace tenon::config
