#include <fcntl.h>
#include <unistd.h>

#include "base/unique_fd.h"
#include "spine/spine_fixture.h"
#include "value/value.h"

/// Directories, files and command lines that are not as they should be.
namespace tenon::spine {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

struct BadDayTest : SpineTest {
  /// tenond in a mount namespace of its own that `setup` has prepared; null where that needs more
  /// rights than this process has.
  std::unique_ptr<TenondProcess> InNamespace(const std::string& setup) {
    return std::make_unique<TenondProcess>(
        *loop, Arguments(), tree.Real("/run/tenond.sock"),
        std::vector<std::string>{"/usr/bin/unshare", "-m", "/bin/sh", "-ec",
                                 setup + "\nexec \"$0\" \"$@\""});
  }
  bool LogsSoon(const TenondProcess& process, std::string_view text) {
    return RunUntil([&] { return process.Logged(text) || !process.running(); }) &&
           process.running();
  }
};

TEST_F(BadDayTest, AMissingDirectoryIsWaitedFor) {
  tree.Remove("/plugins");
  auto tenond = Tenond();
  EXPECT_TRUE(LogsSoon(*tenond, "waiting for the device-plugin directory")) << tenond->log();
  EXPECT_THAT(tenond->Get("/readyz").body, HasSubstr("No such file or directory"));

  tree.Directory("/plugins");
  kubelet.Start();

  EXPECT_TRUE(WaitFor(kCounter, 2)) << tenond->log();
}

TEST_F(BadDayTest, AReadOnlyDirectoryIsAClearErrorAndTheDaemonLives) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to mount";
  kubelet.Start();
  const std::string plugins = tree.Real("/plugins");
  auto tenond = InNamespace("mount --bind " + plugins + " " + plugins +
                            "\nmount -o remount,ro,bind " + plugins);

  EXPECT_TRUE(LogsSoon(*tenond, "Read-only file system")) << tenond->log();
  EXPECT_THAT(tenond->Get("/readyz").body, HasSubstr("Read-only file system"));
}

TEST_F(BadDayTest, AFullDirectoryIsAClearErrorAndTheDaemonLives) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to mount";
  kubelet.Start();
  const std::string plugins = tree.Real("/plugins");
  // Room for the directory and for kubelet.sock, and no more.
  auto tenond = InNamespace("mount --bind " + plugins + " " + tree.Real("/dev") +
                            "\nmount -t tmpfs -o nr_inodes=2 none " + plugins + "\n: > " + plugins +
                            "/kubelet.sock\nmount --bind " + tree.Real("/dev/kubelet.sock") + " " +
                            plugins + "/kubelet.sock");

  EXPECT_TRUE(LogsSoon(*tenond, "No space left on device")) << tenond->log();
  EXPECT_THAT(tenond->Get("/readyz").body, HasSubstr("No space left on device"));
}

TEST_F(BadDayTest, ADirectoryWhosePathIsTooLongIsAClearErrorAndTheDaemonLives) {
  const std::string name = "/" + std::string(90 - tree.root().size(), 'x');
  tree.Directory(name);
  FakeKubelet far_kubelet(*loop, tree.Real(name));
  far_kubelet.Start();
  TenondProcess tenond(*loop, ArgumentsFor(tree.Real(name)), tree.Real("/run/tenond.sock"));

  EXPECT_TRUE(LogsSoon(tenond, "107")) << tenond.log();
  EXPECT_THAT(tenond.Get("/readyz").body, HasSubstr("107"));
}

