#include "kubeapi/node_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_api/fake_api_server.h"
#include "fake_api/fake_nodes.h"

namespace tenon::kubeapi {
namespace {

using fake_api::FakeApiServer;
using fake_api::FakeNodes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct NodeWatchTest : ::testing::Test {
  base::SystemClock clock;
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  std::unique_ptr<HttpTransport> transport = *HttpTransport::Create(*loop);
  std::unique_ptr<host::PosixHost> host = *host::PosixHost::Open("/");
  FakeNodes nodes;
  std::optional<FakeApiServer::Answer> refusal;  ///< Instead of what `nodes` says.
  FakeApiServer server{*loop, [this](const FakeApiServer::Request& request) {
                         return refusal ? refusal : nodes(request);
                       }};
  ApiClient client{*loop, *transport, *host, {.server = server.Url(), .origin = "the test"}, "t"};
  std::vector<std::string> seen;  ///< The dongles of each change; "none" without a node.
  std::vector<std::string> troubles;
  std::unique_ptr<NodeWatch> watch;

  void Begin() {
    watch = std::make_unique<NodeWatch>(
        *loop, client, "lab",
        NodeWatch::Callbacks{
            .on_change =
                [this](const Value* node) {
                  seen.push_back(
                      node == nullptr ? "none" : node->At({"status", "capacity", "a.b/c"})->text());
                },
            .on_trouble = [this](const Error& error) { troubles.push_back(error.message()); }},
        1,
        loop::Backoff::Options{.first = std::chrono::milliseconds(1),
                               .most = std::chrono::milliseconds(2)});
  }
  bool Until(const std::function<bool()>& done) {
    return loop->RunUntil(done, std::chrono::seconds(20));
  }
  bool UntilWatching() {
    return Until([this] { return server.streams() == 1; });
  }
  bool UntilSeen(size_t count) {
    return Until([this, count] { return seen.size() >= count; });
  }
  void SetNode(const std::string& amount) {
    nodes.nodes["lab"].capacity["a.b/c"] = amount;
    nodes.Touch();
  }
};

TEST_F(NodeWatchTest, ListsThenTellsOfEveryChange) {
  SetNode("1");
  Begin();
  ASSERT_TRUE(UntilWatching());
  SetNode("2");
  server.SendLine(nodes.Event("MODIFIED", "lab"));
  server.SendLine(nodes.Event("DELETED", "lab"));
  SetNode("3");
  server.SendLine(nodes.Event("ADDED", "lab"));
  ASSERT_TRUE(UntilSeen(4));

  EXPECT_THAT(seen, ElementsAre("1", "2", "none", "3"));
  EXPECT_EQ("GET /api/v1/nodes?fieldSelector=metadata.name%3Dlab", server.Lines()[0]);
  EXPECT_THAT(server.Lines()[1],
              StartsWith("GET /api/v1/nodes?watch=1&fieldSelector=metadata.name%3Dlab&"
                         "resourceVersion=101&allowWatchBookmarks=true&timeoutSeconds="));
  EXPECT_THAT(troubles, ElementsAre());
}

TEST_F(NodeWatchTest, ANodeThatIsNotThereIsAwaited) {
  Begin();
  ASSERT_TRUE(UntilWatching());
  SetNode("1");
  server.SendLine(nodes.Event("ADDED", "lab"));
  ASSERT_TRUE(UntilSeen(2));

  EXPECT_THAT(seen, ElementsAre("none", "1"));
}

TEST_F(NodeWatchTest, GoesOnFromTheLastBookmarkWhenTheServerEndsTheWatch) {
  SetNode("1");
  Begin();
  ASSERT_TRUE(UntilWatching());
  server.SendLine(
      R"({"type":"BOOKMARK","object":{"kind":"Node","metadata":{"resourceVersion":"777"}}})");
  server.EndStreams();
  ASSERT_TRUE(Until([this] { return server.requests.size() == 3; }));

  EXPECT_THAT(server.Lines()[2], HasSubstr("resourceVersion=777&"));
  EXPECT_THAT(seen, ElementsAre("1"));
  EXPECT_THAT(troubles, ElementsAre());
}

TEST_F(NodeWatchTest, ListsAgainWhenItsPlaceIsGone) {
  SetNode("1");
  Begin();
  ASSERT_TRUE(UntilWatching());
  SetNode("2");
  server.SendLine(R"({"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}})");
  server.EndStreams();
  ASSERT_TRUE(UntilSeen(2));
  ASSERT_TRUE(UntilWatching());
  SetNode("3");
  refusal = FakeApiServer::Answer{.status = 410, .body = R"({"message":"too old"})"};
  server.EndStreams();
  ASSERT_TRUE(Until([this] { return server.requests.size() == 5; }));
  refusal.reset();
  ASSERT_TRUE(UntilSeen(3));

  EXPECT_THAT(seen, ElementsAre("1", "2", "3"));
}

TEST_F(NodeWatchTest, ALostConnectionIsToldOfAndMended) {
  SetNode("1");
  Begin();
  ASSERT_TRUE(UntilWatching());
  server.Cut();
  ASSERT_TRUE(UntilWatching());
  SetNode("2");
  server.SendLine(nodes.Event("MODIFIED", "lab"));
  ASSERT_TRUE(UntilSeen(2));

  EXPECT_THAT(seen, ElementsAre("1", "2"));
  ASSERT_EQ(1U, troubles.size());
  EXPECT_THAT(troubles[0], StartsWith("watch node lab: http://127.0.0.1:"));
}

TEST_F(NodeWatchTest, ARefusedListIsTriedAgain) {
  SetNode("1");
  refusal = FakeApiServer::Answer{.status = 403, .body = R"({"message":"cannot list"})"};
  Begin();
  ASSERT_TRUE(Until([this] { return troubles.size() == 3; }));
  refusal.reset();
  ASSERT_TRUE(UntilSeen(1));

  EXPECT_THAT(troubles[0], HasSubstr("403 Forbidden: cannot list"));
}

TEST_F(NodeWatchTest, WhatIsNoEventIsToldOfAndTheNodeListedAgain) {
  for (const char* line :
       {"no json", "{}", R"({"type":"ADDED","object":{"metadata":{}}})",
        R"({"type":"ODD","object":{"metadata":{"resourceVersion":"1"}}})",
        R"({"type":"ADDED","object":{"metadata":{"resourceVersion":"1&watch=0"}}})",
        R"({"type":"ERROR","object":{"code":500,"message":"etcd"}})"}) {
    seen.clear();
    troubles.clear();
    SetNode("1");
    Begin();
    ASSERT_TRUE(UntilWatching());
    server.SendLine(line);
    ASSERT_TRUE(Until([this] { return troubles.size() == 1; })) << line;
    server.EndStreams();
    ASSERT_TRUE(UntilSeen(2)) << line;

    EXPECT_THAT(troubles[0], StartsWith("watch node lab: ")) << line;
    watch.reset();
    server.Cut();
  }
}

}  // namespace
}  // namespace tenon::kubeapi
