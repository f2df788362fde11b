#include <gmock/gmock.h>

#include <csignal>

#include "cli_fixture.h"
#include "fake_api/fake_api_server.h"
#include "fake_api/fake_nodes.h"
#include "fake_api/test_authority.h"

namespace tenon::cli_test {
namespace {

using fake_api::FakeApiServer;
using fake_api::FakeNodes;
using fake_api::TestAuthority;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct ResourceTest : CliTest {
  FakeNodes nodes;
  FakeNodes::Entry& lab = nodes.nodes["lab"];
  FakeApiServer server{*loop,
                       [this](const FakeApiServer::Request& request) { return nodes(request); }};

  Outcome Resource(std::vector<std::string> args) {
    args.insert(args.begin(), "resource");
    args.insert(args.end(), {"--server", server.Url()});
    Outcome outcome = Run(std::move(args));
    // The port is another one each time.
    for (std::string* text : {&outcome.out, &outcome.errors}) {
      for (size_t at = 0; (at = text->find(server.Url())) != std::string::npos;)
        text->replace(at, server.Url().size(), "SERVER");
    }
    return outcome;
  }
};

TEST_F(ResourceTest, ASlashBehindTheServerIsNoPartOfThePath) {
  Outcome outcome =
      Run({"resource", "add", "lab", "example.com/dongle=4", "--server", server.Url() + "/"});

  EXPECT_EQ(0, outcome.code) << outcome.errors;
  EXPECT_THAT(server.Lines(), ElementsAre("GET /api/v1/nodes/lab",
                                          "PATCH /api/v1/nodes/lab/status?fieldManager=tenon"));
}

TEST_F(ResourceTest, AddsSeveralResourcesInOnePatch) {
  Outcome outcome = Resource({"add", "lab", "example.com/dongle=4", "example.com/seat=10"});

  EXPECT_EQ("lab: example.com/dongle: none -> 4\nlab: example.com/seat: none -> 10\n", outcome.out);
  EXPECT_EQ("", outcome.errors);
  EXPECT_EQ(0, outcome.code);
  EXPECT_THAT(server.Lines(), ElementsAre("GET /api/v1/nodes/lab",
                                          "PATCH /api/v1/nodes/lab/status?fieldManager=tenon"));
  EXPECT_EQ("application/json-patch+json", server.requests[1].headers["content-type"]);
  EXPECT_EQ("4", lab.capacity["example.com/dongle"]);
  EXPECT_EQ("10", lab.capacity["example.com/seat"]);
}

TEST_F(ResourceTest, DoingItTwiceChangesNothing) {
  lab.capacity["a.b/c"] = "4";

  Outcome added = Resource({"add", "lab", "a.b/c=4"});
  Outcome set = Resource({"set", "lab", "a.b/c=4"});
  Outcome removed = Resource({"remove", "lab", "a.b/gone"});

  for (const Outcome& outcome : {added, set, removed}) {
    EXPECT_EQ("lab: nothing to change\n", outcome.out);
    EXPECT_EQ(0, outcome.code);
  }
  EXPECT_TRUE(nodes.patches.empty());
}

TEST_F(ResourceTest, AddRefusesWhatSetReplacesAndRemoveTakesAway) {
  lab.capacity["a.b/c"] = "2";
  lab.allocatable["a.b/c"] = "2";

  Outcome added = Resource({"add", "lab", "a.b/c=4"});
  Outcome set = Resource({"set", "lab", "a.b/c=4"});
  Outcome removed = Resource({"remove", "lab", "a.b/c"});

  EXPECT_EQ("tenon: node lab: a.b/c is there already, 2 of it; 'tenon resource set' changes that\n",
            added.errors);
  EXPECT_EQ(1, added.code);
  EXPECT_EQ("lab: a.b/c: 2 -> 4\n", set.out);
  EXPECT_EQ("lab: a.b/c: 4 -> none\n", removed.out);
  EXPECT_TRUE(lab.capacity.empty());
  EXPECT_TRUE(lab.allocatable.empty());
}

TEST_F(ResourceTest, LeavesToTheKubeletWhatADevicePluginOffers) {
  lab.capacity["a.b/c"] = "2";
  lab.owners["a.b/c"] = "kubelet";

  Outcome outcome = Resource({"set", "lab", "a.b/c=4"});

  EXPECT_THAT(outcome.errors, HasSubstr("tenon: node lab: a.b/c belongs to the kubelet"));
  EXPECT_EQ(1, outcome.code);
  EXPECT_TRUE(nodes.patches.empty());
}

TEST_F(ResourceTest, LooksAgainWhenTheNodeChangedMeanwhile) {
  lab.capacity["a.b/c"] = "1";
  nodes.before_patch = [this] {
    lab.capacity["a.b/c"] = "2";
    nodes.before_patch = nullptr;
  };

  Outcome outcome = Resource({"set", "lab", "a.b/c=4"});

  EXPECT_EQ("lab: a.b/c: 2 -> 4\n", outcome.out);
  EXPECT_EQ(0, outcome.code) << outcome.errors;
}

TEST_F(ResourceTest, ARefusalThatStaysIsTold) {
  lab.capacity["a.b/c"] = "1";
  nodes.before_patch = [&] { lab.capacity["a.b/c"] = "9"; };
  FakeApiServer strange(*loop, [&](const FakeApiServer::Request& request) {
    lab.capacity["a.b/c"] = "1";
    return nodes(request);
  });

  Outcome outcome = Run({"resource", "set", "lab", "a.b/c=4", "--server", strange.Url()});

  EXPECT_THAT(outcome.errors, HasSubstr("tenon: patch node lab: http://127.0.0.1:"));
  EXPECT_THAT(outcome.errors, HasSubstr("HTTP 422 Unprocessable Entity: the server rejected"));
  EXPECT_EQ(1, outcome.code);
  EXPECT_EQ(2U, nodes.patches.size());
}

TEST_F(ResourceTest, ADryRunOnlyPrints) {
  Outcome outcome = Resource({"add", "lab", "example.com/dongle=4", "--dry-run"});

  EXPECT_EQ(0, outcome.code);
  EXPECT_TRUE(nodes.patches.empty());
  ExpectGolden("resource-dry-run.txt", outcome.out);
}

TEST_F(ResourceTest, ListsResourcesAndWhoHasSetThem) {
  lab.capacity = {{"cpu", "2"}, {"example.com/dongle", "4"}, {"example.com/serial", "2"}};
  lab.allocatable = {{"cpu", "2"}, {"example.com/serial", "1"}};
  lab.owners = {{"example.com/dongle", "tenon"}, {"example.com/serial", "kubelet"}};

  ExpectGolden("resource-list.txt", Resource({"list", "lab"}).out);
  ExpectGolden("resource-list.json", Resource({"list", "lab", "-o", "json"}).out);
}

TEST_F(ResourceTest, ANodeThatIsNotThereIsToldWithAWayOut) {
  Outcome outcome = Resource({"list", "nowhere"});

  EXPECT_EQ(
      "tenon: get node nowhere: SERVER: HTTP 404 Not Found: nodes \"nowhere\" not found; 'kubectl "
      "get nodes' lists those that there are\n",
      outcome.errors);
  EXPECT_EQ(1, outcome.code);
}

TEST_F(ResourceTest, AWrongCommandLineAsksNobody) {
  struct Case {
    std::vector<std::string> args;
    std::string errors;
  };
  const std::string config = WriteFile("r.yaml", "nodes: {lab: {dongle: 1}}\n");
  for (const Case& c : std::vector<Case>{
           {{"add", "lab", "dongle=1", "a.b/c=x"},
            "tenon: dongle=1: resource name \"dongle\": needs a domain in front, as in "
            "example.com/serial\ntenon: a.b/c=x: \"x\" is not a quantity: write a number such as "
            "2, 500m, 0.5 or 3Ki\n"},
           {{"set"},
            "tenon: name a node and what it is to have, 'lab example.com/dongle=4', or a "
            "--config\n"},
           {{"set", "a/b", "a.b/c=1"},
            "tenon: \"a/b\" cannot be a kube node: names are lower-case letters, digits, \"-\" and "
            "\".\"\n"},
           {{"set", "--config", config},
            "tenon: " + config +
                ":1:15: resource name \"dongle\": needs a domain in front, as in "
                "example.com/serial\n"},
           {{"set", "lab", "a.b/c=1", "--watch", "--dry-run"},
            "tenon: --watch excludes --dry-run; see 'tenon resource set --help'\n"},
           {{"list", "..%2f"},
            "tenon: \"..%2f\" cannot be a kube node: names are lower-case letters, digits, \"-\" "
            "and \".\"\n"}}) {
    Outcome outcome = Resource(c.args);

    EXPECT_EQ(c.errors, outcome.errors);
    EXPECT_EQ(2, outcome.code) << c.errors;
  }
  EXPECT_TRUE(server.requests.empty());
}

TEST_F(ResourceTest, PlainHttpLeavesThisMachineNever) {
  Outcome outcome = Run({"resource", "list", "lab", "--server", "http://10.0.0.1:8001"});

  EXPECT_THAT(outcome.errors, HasSubstr("plain HTTP is for this machine only"));
  EXPECT_EQ(1, outcome.code);
}

TEST_F(ResourceTest, AFileSaysItForSeveralNodesAndOneThatFailsStopsNoOther) {
  nodes.nodes["edge"];
  const std::string config = WriteFile("r.yaml",
                                       "nodes:\n"
                                       "  edge: {a.b/c: 1}\n"
                                       "  absent: {a.b/c: 1}\n"
                                       "  lab: {a.b/c: 2}\n");

  Outcome outcome = Resource({"set", "--config", config});

  EXPECT_EQ("edge: a.b/c: none -> 1\nlab: a.b/c: none -> 2\n", outcome.out);
  EXPECT_THAT(outcome.errors, HasSubstr("get node absent"));
  EXPECT_EQ(1, outcome.code);
}

TEST_F(ResourceTest, WatchingSetsThemAgainUntilASignalComes) {
  int step = 0;
  Outcome outcome = Run({"resource", "set", "lab", "a.b/c=4", "--watch", "--server", server.Url()},
                        "", [&](process::Child& child) {
                          if (step == 0 && lab.capacity["a.b/c"] == "4" && server.streams() == 1) {
                            step = 1;
                            lab.capacity["a.b/c"] = "0";
                            lab.owners["a.b/c"] = "kubelet";
                            nodes.Touch();
                            server.SendLine(nodes.Event("MODIFIED", "lab"));
                          } else if (step == 1 && lab.capacity["a.b/c"] == "4") {
                            step = 2;
                            child.Kill(SIGTERM);
                          }
                        });

  EXPECT_EQ(0, outcome.code);
  EXPECT_EQ("", outcome.out);
  EXPECT_THAT(outcome.errors, HasSubstr("INFO watching nodes=1 server=" + server.Url()));
  EXPECT_THAT(outcome.errors, HasSubstr("INFO advertised node=lab resources=\"a.b/c: none -> 4\""));
}

TEST_F(ResourceTest, AKubeconfigLeadsToAServerWithTls) {
  TestAuthority authority(directory, "ca");
  const auto pair = authority.Issue("server", "IP:127.0.0.1");
  const auto client = authority.Issue("client", "DNS:client");
  FakeApiServer secure(
      *loop, [this](const FakeApiServer::Request& request) { return nodes(request); },
      FakeApiServer::TlsFiles{.certificate = pair.certificate,
                              .key = pair.key,
                              .client_authority = authority.certificate()});
  const std::string kubeconfig =
      WriteFile("kubeconfig",
                "current-context: c\n"
                "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
                "clusters: [{name: c, cluster: {server: '" +
                    secure.Url() +
                    "', certificate-authority: ca.crt}}]\n"
                    "users: [{name: u, user: {client-certificate: client.crt, client-key: "
                    "client.key, tokenFile: token}}]\n");
  WriteFile("token", "secret\n");

  Outcome outcome =
      Run({"resource", "add", "lab", "a.b/c=1", "--kubeconfig", kubeconfig, "--context", "c"});

  EXPECT_EQ("lab: a.b/c: none -> 1\n", outcome.out) << outcome.errors;
  ASSERT_EQ(2U, secure.requests.size());
  EXPECT_EQ("Bearer secret", secure.requests[1].headers["authorization"]);
  EXPECT_EQ("tenon/0.1.0", secure.requests[1].headers["user-agent"]);
}

}  // namespace
}  // namespace tenon::cli_test
