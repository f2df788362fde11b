#include <cstdlib>

#include "base/sanitized_for_test.h"
#include "spine/spine_fixture.h"

/// What a kubelet does to a plugin, done to a real tenond.
namespace tenon::spine {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

struct KubeletTest : SpineTest {
  void StartAll() {
    kubelet.Start();
    tenond = Tenond();
    ASSERT_TRUE(WaitFor(kCounter, 2)) << tenond->log();
  }
  std::unique_ptr<TenondProcess> tenond;
};

TEST_F(KubeletTest, GetsTheDevicesAndAllocatesThem) {
  StartAll();
  std::optional<rpc::Status> status;
  std::vector<ContainerAllocation> allocations;
  const std::string id = kubelet.Find(kCounter)->devices[0].id;

  kubelet.Allocate(kCounter, {{{id}}}, [&](rpc::Status s, auto a) {
    status = std::move(s);
    allocations = std::move(a);
  });

  ASSERT_TRUE(RunUntil([&status] { return status.has_value(); }));
  ASSERT_THAT(allocations, SizeIs(1)) << status->message;
  EXPECT_EQ(id, allocations[0].env["TENON_EXAMPLE_COM_COUNTER_IDS"]);
  EXPECT_TRUE(tenond->Ready());
}

TEST_F(KubeletTest, GetsAHundredThousandDevicesInOneList) {
  WriteConfig("  - name: counter\n    devices: [{virtual: {count: 100000}}]\n");
  kubelet.Start();
  tenond = Tenond();

  EXPECT_TRUE(WaitFor(kCounter, 100'000)) << tenond->log();
  EXPECT_LE(tenond->Metric("tenon_plugin_list_bytes{resource=\"example.com/counter\"}"), 4194304);
}

TEST_F(KubeletTest, RestartsManyTimesAndThenStillSeesANewDevice) {
  const int restarts = std::getenv("TENON_LONG") != nullptr ? 1000 : 20;
  WriteConfig("  - name: counter\n    devices: [{virtual: {count: 2}}]\n" + PathRule("node"));
  StartAll();
  ASSERT_TRUE(WaitFor("example.com/node", 0));
  size_t descriptors = 0;
  size_t memory = 0;

  for (int i = 0; i < restarts; ++i) {
    kubelet.Kill();
    kubelet.Start();
    ASSERT_TRUE(WaitFor(kCounter, 2) && WaitFor("example.com/node", 0))
        << "restart " << i << tenond->log();
    ASSERT_THAT(Sockets(), SizeIs(2));
    if (i == restarts / 10) {
      descriptors = tenond->OpenDescriptors();
      memory = tenond->StatusNumber("VmRSS");
    }
  }

  for (const char* resource : {"counter", "node"}) {
    const std::string labels = std::string("{resource=\"example.com/") + resource + "\"}";
    EXPECT_TRUE(RunUntil([&] { return tenond->Metric("tenon_plugin_streams" + labels) == 1; }));
  }
  EXPECT_EQ(1U, tenond->StatusNumber("Threads"));
  EXPECT_TRUE(RunUntil([&] { return tenond->OpenDescriptors() <= descriptors; }));
  if (!base::kSanitized) {
    EXPECT_LE(tenond->StatusNumber("VmRSS"), memory + 256);
  }
  tree.Link("/dev/hotplugged", "/dev/null");
  EXPECT_TRUE(WaitFor("example.com/node", 1)) << tenond->log();
}

TEST_F(KubeletTest, IsWaitedForWhenItIsAbsent) {
  tenond = Tenond();
  ASSERT_TRUE(RunUntil([this] { return tenond->Get("/healthz").status == 200; }));
  EXPECT_EQ(503, tenond->Get("/readyz").status);
  EXPECT_THAT(tenond->Get("/readyz").body, HasSubstr("example.com/counter"));
  EXPECT_THAT(Sockets(), SizeIs(0));

  kubelet.Start();

  EXPECT_TRUE(WaitFor(kCounter, 2)) << tenond->log();
  EXPECT_TRUE(RunUntil([this] { return tenond->Ready(); }));
}

TEST_F(KubeletTest, RefusesFiveTimesAndIsAskedAgain) {
  kubelet.Start();
  kubelet.RefuseNext(5);
  tenond = Tenond();

  EXPECT_TRUE(WaitFor(kCounter, 2)) << tenond->log();

  EXPECT_EQ(6, kubelet.registrations());
  EXPECT_EQ(1U, tenond->TimesLogged("not today")) << tenond->log();
}

TEST_F(KubeletTest, AnswersLate) {
  kubelet.Start();
  kubelet.AnswerAfter(milliseconds(300));
  tenond = Tenond();

  EXPECT_TRUE(WaitFor(kCounter, 2)) << tenond->log();
  EXPECT_EQ(1, kubelet.registrations());
}

TEST_F(KubeletTest, DropsOnlyTheStream) {
  StartAll();

  kubelet.DropStreams();

  EXPECT_TRUE(RunUntil([this] { return !tenond->Ready(); }));
  EXPECT_TRUE(WaitFor(kCounter, 2)) << tenond->log();
  EXPECT_EQ(2, kubelet.registrations());
}

TEST_F(KubeletTest, RecreatesOnlyItsSocket) {
  StartAll();

  kubelet.RecreateSocketOnly();

  EXPECT_TRUE(RunUntil([this] { return kubelet.registrations() == 2; }));
  EXPECT_TRUE(WaitFor(kCounter, 2)) << tenond->log();
  EXPECT_TRUE(RunUntil([this] {
    return tenond->Metric("tenon_plugin_streams{resource=\"example.com/counter\"}") == 1;
  }));
}

TEST_F(KubeletTest, LosesOurSocketToSomebody) {
  StartAll();

  std::filesystem::remove(tree.Real("/plugins/" + Sockets().at(0)));

  EXPECT_TRUE(RunUntil([this] { return kubelet.registrations() == 2; })) << tenond->log();
  EXPECT_TRUE(WaitFor(kCounter, 2)) << tenond->log();
  EXPECT_THAT(Sockets(), SizeIs(1));
}

TEST_F(KubeletTest, GoesAwayAndOurSocketWithItsDirectory) {
  StartAll();
  kubelet.Kill();
  tree.Move("/plugins", "/old");

  EXPECT_TRUE(RunUntil([this] { return tenond->Logged("waiting for the device-plugin"); }));
  tree.Directory("/plugins");
  kubelet.Start();

  EXPECT_TRUE(WaitFor(kCounter, 2)) << tenond->log();
}

TEST_F(KubeletTest, KeepsASocketThatAKilledDaemonLeftUntilTheNextOneStarts) {
  StartAll();
  const std::vector<std::string> stale = Sockets();
  tenond->Signal(SIGKILL);
  ASSERT_TRUE(tenond->WaitForExit());
  ASSERT_EQ(stale, Sockets());

  tenond = Tenond();

  EXPECT_TRUE(RunUntil([this] { return kubelet.registrations() == 2; }));
  EXPECT_TRUE(WaitFor(kCounter, 2)) << tenond->log();
  EXPECT_THAT(Sockets(), SizeIs(1));
  EXPECT_NE(stale, Sockets());
}

TEST_F(KubeletTest, SeesTwoInstancesAndTheOldOneLeaves) {
  StartAll();
  const std::string old_endpoint = kubelet.Find(kCounter)->endpoint;
  auto second = Tenond("/run/second.sock");
  ASSERT_TRUE(RunUntil([&] {
    return kubelet.Has(kCounter, 2) && kubelet.Find(kCounter)->endpoint != old_endpoint;
  })) << second->log();
  const std::string endpoint = kubelet.Find(kCounter)->endpoint;

  tenond->Signal(SIGTERM);
  ASSERT_TRUE(tenond->WaitForExit());

  EXPECT_THAT(Sockets(), ElementsAre(endpoint));
  EXPECT_TRUE(second->Ready());
  EXPECT_TRUE(kubelet.Has(kCounter, 2));
  EXPECT_EQ(2, kubelet.registrations());
}

TEST_F(KubeletTest, IsLeftCleanly) {
  StartAll();

  tenond->Signal(SIGTERM);

  auto exit = tenond->WaitForExit();
  ASSERT_TRUE(exit);
  EXPECT_EQ(0, exit->code) << exit->Describe();
  EXPECT_THAT(Sockets(), SizeIs(0));
  EXPECT_FALSE(std::filesystem::exists(tree.Real("/run/tenond.sock")));
  EXPECT_TRUE(RunUntil([this] { return !kubelet.Find(kCounter)->streaming; }));
}

}  // namespace
}  // namespace tenon::spine
