#include "tenon/kubelet/node_publisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "fake_api/fake_api_server.h"

namespace tenon::kubelet {
namespace {

using fake_api::FakeApiServer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Value Node(const std::string& status) {
  return *ParseJson(R"({"kind":"Node","status":)" + status + "}", "node");
}

std::string Patch(const std::string& status, const std::vector<manager::ResourceCapacity>& offered,
                  const std::set<std::string>& before = {}, bool forget = false) {
  return ToJson(StatusPatch(Node(status), offered, before, forget));
}

TEST(StatusPatchTest, OffersWhatTheManagerHas) {
  EXPECT_EQ(R"({"status":{"capacity":{"a.b/c":"4"},"allocatable":{"a.b/c":"3"}}})",
            Patch(R"({"capacity":{"cpu":"2"}})",
                  {{.resource = "a.b/c", .capacity = 4, .allocatable = 3}}));
}

TEST(StatusPatchTest, SaysNothingThatIsSaidAlready) {
  EXPECT_EQ("{}", Patch(R"({"capacity":{"a.b/c":"4","cpu":"2"},"allocatable":{"a.b/c":"3"}})",
                        {{.resource = "a.b/c", .capacity = 4, .allocatable = 3}}));
}

TEST(StatusPatchTest, WhatIsNoLongerOfferedStaysWithNothing) {
  EXPECT_EQ(R"({"status":{"capacity":{"a.b/c":"0"},"allocatable":{"a.b/c":"0"}}})",
            Patch(R"({"capacity":{"a.b/c":"4"},"allocatable":{"a.b/c":"4"}})", {}, {"a.b/c"}));
}

TEST(StatusPatchTest, AnAdministratorsResourceIsCopiedAndALeftOverDeleted) {
  EXPECT_EQ(R"({"status":{"allocatable":{"a.b/seat":"7","a.b/old":null}}})",
            Patch(R"({"capacity":{"a.b/seat":"7"},"allocatable":{"a.b/old":"1","cpu":"2"}})", {}));
}

TEST(StatusPatchTest, ForgetsAllOfAMachineThatIsNoMore) {
  EXPECT_EQ(
      R"({"status":{"capacity":{"a.b/seat":"0"},"allocatable":{"a.b/c":"1","a.b/seat":"0"}}})",
      Patch(R"({"capacity":{"a.b/c":"1","a.b/seat":"7"},"allocatable":{"a.b/seat":"7"}})",
            {{.resource = "a.b/c", .capacity = 1, .allocatable = 1}}, {}, true));
}

struct NodePublisherTest : ::testing::Test {
  base::SystemClock clock;
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  std::unique_ptr<kubeapi::HttpTransport> transport = *kubeapi::HttpTransport::Create(*loop);
  std::unique_ptr<host::PosixHost> host = *host::PosixHost::Open("/");
  base::RecordingLog log;
  std::string node = R"({"kind":"Node","status":{}})";
  std::optional<FakeApiServer::Answer> refusal;
  FakeApiServer server{*loop, [this](const FakeApiServer::Request&) {
                         return refusal ? refusal : FakeApiServer::Answer{.body = node};
                       }};
  kubeapi::ApiClient client{
      *loop, *transport, *host, {.server = server.Url(), .origin = "the test"}, "t"};
  std::vector<manager::ResourceCapacity> offered = {
      {.resource = "a.b/c", .capacity = 4, .allocatable = 4}};
  std::unique_ptr<NodePublisher> publisher;

  void Begin(NodePublisher::Options options) {
    publisher = std::make_unique<NodePublisher>(
        *loop, client, log, [this] { return offered; }, std::move(options));
  }
  std::vector<std::string> Patches() const {
    std::vector<std::string> bodies;
    for (const auto& request : server.requests)
      if (request.method == "PATCH") bodies.push_back(request.body);
    return bodies;
  }
  bool Until(const std::function<bool()>& done) {
    return loop->RunUntil(done, std::chrono::seconds(20));
  }
};

TEST_F(NodePublisherTest, PatchesTheStatusAndAgainWhenToldOfAChange) {
  Begin({.kube_node = "lab"});
  ASSERT_TRUE(Until([this] { return Patches().size() == 1 && log.lines().size() == 1; }));
  node = R"({"status":{"capacity":{"a.b/c":"4"},"allocatable":{"a.b/c":"4"}}})";
  offered[0].allocatable = 3;
  publisher->Refresh();
  ASSERT_TRUE(Until([this] { return Patches().size() == 2; }));
  offered.clear();
  publisher->Refresh();
  ASSERT_TRUE(Until([this] { return Patches().size() == 3; }));

  EXPECT_THAT(Patches(),
              ElementsAre(R"({"status":{"capacity":{"a.b/c":"4"},"allocatable":{"a.b/c":"4"}}})",
                          R"({"status":{"allocatable":{"a.b/c":"3"}}})",
                          R"({"status":{"capacity":{"a.b/c":"0"},"allocatable":{"a.b/c":"0"}}})"));
  EXPECT_EQ("PATCH /api/v1/nodes/lab/status?fieldManager=tenon-kubelet", server.requests[1].Line());
  EXPECT_EQ("application/merge-patch+json", server.requests[1].headers["content-type"]);
}

TEST_F(NodePublisherTest, LooksAtTheNodeNowAndThen) {
  Begin({.kube_node = "lab", .every = std::chrono::milliseconds(1)});
  ASSERT_TRUE(Until([this] { return Patches().size() == 3; }));
}

TEST_F(NodePublisherTest, TroubleIsToldOnceAndMended) {
  refusal = FakeApiServer::Answer{.status = 404, .body = R"({"message":"not found"})"};
  Begin({.kube_node = "lab", .forget = true, .every = std::chrono::milliseconds(1)});
  ASSERT_TRUE(Until([this] { return server.requests.size() == 4; }));
  refusal.reset();
  node = R"({"status":{"capacity":{"a.b/seat":"7"}}})";
  ASSERT_TRUE(Until([this] { return !Patches().empty() && log.lines().size() == 2; }));

  EXPECT_THAT(log.lines()[0], HasSubstr("404 Not Found: not found"));
  // The node came after us: what it says is no left-over.
  EXPECT_THAT(Patches()[0], HasSubstr(R"("a.b/seat":"7")"));
}

}  // namespace
}  // namespace tenon::kubelet
