// The CDI specs that a real tenond writes, and what they are good for.

#include <csignal>
#include <fstream>
#include <optional>
#include <sstream>

#include "cdi/spec_files.h"
#include "checkpoint/checkpoint.h"
#include "spine/spine_fixture.h"
#include "wire/messages.h"

namespace tenon::spine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kNull = "example.com/null";

struct CdiTest : SpineTest {
  CdiTest() { tree.Link("/dev/null", "/dev/null"); }

  /// A rule for dev/null with `cdi`, under another name in the container.
  std::string Rule(const std::string& cdi, const std::string& path = "/dev/null") const {
    return "  - {name: 'null', cdi: " + cdi + ", devices: [{path: " + tree.Real(path) +
           ", mountPath: /dev/box}]}\n";
  }
  void Start(const std::string& resources) {
    WriteConfig(resources);
    tenond.reset();
    kubelet.Start();
    tenond = Tenond();
  }
  std::string IdOf(const std::string& resource) const {
    const FakeKubelet::Plugin* plugin = kubelet.Find(resource);
    return plugin != nullptr && plugin->devices.size() == 1 ? plugin->devices[0].id : "";
  }
  bool IsListedAs(const std::string& health) const {
    const FakeKubelet::Plugin* plugin = kubelet.Find(kNull);
    return plugin != nullptr && plugin->devices.size() == 1 && plugin->devices[0].health == health;
  }
  /// The answer to Allocate, or an error's text in its only annotation "error".
  ContainerAllocation Allocate() {
    std::optional<rpc::Status> status;
    std::vector<ContainerAllocation> allocations;
    kubelet.Allocate(kNull, {api::AllocateRequest{{IdOf(kNull)}}}, [&](rpc::Status s, auto a) {
      status = std::move(s);
      allocations = std::move(a);
    });
    EXPECT_TRUE(RunUntil([&status] { return status.has_value(); }));
    if (allocations.size() == 1) return allocations[0];
    return {.annotations = {{"error", status->message}}};
  }
  void ServePods(std::vector<std::string> ids) {
    std::vector<PodResources> pods;
    if (!ids.empty()) pods.push_back({"box", "default", {{"main", {{kNull, std::move(ids), {}}}}}});
    kubelet.ServePodResources(tree.Real("/pods.sock"), std::move(pods));
  }
  /// Allocates, and kills tenond; the kubelet's checkpoint then says so.
  void GiveAwayAndDie() {
    const checkpoint::Ids ids(std::vector<std::string>{IdOf(kNull)});
    ServePods({IdOf(kNull)});
    checkpoint::Entry entry{.pod_uid = "1234",
                            .container_name = "main",
                            .resource_name = kNull,
                            .device_ids = std::map<int64_t, checkpoint::Ids>{{-1, ids}},
                            .alloc_resp = wire::EncodeContainerAllocation(Allocate())};
    checkpoint::Checkpoint books;
    books.entries = std::vector<checkpoint::Entry>{entry};
    tree.File("/plugins/kubelet_internal_checkpoint", checkpoint::Encode(books));
    Die();
  }
  void Die() {
    tenond->Signal(SIGKILL);
    EXPECT_TRUE(tenond->WaitForExit());
  }
  bool HasSpec() const { return files.Read(kNull).has_value(); }

  const cdi::SpecFiles files{tree.Real("/cdi")};
  std::unique_ptr<TenondProcess> tenond;
};

TEST_F(CdiTest, TheContainerGetsACdiNameBesideItsDeviceNode) {
  Start(Rule("true"));
  ASSERT_TRUE(WaitFor(kNull, 1)) << tenond->log();

  const ContainerAllocation given = Allocate();

  const std::string name = cdi::DeviceName(IdOf(kNull));
  EXPECT_THAT(given.cdi_devices, ElementsAre(std::string(kNull) + "=" + name));
  EXPECT_THAT(given.device_nodes, ElementsAre(DeviceNode{"/dev/box", "/dev/null", "rw"}));
  auto spec = files.Read(kNull);
  ASSERT_TRUE(spec) << spec.error().message();
  EXPECT_THAT(spec->devices.at(name).device_nodes,
              ElementsAre(cdi::DeviceNodeEdit{
                  .path = "/dev/box", .host_path = "/dev/null", .permissions = "rw"}));
}

TEST_F(CdiTest, WithOnlyTheDeviceNodeIsNotSentAndItsPathStillTold) {
  Start(Rule("only"));
  ASSERT_TRUE(WaitFor(kNull, 1)) << tenond->log();

  ContainerAllocation given = Allocate();

  EXPECT_EQ(1U, given.cdi_devices.size());
  EXPECT_THAT(given.device_nodes, IsEmpty());
  EXPECT_EQ("/dev/box", given.env["TENON_EXAMPLE_COM_NULL_PATHS"]);
}

TEST_F(CdiTest, ALinkThatLeadsElsewhereIsInTheSpecBeforeTheContainerStarts) {
  Start(Rule("only"));
  ASSERT_TRUE(WaitFor(kNull, 1)) << tenond->log();
  tree.Remove("/dev/null");
  tree.Link("/dev/null", "/dev/zero");

  const ContainerAllocation given = Allocate();

  ASSERT_EQ(1U, given.cdi_devices.size()) << tenond->log();
  EXPECT_EQ("/dev/zero", files.Read(kNull)->devices.begin()->second.device_nodes.at(0).host_path);
}

