#include "runtime/oci_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <map>

#include "host/temp_tree.h"

namespace tenon::runtime {
namespace {

using host::FileKind;
using host::FileStat;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A machine, or an image, that is nothing but a table of files.
class TableHost final : public host::Host {
 public:
  explicit TableHost(std::map<std::string, FileStat> files) : files_(std::move(files)) {}

  Result<FileStat> Stat(const std::string& path) override {
    const auto found = files_.find(path);
    if (found == files_.end()) return Missing(path);
    return found->second;
  }
  Result<FileStat> StatLink(const std::string& path) override { return Stat(path); }
  Result<std::string> RealPath(const std::string& path) override { return path; }
  Result<std::vector<std::string>> List(const std::string& path) override { return Missing(path); }
  Result<std::string> Read(const std::string& path, size_t) override { return Missing(path); }
  std::string HostPath(const std::string& path) const override { return path; }

 private:
  static Error Missing(const std::string& path) {
    return {Code::kNotFound, "stat " + path + ": No such file or directory"};
  }
  const std::map<std::string, FileStat> files_;
};

FileStat Directory() {
  return {.kind = FileKind::kDirectory};
}

std::vector<std::string> Texts(const Value* array) {
  std::vector<std::string> out;
  for (const Value& item : array->items())
    out.push_back(item.text());
  return out;
}

struct OciConfigTest : ::testing::Test {
  TableHost machine{{
      {"/dev/ttyUSB0",
       {.kind = FileKind::kCharacterDevice,
        .major = 188,
        .minor = 0,
        .mode = 0660,
        .uid = 0,
        .gid = 20}},
      {"/dev/sdb", {.kind = FileKind::kBlockDevice, .major = 8, .minor = 16, .mode = 0600}},
      {"/dev/shm", Directory()},
      {"/opt/lib", Directory()},
  }};
  TableHost image{{{"/proc", Directory()},
                   {"/dev", Directory()},
                   {"/sys", Directory()},
                   {"/tmp", Directory()},
                   {"/run", Directory()},
                   {"/usr/lib", Directory()}}};
  pod::Container container{.name = "main", .image = "busybox", .command = {"/bin/true"}};
  ContainerAllocation allocation;
  OciOptions options{
      .rootfs = "/images/busybox", .cgroups_path = "/tenon/uid/main", .hostname = "camera"};