TEST_F(BadDayTest, APathToADeletedDirectoryEndsTheDaemonWithOne) {
  // What a bind mount does in a container, a descriptor of this process does here.
  base::UniqueFd fd(::open(tree.Real("/plugins").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const std::string link =
      "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(fd.get());
  kubelet.Start();
  TenondProcess tenond(*loop, ArgumentsFor(link), tree.Real("/run/tenond.sock"));
  ASSERT_TRUE(WaitFor(kCounter, 2)) << tenond.log();

  tree.Remove("/plugins");

  auto exit = tenond.WaitForExit();
  ASSERT_TRUE(exit) << tenond.log();
  EXPECT_EQ(1, exit->code) << exit->Describe();
  EXPECT_TRUE(tenond.Logged("deleted directory")) << tenond.log();
}

TEST_F(BadDayTest, ADeviceThatVanishedAfterItWasListedIsRefusedByName) {
  WriteConfig(PathRule("node"));
  tree.Link("/dev/here", "/dev/null");
  kubelet.Start();
  auto tenond = Tenond();
  ASSERT_TRUE(WaitFor("example.com/node", 1)) << tenond->log();
  const std::string id = kubelet.Find("example.com/node")->devices[0].id;
  std::optional<rpc::Status> status;

  tree.Remove("/dev/here");
  kubelet.Allocate("example.com/node", {{{id}}},
                   [&status](rpc::Status s, const auto&) { status = std::move(s); });

  ASSERT_TRUE(RunUntil([&status] { return status.has_value(); }));
  EXPECT_EQ(rpc::StatusCode::kNotFound, status->code) << status->message;
  EXPECT_THAT(status->message, HasSubstr("here"));
  EXPECT_TRUE(WaitFor("example.com/node", 0));
}

TEST_F(BadDayTest, AConfigurationWithTenFaultsReportsTenAndRegistersNothing) {
  tree.File("/config.yaml",
            "domain: Example.com\n"
            "colour: red\n"
            "resources:\n"
            "  - name: a b\n"
            "    devices: [{virtual: {count: 0}}]\n"
            "  - name: c\n"
            "    devices: [{path: relative}, {path: \"/dev/[\", permissions: xyz}]\n"
            "  - name: d\n"
            "    devices: []\n"
            "  - name: e\n"
            "    devices: [{path: /etc/passwd}, {virtual: {count: 1, color: x}}]\n");
  kubelet.Start();
  auto tenond = Tenond();

  auto exit = tenond->WaitForExit();

  ASSERT_TRUE(exit);
  EXPECT_EQ(2, exit->code) << exit->Describe();
  EXPECT_EQ(10U, tenond->TimesLogged(tree.Real("/config.yaml") + ":")) << tenond->log();
  EXPECT_EQ(0, kubelet.registrations());
}

TEST_F(BadDayTest, AConfigurationThatTurnsBadKeepsTheLastGoodOneAndSaysSo) {
  kubelet.Start();
  auto tenond = Tenond();
  ASSERT_TRUE(WaitFor(kCounter, 2));

  WriteConfig("  - name: counter\n    devices: [{virtual: {count: nine}}]\n");

  EXPECT_TRUE(LogsSoon(*tenond, "the last good one stays")) << tenond->log();
  EXPECT_THAT(tenond->Get("/api/v1/status").body, HasSubstr("config.yaml:4:"));
  EXPECT_TRUE(tenond->Ready());
  WriteConfig("  - name: counter\n    devices: [{virtual: {count: 3}}]\n");
  EXPECT_TRUE(WaitFor(kCounter, 3)) << tenond->log();
  EXPECT_EQ(1, kubelet.registrations());
  EXPECT_THAT(tenond->Get("/api/v1/status").body, Not(HasSubstr("configErrors")));
}

TEST_F(BadDayTest, AReloadTakesAwayAddsAndLeavesAlone) {
  kubelet.Start();
  WriteConfig(
      "  - name: counter\n    devices: [{virtual: {count: 2}}]\n"
      "  - name: old\n    devices: [{virtual: {count: 2}}]\n");
  auto tenond = Tenond();
  ASSERT_TRUE(WaitFor(kCounter, 2) && WaitFor("example.com/old", 2)) << tenond->log();

  // Also moved to another line.
  WriteConfig(
      "  - name: new\n    devices: [{virtual: {count: 1}}]\n"
      "  - name: counter\n    devices: [{virtual: {count: 2}}]\n");
  tenond->Signal(SIGHUP);

  EXPECT_TRUE(WaitFor("example.com/new", 1)) << tenond->log();
  EXPECT_TRUE(RunUntil([this] {
    const FakeKubelet::Plugin* old = kubelet.Find("example.com/old");
    return !old->streaming && old->devices.empty();
  }));
  EXPECT_EQ(3, kubelet.registrations());
  EXPECT_EQ(1, kubelet.Find(kCounter)->lists);
  EXPECT_TRUE(RunUntil([this] { return Sockets().size() == 2; }));
  EXPECT_THAT(tenond->Get("/metrics").body, Not(HasSubstr("example.com/old")));
}

TEST_F(BadDayTest, AConfigMapSwapIsSeen) {
  kubelet.Start();
  tree.File("/map/..one/config.yaml",
            "domain: example.com\nresources: [{name: counter, devices: [{virtual: {count: 2}}]}]");
  tree.Link("/map/..data", "..one");
  tree.Link("/map/config.yaml", "..data/config.yaml");
  std::vector<std::string> arguments = Arguments();
  arguments[1] = tree.Real("/map/config.yaml");
  TenondProcess tenond(*loop, arguments, tree.Real("/run/tenond.sock"));
  ASSERT_TRUE(WaitFor(kCounter, 2)) << tenond.log();

  tree.File("/map/..two/config.yaml",
            "domain: example.com\nresources: [{name: counter, devices: [{virtual: {count: 5}}]}]");
  tree.Link("/map/..data_tmp", "..two");
  tree.Move("/map/..data_tmp", "/map/..data");

  EXPECT_TRUE(WaitFor(kCounter, 5)) << tenond.log();
}

TEST_F(BadDayTest, OfADirectoryOfConfigurationsEveryChangeIsSeen) {
  const auto write = [this](const std::string& name, const std::string& resource, int count) {
    tree.File("/conf.d/" + name, "domain: example.com\nresources: [{name: " + resource +
                                     ", devices: [{virtual: {count: " + std::to_string(count) +
                                     "}}]}]");
  };
  kubelet.Start();
  write("b.yaml", "counter", 2);
  std::vector<std::string> arguments = Arguments();
  arguments[1] = tree.Real("/conf.d");
  arguments.insert(arguments.end(), {"--config", tree.Real("/config.yaml")});
  tree.File("/config.yaml",
            "domain: d.com\nresources: [{name: x, devices: [{virtual: {count: 1}}]}]");
  TenondProcess tenond(*loop, arguments, tree.Real("/run/tenond.sock"));
  ASSERT_TRUE(WaitFor(kCounter, 2) && WaitFor("d.com/x", 1)) << tenond.log();

  write("a.yaml", "new", 3);
  EXPECT_TRUE(WaitFor("example.com/new", 3)) << tenond.log();
  write("b.yaml", "counter", 4);
  EXPECT_TRUE(WaitFor(kCounter, 4)) << tenond.log();

  // All files or none: the good change of one waits for the other.
  write("b.yaml", "new", 4);
  write("a.yaml", "third", 1);
  EXPECT_TRUE(WaitFor("example.com/third", 1)) << tenond.log();
  write("c.yaml", "third", 1);
  EXPECT_TRUE(LogsSoon(tenond, "resource example.com/third exists already, in " +
                                   tree.Real("/conf.d/a.yaml") + ":2:"))
      << tenond.log();
  EXPECT_TRUE(kubelet.Has("example.com/new", 4));

  tree.Remove("/conf.d/b.yaml");
  tree.Remove("/conf.d/c.yaml");
  EXPECT_TRUE(RunUntil([this] { return !kubelet.Find("example.com/new")->streaming; }))
      << tenond.log();
  EXPECT_TRUE(kubelet.Has("example.com/third", 1) && kubelet.Has("d.com/x", 1));
  EXPECT_EQ(1, kubelet.Find("d.com/x")->lists);
}

TEST_F(BadDayTest, ASecondDaemonWithTheSameControlSocketRefusesToStart) {
  kubelet.Start();
  auto first = Tenond();
  ASSERT_TRUE(WaitFor(kCounter, 2));

  auto second = Tenond();

  auto exit = second->WaitForExit();
  ASSERT_TRUE(exit);
  EXPECT_EQ(1, exit->code) << exit->Describe();
  EXPECT_TRUE(second->Logged("in use by another process")) << second->log();
  EXPECT_TRUE(first->Ready());
  EXPECT_EQ(1, kubelet.registrations());
  EXPECT_THAT(Sockets(), SizeIs(1));
}

TEST_F(BadDayTest, AProbeTellsReadyFromLiveFromDead) {
  auto ask = [this](const std::string& what) {
    auto exit =
        TenondProcess(*loop, {"--probe", what}, tree.Real("/run/tenond.sock")).WaitForExit();
    return exit ? exit->code : -1;
  };
  EXPECT_EQ(1, ask("live"));

  auto tenond = Tenond();
  ASSERT_TRUE(RunUntil([&] { return tenond->Get("/healthz").status == 200; }));
  EXPECT_EQ(0, ask("live"));
  EXPECT_EQ(1, ask("ready"));

  kubelet.Start();
  ASSERT_TRUE(WaitFor(kCounter, 2));
  ASSERT_TRUE(RunUntil([&] { return tenond->Ready(); }));
  EXPECT_EQ(0, ask("ready"));
}

TEST_F(BadDayTest, TheStatusIsWhatItsPageSays) {
  WriteConfig(PathRule("node"));
  tree.Link("/dev/x", "/dev/null");
  kubelet.Start();
  auto tenond = Tenond();
  ASSERT_TRUE(WaitFor("example.com/node", 1)) << tenond->log();
  ASSERT_TRUE(RunUntil([&] { return tenond->Ready(); }));

  auto status = ParseJson(tenond->Get("/api/v1/status").body, "status");

  ASSERT_TRUE(status) << status.error().message();
  EXPECT_EQ("true", status->Find("ready")->text());
  EXPECT_EQ(tree.Real("/config.yaml"), status->Find("configFile")->text());
  EXPECT_EQ(tree.Real("/plugins/kubelet.sock"), status->Find("kubeletSocket")->text());
  const Value& resource = status->Find("resources")->items().at(0);
  EXPECT_EQ("example.com/node", resource.Find("name")->text());
  EXPECT_EQ("streaming", resource.Find("state")->text());
  EXPECT_EQ(tree.Real("/plugins/" + Sockets().at(0)), resource.Find("socket")->text());
  const Value& device = resource.Find("devices")->items().at(0);
  EXPECT_EQ("Healthy", device.Find("health")->text());
  const Value& node = device.Find("deviceNodes")->items().at(0);
  EXPECT_EQ("/dev/null", node.Find("path")->text());
  EXPECT_EQ(1, node.Find("major")->AsInt());
  EXPECT_EQ(3, node.Find("minor")->AsInt());
  EXPECT_FALSE(status->Find("events")->items().empty());
}

TEST_F(BadDayTest, TheStatusSaysWhoHoldsADeviceOrWhyThatIsNotKnown) {
  kubelet.Start();
  auto tenond = Tenond();
  ASSERT_TRUE(WaitFor(kCounter, 2));
  EXPECT_THAT(tenond->Get("/api/v1/status").body, HasSubstr("pods.sock"));

  const std::string id = kubelet.Find(kCounter)->devices[0].id;
  kubelet.ServePodResources(tree.Real("/pods.sock"),
                            {{"meter", "default", {{"main", {{kCounter, {id}, {}}}}}}});

  EXPECT_THAT(
      tenond->Get("/api/v1/status").body,
      HasSubstr(
          "\"heldBy\":[{\"namespace\":\"default\",\"pod\":\"meter\",\"container\":\"main\"}]"));
}

}  // namespace
}  // namespace tenon::spine