TEST_F(CdiTest, AFileThatSomebodyRemovedIsThereAgainWhenItIsNeeded) {
  Start(Rule("only"));
  ASSERT_TRUE(WaitFor(kNull, 1)) << tenond->log();
  std::filesystem::remove(files.PathOf(kNull));

  EXPECT_EQ(1U, Allocate().cdi_devices.size());

  EXPECT_TRUE(HasSpec());
}

TEST_F(CdiTest, WhereASpecCannotBeWrittenOnlyFailsAndTrueDoesWithoutIt) {
  tree.File("/cdi", "a file");
  Start(Rule("only"));
  ASSERT_TRUE(WaitFor(kNull, 1)) << tenond->log();
  EXPECT_THAT(Allocate().annotations["error"],
              HasSubstr("CDI spec: open directory " + tree.Real("/cdi")));

  WriteConfig(Rule("true"));
  ASSERT_TRUE(RunUntil([&] { return tenond->TimesLogged("configuration read") == 1; }));

  const ContainerAllocation given = Allocate();
  EXPECT_THAT(given.cdi_devices, IsEmpty());
  EXPECT_EQ(1U, given.device_nodes.size());
}

TEST_F(CdiTest, ASpecOfAResourceThatIsGoneStaysAsLongAsAPodHoldsADevice) {
  Start(Rule("true"));
  ASSERT_TRUE(WaitFor(kNull, 1)) << tenond->log();
  GiveAwayAndDie();

  Start("  - {name: counter, devices: [{virtual: {count: 1}}]}\n");
  ASSERT_TRUE(WaitFor(kCounter, 1)) << tenond->log();
  EXPECT_TRUE(HasSpec());
  std::filesystem::remove(tree.Real("/plugins/kubelet_internal_checkpoint"));
  ServePods({});

  EXPECT_TRUE(RunUntil([this] { return !HasSpec(); })) << tenond->log();
}

TEST_F(CdiTest, ASpecGoesWithItsResourceIfNobodyHasADevice) {
  Start(Rule("true"));
  ASSERT_TRUE(WaitFor(kNull, 1)) << tenond->log();
  ASSERT_TRUE(HasSpec());

  WriteConfig(Rule("false"));

  EXPECT_TRUE(RunUntil([this] { return !HasSpec(); })) << tenond->log();
}

TEST_F(CdiTest, SpecsOutliveTheProcessAndTheNextOneCleansWhatNobodyNeeds) {
  Start(Rule("true"));
  ASSERT_TRUE(WaitFor(kNull, 1)) << tenond->log();
  tenond->Signal(SIGTERM);
  ASSERT_TRUE(tenond->WaitForExit());
  EXPECT_TRUE(HasSpec());

  Start(Rule("true"));
  ASSERT_TRUE(WaitFor(kNull, 1)) << tenond->log();
  Die();
  EXPECT_TRUE(HasSpec());
  tree.File("/cdi/vendor.json", "{}");
  tree.File("/cdi/tenon-other.json", "{}");

  Start("  - {name: counter, devices: [{virtual: {count: 1}}]}\n");

  EXPECT_TRUE(RunUntil([this] { return !HasSpec(); })) << tenond->log();
  EXPECT_TRUE(std::filesystem::exists(tree.Real("/cdi/vendor.json")));
  EXPECT_TRUE(std::filesystem::exists(tree.Real("/cdi/tenon-other.json")));
}

TEST_F(CdiTest, ASpecOfAnotherTenondThatRunsIsLeftAlone) {
  Start(Rule("true"));
  ASSERT_TRUE(WaitFor(kNull, 1)) << tenond->log();
  tree.File(
      "/other.yaml",
      "domain: example.com\nresources:\n  - {name: counter, devices: [{virtual: {count: 1}}]}\n");

  TenondProcess other(*loop,
                      {"--config", tree.Real("/other.yaml"), "--plugin-dir", tree.Real("/plugins"),
                       "--cdi-dir", tree.Real("/cdi"), "--pod-resources", tree.Real("/pods.sock")},
                      tree.Real("/run/other.sock"));

  ASSERT_TRUE(WaitFor(kCounter, 1)) << other.log();
  EXPECT_TRUE(HasSpec());
}

// The kubelet's checkpoint then has no device node, only a name.
TEST_F(CdiTest, ADeviceThatAPodGotByCdiIsKnownAfterARestartUnderAnotherId) {
  Start(Rule("only"));
  ASSERT_TRUE(WaitFor(kNull, 1)) << tenond->log();
  GiveAwayAndDie();
  tree.Link("/dev/renamed", "/dev/null");

  Start(Rule("only", "/dev/renamed"));
  EXPECT_TRUE(RunUntil([this] { return IsListedAs("Unhealthy"); })) << tenond->log();

  // Again, though the former run wrote the spec with the new name.
  Die();
  Start(Rule("only", "/dev/renamed"));
  EXPECT_TRUE(RunUntil([this] { return IsListedAs("Unhealthy"); })) << tenond->log();

  std::filesystem::remove(tree.Real("/plugins/kubelet_internal_checkpoint"));
  ServePods({});
  EXPECT_TRUE(RunUntil([this] { return IsListedAs("Healthy"); })) << tenond->log();
}

}  // namespace
}  // namespace tenon::spine