  Value Build() {
    auto config = BuildOciConfig(container, allocation, options, machine, image);
    EXPECT_TRUE(config) << config.error().message();
    return config ? *std::move(config) : Value::Object();
  }
  std::string BuildError() {
    const auto config = BuildOciConfig(container, allocation, options, machine, image);
    return config ? "" : config.error().message();
  }
};

TEST_F(OciConfigTest, TheRootIsReadOnlyAndTheContainerAlone) {
  const Value config = Build();

  EXPECT_EQ(ToJson(*config.Find("root")), R"({"path":"/images/busybox","readonly":true})");
  EXPECT_EQ(ToJson(*config.At({"linux", "namespaces"})),
            R"([{"type":"pid"},{"type":"ipc"},{"type":"uts"},{"type":"mount"},)"
            R"({"type":"network"}])");
  EXPECT_EQ(config.At({"process", "noNewPrivileges"})->AsBool(), true);
  EXPECT_EQ(config.At({"process", "rlimits"}), nullptr);
  EXPECT_EQ(config.At({"process", "oomScoreAdj"}), nullptr);
  EXPECT_EQ(config.At({"linux", "cgroupsPath"})->text(), "/tenon/uid/main");
  EXPECT_EQ(config.Find("hostname")->text(), "camera");
}

TEST_F(OciConfigTest, AllDevicesAreDeniedButThoseOfTheAllocation) {
  allocation.device_nodes = {{"/dev/serial", "/dev/ttyUSB0", "rw"}, {"/dev/disk", "/dev/sdb", "r"}};

  const Value config = Build();

  EXPECT_EQ(ToJson(*config.At({"linux", "resources", "devices"})),
            R"([{"allow":false,"access":"rwm"},)"
            R"({"allow":true,"type":"c","major":188,"minor":0,"access":"rw"},)"
            R"({"allow":true,"type":"b","major":8,"minor":16,"access":"r"}])");
  EXPECT_EQ(ToJson(*config.At({"linux", "devices"})),
            R"([{"path":"/dev/serial","type":"c","major":188,"minor":0,"fileMode":432,)"
            R"("uid":0,"gid":20},)"
            R"({"path":"/dev/disk","type":"b","major":8,"minor":16,"fileMode":384,)"
            R"("uid":0,"gid":0}])");
}

TEST_F(OciConfigTest, WithoutAnAllocationNoDeviceIsAllowed) {
  EXPECT_EQ(ToJson(*Build().At({"linux", "resources", "devices"})),
            R"([{"allow":false,"access":"rwm"}])");
}

TEST_F(OciConfigTest, ADeviceNodeThatIsMissingOrNoneIsAnError) {
  allocation.device_nodes = {{"/dev/x", "/dev/gone", "rw"}};
  EXPECT_EQ(BuildError(), "device node at \"/dev/x\": stat /dev/gone: No such file or directory");

  allocation.device_nodes = {{"/dev/x", "/dev/shm", "rw"}};
  EXPECT_EQ(BuildError(), "device node at \"/dev/x\": /dev/shm is a directory, not a device node");
}

TEST_F(OciConfigTest, DeviceNodesGoBelowDevOnly) {
  for (const char* path : {"/opt/x", "/dev", "/device", "dev/x", "/dev/../etc/x", "/dev//x", ""}) {
    allocation.device_nodes = {{path, "/dev/ttyUSB0", "rw"}};
    EXPECT_THAT(BuildError(), HasSubstr("must be below /dev")) << path;
  }
}

TEST_F(OciConfigTest, PermissionsMustBeThoseOfTheDeviceCgroup) {
  for (const char* permissions : {"", "x", "rwx", "r,w"}) {
    allocation.device_nodes = {{"/dev/x", "/dev/ttyUSB0", permissions}};
    EXPECT_THAT(BuildError(), HasSubstr("must be of r, w and m")) << permissions;
  }
}

TEST_F(OciConfigTest, ThePodsVariablesComeAfterThePluginsAndWin) {
  allocation.env = {{"B", "plugin"}, {"A", "plugin"}};
  container.env = {{"B", "pod"}, {"C", "$(B)-$(A)"}, {"B", "last"}};

  EXPECT_THAT(
      Texts(Build().At({"process", "env"})),
      ElementsAre(HasSubstr("PATH=/"), "HOSTNAME=camera", "A=plugin", "C=pod-$(A)", "B=last"));
}

TEST_F(OciConfigTest, CommandAndArgsAreOneLineWithVariablesReplaced) {
  container.command = {"/bin/sh", "-c"};
  container.args = {"echo $(X) $$(X) $(PLUGIN) $(Y)"};
  container.env = {{"X", "1"}, {"Y", "$(X)2"}};
  allocation.env = {{"PLUGIN", "given"}};
  container.working_dir = "/tmp";

  const Value config = Build();

  EXPECT_THAT(Texts(config.At({"process", "args"})),
              ElementsAre("/bin/sh", "-c", "echo 1 $(X) given 12"));
  EXPECT_EQ(config.At({"process", "cwd"})->text(), "/tmp");
}

TEST_F(OciConfigTest, AContainerWithoutACommandIsAnError) {
  container.command.clear();

  EXPECT_THAT(BuildError(), HasSubstr("write command in the manifest"));
}

TEST_F(OciConfigTest, MountsOfTheAllocationFollowTheSystems) {
  allocation.mounts = {{"/usr/lib", "/opt/lib", true}, {"/run/plugin", "/opt/lib", false}};

  const Value config = Build();
  const auto& mounts = config.Find("mounts")->items();

  ASSERT_GE(mounts.size(), 2u);
  EXPECT_EQ(ToJson(mounts[mounts.size() - 2]),
            R"({"destination":"/usr/lib","type":"bind","source":"/opt/lib",)"
            R"("options":["rbind","rprivate","ro"]})");
  EXPECT_EQ(ToJson(mounts.back()),
            R"({"destination":"/run/plugin","type":"bind","source":"/opt/lib",)"
            R"("options":["rbind","rprivate","rw"]})");
}

TEST_F(OciConfigTest, AMountThatCannotBeMadeIsAnErrorThatNamesIt) {
  allocation.mounts = {{"/usr/share", "/opt/lib", true}};
  EXPECT_THAT(BuildError(), AllOf(HasSubstr("the image has no mount point /usr/share"),
                                  HasSubstr("make it in the image's directory")));

  allocation.mounts = {{"/usr/lib", "/opt/gone", true}};
  EXPECT_EQ(BuildError(), "mount at /usr/lib: stat /opt/gone: No such file or directory");

  allocation.mounts = {{"/usr/../etc", "/opt/lib", true}};
  EXPECT_THAT(BuildError(), HasSubstr("must be an absolute path without . and .."));
}

TEST_F(OciConfigTest, AnImageWithoutTheSystemsMountPointsIsAnError) {
  TableHost empty{{}};

  const auto config = BuildOciConfig(container, allocation, options, machine, empty);

  EXPECT_THAT(config.error().message(), HasSubstr("the image has no mount point /proc"));
}

TEST_F(OciConfigTest, AnAnnotationThatRuntimesObeyIsRefusedOthersAreKept) {
  allocation.annotations = {{"vendor.com/note", "x"}};
  EXPECT_EQ(ToJson(*Build().Find("annotations")), R"({"vendor.com/note":"x"})");

  for (const char* name : {"cdi.k8s.io/vendor_gpu", "org.systemd.property.DeviceAllow",
                           "run.oci.hooks.stdout", "io.kubernetes.cri.untrusted-workload"}) {
    allocation.annotations = {{name, "x"}};
    EXPECT_THAT(BuildError(), HasSubstr(std::string("annotation ") + name)) << name;
  }
}

/// With real files, since specs are read from them.
struct CdiConfigTest : OciConfigTest {
  CdiConfigTest() {
    options.cdi_directories = {"/etc/cdi"};
    tree.Directory("/opt/lib");
    Allow("/etc");
  }
  void Allow(const std::string& path) { ::chmod(tree.Real(path).c_str(), 0755); }
  void Spec(const std::string& edits) {
    tree.File("/etc/cdi/v.yaml",
              "cdiVersion: 0.6.0\nkind: v.com/c\ndevices: [{name: a, containerEdits: {" + edits +
                  "}}]\n");
    Allow("/etc/cdi");
    Allow("/etc/cdi/v.yaml");
    allocation.cdi_devices = {"v.com/c=a"};
  }
  Result<Value> BuildCdi() { return BuildOciConfig(container, allocation, options, *real, image); }

