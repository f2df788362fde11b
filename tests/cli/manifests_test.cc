#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli_fixture.h"
#include "value/value.h"

namespace tenon::cli_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr std::string_view kConfig =
    "# how it was written stays as it was\n"
    "domain: example.com\n"
    "\n"
    "resources:\n"
    "  - {name: fuse, devices: [{path: /dev/fuse}]}   # trailing spaces:   \n"
    "\n\n";

std::string ReadFile(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

struct ManifestsTest : CliTest {
  /// What the command prints, which must be YAML.
  std::vector<Value> Printed(const std::string& config, std::vector<std::string> more = {}) {
    std::vector<std::string> args = {"manifests", "--config", WriteFile("config.yaml", config)};
    args.insert(args.end(), more.begin(), more.end());
    const Outcome outcome = Run(args);
    EXPECT_EQ("", outcome.errors);
    auto documents = ParseYaml(outcome.out, "printed");
    EXPECT_TRUE(documents) << outcome.out;
    EXPECT_THAT(*documents, SizeIs(3)) << outcome.out;
    return *documents;
  }
};

TEST_F(ManifestsTest, AreThoseOfTheKustomizeBase) {
  const std::vector<Value> printed =
      Printed(std::string(kConfig), {"--image", "tenond", "--namespace", "tenon"});

  const std::string base = TENON_SOURCE_DIR "/deploy/kubernetes/base/";
  auto namespace_file = ParseYaml(ReadFile(base + "namespace.yaml"), "namespace.yaml");
  EXPECT_EQ(ToJson(namespace_file->at(0)), ToJson(printed[0]));
  std::string daemon_set = ReadFile(base + "daemonset.yaml");
  const std::string name = "  name: tenond\n";
  daemon_set.insert(daemon_set.find(name) + name.size(), "  namespace: \"tenon\"\n");
  EXPECT_EQ(ToJson(ParseYaml(daemon_set, "daemonset.yaml")->at(0)), ToJson(printed[2]));
}

TEST_F(ManifestsTest, KeepTheConfigurationToTheByte) {
  EXPECT_EQ(kConfig, *Printed(std::string(kConfig))[1].At({"data", "config.yaml"})->AsString());
  const std::string_view bare =
      "domain: a.example\nresources: [{name: x, devices: [{path: /dev/x}]}]";
  EXPECT_EQ(bare, *Printed(std::string(bare))[1].At({"data", "config.yaml"})->AsString());
}

TEST_F(ManifestsTest, SeveralFilesAreOneConfigMap) {
  const std::string serial = WriteFile(
      "serial.yaml",
      "domain: example.com\nresources: [{name: serial, devices: [{path: /dev/ttyS0}]}]\n");

  const std::vector<Value> printed = Printed(std::string(kConfig), {"--config", serial});

  EXPECT_EQ(kConfig, *printed[1].At({"data", "config.yaml"})->AsString());
  EXPECT_EQ(ReadFile(serial), *printed[1].At({"data", "serial.yaml"})->AsString());
}

TEST_F(ManifestsTest, TwoFilesOfOneNameCannotBeOneConfigMap) {
  std::filesystem::create_directory(directory + "/more");
  const std::string one = WriteFile("config.yaml", std::string(kConfig));
  const std::string two = WriteFile(
      "more/config.yaml", "domain: a.example\nresources: [{name: x, devices: [{path: /dev/x}]}]\n");

  const Outcome outcome = Run({"manifests", "--config", one, "--config", two});

  EXPECT_EQ(1, outcome.code);
  EXPECT_EQ("", outcome.out);
  EXPECT_THAT(outcome.errors, HasSubstr(two + ": a file named config.yaml is there already"));
}

TEST_F(ManifestsTest, ANameThatNoConfigMapTakesIsRefused) {
  const std::string file = WriteFile("my config.yaml", std::string(kConfig));

  const Outcome outcome = Run({"manifests", "--config", file});

  EXPECT_EQ(1, outcome.code);
  EXPECT_EQ("", outcome.out);
  EXPECT_THAT(outcome.errors, HasSubstr(file + ": a ConfigMap's file has a name of"));
}

TEST_F(ManifestsTest, SayWhatTheOptionsAskFor) {
  const std::vector<Value> printed = Printed(
      "domain: example.com\n"
      "resources:\n"
      "  - {name: camera, cdi: true, devices: [{path: /dev/x}]}\n"
      "  - {name: socket, devices: [{path: /srv/lab/socket, type: mount}]}\n",
      {"--image", "registry.example.com/lab/tenond:7", "--namespace", "lab", "--kubelet-dir",
       "/var/snap/kubelet", "--allow-path", "/srv/lab", "--surge", "--selinux"});

  EXPECT_EQ("lab", *printed[0].At({"metadata", "name"})->AsString());
  EXPECT_EQ("lab", *printed[1].At({"metadata", "namespace"})->AsString());
  const std::string daemon_set = ToJson(printed[2]);
  for (const char* part :
       {R"("namespace":"lab")", R"("image":"registry.example.com/lab/tenond:7")",
        R"("args":["--config=/etc/tenon","--root=/host","--allow-path=/srv/lab"])",
        R"("hostPath":{"path":"/var/snap/kubelet/device-plugins","type":"Directory"})",
        R"("hostPath":{"path":"/var/snap/kubelet/pod-resources","type":"DirectoryOrCreate"})",
        R"({"name":"allowed-0","mountPath":"/host/srv/lab","readOnly":true})",
        R"({"name":"allowed-0","hostPath":{"path":"/srv/lab","type":"Directory"}})",
        R"({"name":"cdi","mountPath":"/var/run/cdi"})",
        R"({"name":"cdi","hostPath":{"path":"/var/run/cdi","type":"DirectoryOrCreate"}})",
        R"("rollingUpdate":{"maxSurge":1,"maxUnavailable":0})", R"({"name":"run","emptyDir":{}})",
        R"("seLinuxOptions":{"type":"spc_t"})"})
    EXPECT_THAT(daemon_set, HasSubstr(part));
}

TEST_F(ManifestsTest, OnlyAnOpenCheckMakesThePodPrivileged) {
  EXPECT_THAT(ToJson(Printed(std::string(kConfig))[2]), Not(HasSubstr("privileged")));
  EXPECT_THAT(ToJson(Printed("domain: example.com\n"
                             "resources:\n"
                             "  - name: camera\n"
                             "    openCheck: {subsystems: [video4linux]}\n"
                             "    devices: [{path: /dev/video0}]\n")[2]),
              HasSubstr(R"("privileged":true,"allowPrivilegeEscalation":true)"));
}

TEST_F(ManifestsTest, AWrongConfigurationIsNotInstalled) {
  const std::string bad = WriteFile("bad.yaml", "domain: example.com\nresources: [{nam: x}]\n");

  const Outcome outcome = Run({"manifests", "--config", bad});

  EXPECT_EQ(1, outcome.code);
  EXPECT_EQ("", outcome.out);
  EXPECT_THAT(outcome.errors, HasSubstr(bad + ":2:14: unknown key \"nam\""));
}

TEST_F(ManifestsTest, NamesThatAnApiServerWouldRefuseAreRefusedHere) {
  const std::string good = WriteFile("good.yaml", std::string(kConfig));
  const auto refusal = [&](const std::string& option, const std::string& value) {
    const Outcome outcome = Run({"manifests", "--config", good, option, value});
    EXPECT_EQ(2, outcome.code);
    EXPECT_EQ("", outcome.out);
    return outcome.errors;
  };

  EXPECT_THAT(refusal("--namespace", "Lab"), HasSubstr("--namespace Lab: must be lower-case"));
  EXPECT_THAT(refusal("--namespace", "a-"), HasSubstr("--namespace a-"));
  EXPECT_THAT(refusal("--kubelet-dir", "kubelet"), HasSubstr("must be an absolute path"));
  EXPECT_THAT(refusal("--allow-path", "srv"), HasSubstr("must be an absolute path"));
  EXPECT_THAT(refusal("--image", ""), HasSubstr("--image: is empty"));
}

}  // namespace
}  // namespace tenon::cli_test
