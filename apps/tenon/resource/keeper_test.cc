#include "tenon/resource/keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "fake_api/fake_api_server.h"
#include "fake_api/fake_nodes.h"

namespace tenon::cli {
namespace {

using fake_api::FakeApiServer;
using fake_api::FakeNodes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct KeeperTest : ::testing::Test {
  base::SystemClock clock;
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  std::unique_ptr<kubeapi::HttpTransport> transport = *kubeapi::HttpTransport::Create(*loop);
  std::unique_ptr<host::PosixHost> host = *host::PosixHost::Open("/");
  base::RecordingLog log;
  FakeNodes nodes;
  std::optional<FakeApiServer::Answer> refusal;
  FakeApiServer server{*loop, [this](const FakeApiServer::Request& request) {
                         return refusal && request.method == "PATCH" ? refusal : nodes(request);
                       }};
  kubeapi::ApiClient client{
      *loop, *transport, *host, {.server = server.Url(), .origin = "the test"}, "t"};
  std::unique_ptr<Keeper> keeper;

  void Begin() {
    keeper = std::make_unique<Keeper>(*loop, client, log, "lab", *ParseWishes({"a.b/c=4"}),
                                      loop::Backoff::Options{.first = std::chrono::milliseconds(1),
                                                             .most = std::chrono::milliseconds(2)});
  }
  bool Until(const std::function<bool()>& done) {
    return loop->RunUntil(done, std::chrono::seconds(20));
  }
  std::string Capacity() { return nodes.nodes["lab"].capacity["a.b/c"]; }
  bool UntilWatching() {
    return Until([this] { return server.streams() == 1; });
  }
  bool UntilPatched(size_t times) {
    return Until([this, times] { return nodes.patches.size() == times; });
  }
  bool UntilLogged(const std::string& text) {
    return Until([this, text] {
      return std::ranges::any_of(
          log.lines(), [&text](const auto& line) { return line.find(text) != std::string::npos; });
    });
  }
};

TEST_F(KeeperTest, SetsTheResourceOnceAndLeavesItThen) {
  nodes.nodes["lab"];
  Begin();
  ASSERT_TRUE(UntilPatched(1));
  ASSERT_TRUE(UntilWatching());
  server.SendLine(nodes.Event("MODIFIED", "lab"));
  server.SendLine(nodes.Event("MODIFIED", "lab"));
  ASSERT_TRUE(UntilLogged("advertised"));

  EXPECT_EQ("4", Capacity());
  EXPECT_EQ(1U, nodes.patches.size());
  EXPECT_THAT(log.lines(), ElementsAre("INFO advertised node=lab resources=\"a.b/c: none -> 4\""));
}

TEST_F(KeeperTest, SetsItAgainWhenTheKubeletHasSetItToZero) {
  nodes.nodes["lab"].capacity["a.b/c"] = "4";
  Begin();
  ASSERT_TRUE(UntilWatching());
  nodes.nodes["lab"].capacity["a.b/c"] = "0";
  nodes.nodes["lab"].owners["a.b/c"] = "kubelet";
  nodes.Touch();
  server.SendLine(nodes.Event("MODIFIED", "lab"));
  ASSERT_TRUE(UntilPatched(1));

  EXPECT_EQ("4", Capacity());
}

TEST_F(KeeperTest, SetsItAgainWhenTheNodeIsMadeAnew) {
  nodes.nodes["lab"];
  Begin();
  ASSERT_TRUE(UntilPatched(1));
  ASSERT_TRUE(UntilWatching());
  const std::string deleted = nodes.Event("DELETED", "lab");
  nodes.nodes.clear();
  server.SendLine(deleted);
  ASSERT_TRUE(UntilLogged("there is no such node"));
  nodes.nodes["lab"];
  nodes.Touch();
  server.SendLine(nodes.Event("ADDED", "lab"));
  ASSERT_TRUE(UntilPatched(2));

  EXPECT_EQ("4", Capacity());
}

TEST_F(KeeperTest, WaitsForANodeThatIsNotThere) {
  Begin();
  ASSERT_TRUE(UntilLogged("there is no such node; waiting for it node=lab"));
  ASSERT_TRUE(UntilWatching());
  nodes.nodes["lab"];
  server.SendLine(nodes.Event("ADDED", "lab"));

  EXPECT_TRUE(UntilPatched(1));
}

TEST_F(KeeperTest, LeavesAResourceToADevicePluginAndSaysSoOnce) {
  nodes.nodes["lab"].capacity["a.b/c"] = "2";
  nodes.nodes["lab"].owners["a.b/c"] = "kubelet";
  Begin();
  ASSERT_TRUE(UntilLogged("left alone"));
  ASSERT_TRUE(UntilWatching());
  server.SendLine(nodes.Event("MODIFIED", "lab"));
  server.SendLine(R"({"type":"ERROR","object":{"code":500,"message":"mark"}})");
  ASSERT_TRUE(UntilLogged("mark"));

  EXPECT_EQ(2U, log.lines().size());
  EXPECT_THAT(log.lines()[0], HasSubstr("a.b/c belongs to the kubelet"));
  EXPECT_TRUE(nodes.patches.empty());
}

TEST_F(KeeperTest, ARefusedPatchIsTriedAgainAndToldOnce) {
  nodes.nodes["lab"];
  refusal = FakeApiServer::Answer{.status = 403, .body = R"({"message":"cannot patch"})"};
  Begin();
  ASSERT_TRUE(Until([this] {
    return std::ranges::count(server.Lines(),
                              "PATCH /api/v1/nodes/lab/status?fieldManager=tenon") == 3;
  }));
  refusal.reset();
  ASSERT_TRUE(UntilPatched(1));
  ASSERT_TRUE(UntilLogged("advertised"));

  EXPECT_EQ(2U, log.lines().size());
  EXPECT_THAT(log.lines()[0], HasSubstr("403 Forbidden: cannot patch"));
}

TEST_F(KeeperTest, ANodeThatChangedMeanwhileIsSettledAtTheNextLook) {
  nodes.nodes["lab"].capacity["a.b/c"] = "1";
  nodes.before_patch = [this] {
    nodes.nodes["lab"].capacity["a.b/c"] = "2";
    nodes.before_patch = nullptr;
  };
  Begin();
  ASSERT_TRUE(UntilPatched(1));
  ASSERT_TRUE(UntilWatching());
  server.SendLine(nodes.Event("MODIFIED", "lab"));
  ASSERT_TRUE(Until([this] { return Capacity() == "4"; }));
}

TEST_F(KeeperTest, MayGoWhileAPatchIsUnderWay) {
  nodes.nodes["lab"];
  nodes.before_patch = [this] { keeper.reset(); };
  Begin();
  ASSERT_TRUE(UntilPatched(1));
  loop->RunUntil([] { return false; }, std::chrono::milliseconds(5));

  EXPECT_TRUE(log.lines().empty());
}

}  // namespace
}  // namespace tenon::cli