  host::TempTree tree;
  std::unique_ptr<host::PosixHost> real = *host::PosixHost::Open(tree.root());
};

TEST_F(CdiConfigTest, ACdiDeviceGivesWhatItsSpecSays) {
  Spec(
      "env: [GPU=0, A=spec], additionalGids: [44],"
      "deviceNodes: [{path: /dev/gpu0, type: c, major: 195, minor: 0, permissions: rw}],"
      "mounts: [{hostPath: /opt/lib, containerPath: /usr/lib, options: [ro]},"
      "         {hostPath: tmpfs, containerPath: /run/x, type: tmpfs}],"
      "hooks: [{hookName: createContainer, path: /bin/hook, args: [hook, x], timeout: 3}]");
  container.env = {{"A", "pod"}};

  auto config = BuildCdi();

  ASSERT_TRUE(config) << config.error().message();
  EXPECT_THAT(Texts(config->At({"process", "env"})),
              ElementsAre(HasSubstr("PATH"), HasSubstr("HOSTNAME"), "GPU=0", "A=spec"));
  EXPECT_EQ(ToJson(*config->At({"process", "user"})), R"({"uid":0,"gid":0,"additionalGids":[44]})");
  EXPECT_EQ(ToJson(config->At({"linux", "resources", "devices"})->items()[1]),
            R"({"allow":true,"type":"c","major":195,"minor":0,"access":"rw"})");
  EXPECT_EQ(
      ToJson(config->At({"linux", "devices"})->items()[0]),
      R"({"path":"/dev/gpu0","type":"c","major":195,"minor":0,"fileMode":432,"uid":0,"gid":0})");
  const auto& mounts = config->Find("mounts")->items();
  EXPECT_EQ(ToJson(mounts[mounts.size() - 2]),
            R"({"destination":"/usr/lib","type":"bind","source":"/opt/lib",)"
            R"("options":["ro","rbind"]})");
  EXPECT_EQ(ToJson(mounts.back()),
            R"({"destination":"/run/x","type":"tmpfs","source":"tmpfs","options":[]})");
  EXPECT_EQ(
      ToJson(*config->Find("hooks")),
      R"({"createContainer":[{"path":"/bin/hook","args":["hook","x"],"env":[],"timeout":3}]})");
}

TEST_F(CdiConfigTest, APluginsDeviceNodeComesBeforeTheSpecs) {
  Spec("deviceNodes: [{path: /dev/gpu0, type: c, major: 195, minor: 0}]");
  if (!tree.CharacterDevice("/dev/host-gpu", 195, 7)) GTEST_SKIP() << "needs CAP_MKNOD";
  allocation.device_nodes = {{"/dev/gpu0", "/dev/host-gpu", "r"}};

  auto config = BuildCdi();

  ASSERT_TRUE(config) << config.error().message();
  const auto& devices = config->At({"linux", "devices"})->items();
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(devices[0].Find("minor")->text(), "7");
}

TEST_F(CdiConfigTest, WhatASpecGivesIsCheckedAsAPluginsIs) {
  Spec("deviceNodes: [{path: /etc/passwd}]");
  EXPECT_THAT(BuildCdi().error().message(), HasSubstr("must be below /dev"));
  Spec("deviceNodes: [{path: /dev/gone}]");
  EXPECT_THAT(BuildCdi().error().message(), HasSubstr("device node at \"/dev/gone\": "));
  Spec("mounts: [{hostPath: /opt/lib, containerPath: /srv}]");
  EXPECT_THAT(BuildCdi().error().message(), HasSubstr("the image has no mount point /srv"));
  allocation.cdi_devices = {"v.com/c=b"};
  EXPECT_THAT(BuildCdi().error().message(), HasSubstr("CDI device \"v.com/c=b\": no spec in"));
}

}  // namespace
}  // namespace tenon::runtime
