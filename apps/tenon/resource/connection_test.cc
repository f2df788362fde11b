#include "tenon/resource/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/temp_tree.h"

namespace tenon::cli {
namespace {

using ::testing::HasSubstr;

struct FindAccessTest : ::testing::Test {
  host::TempTree tree;
  std::unique_ptr<host::PosixHost> host = *host::PosixHost::Open("/");
  ConnectionOptions options;
  Environment environment;

  FindAccessTest() {
    for (const char* name : {"one", "two"}) {
      tree.File("/" + std::string(name),
                "current-context: c\n"
                "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
                "clusters: [{name: c, cluster: {server: 'https://" +
                    std::string(name) +
                    "'}}]\n"
                    "users: [{name: u, user: {token: t}}]\n");
    }
  }
  std::string Server() {
    auto access = FindAccess(options, environment, *host);
    return access ? access->server : access.error().message();
  }
};

TEST_F(FindAccessTest, LooksWhereKubectlLooks) {
  environment["KUBERNETES_SERVICE_HOST"] = "10.96.0.1";
  environment["KUBERNETES_SERVICE_PORT"] = "443";
  EXPECT_EQ("https://10.96.0.1:443", Server());

  environment["HOME"] = tree.Real("/home");
  EXPECT_EQ("https://10.96.0.1:443", Server());
  tree.File("/home/.kube/config",
            "current-context: c\n"
            "contexts: [{name: c, context: {cluster: c}}]\n"
            "clusters: [{name: c, cluster: {server: 'https://home'}}]\n");
  EXPECT_EQ("https://home", Server());

  environment["KUBECONFIG"] = tree.Real("/one");
  EXPECT_EQ("https://one", Server());
  options.kubeconfig = tree.Real("/two");
  EXPECT_EQ("https://two", Server());
}

TEST_F(FindAccessTest, AServerOnTheCommandLineCountsBeforeTheKubeconfigs) {
  options.kubeconfig = tree.Real("/one");
  options.server = "https://other:6443";
  auto secure = FindAccess(options, environment, *host);
  options.server = "http://127.0.0.1:8001";
  auto proxy = FindAccess(options, environment, *host);

  ASSERT_TRUE(secure);
  EXPECT_EQ("https://other:6443", secure->server);
  EXPECT_EQ("t", secure->token.text);
  ASSERT_TRUE(proxy);
  EXPECT_TRUE(proxy->token.empty());
}

TEST_F(FindAccessTest, SaysWhatToNameInstead) {
  EXPECT_THAT(Server(), HasSubstr("no API server is named: say --kubeconfig FILE"));
  options.server = "http://10.0.0.1:8001";
  EXPECT_THAT(Server(), HasSubstr("--server: server \"http://10.0.0.1:8001\": plain HTTP"));
  options.server.clear();
  options.context = "x";
  EXPECT_THAT(Server(), HasSubstr("--context needs a kubeconfig"));
  environment["KUBECONFIG"] = "/a:/b";
  EXPECT_THAT(Server(), HasSubstr("not merged here; choose one with --kubeconfig"));
  options.kubeconfig = tree.Real("/absent");
  EXPECT_THAT(Server(), HasSubstr("/absent: No such file"));
}

TEST_F(FindAccessTest, RunsNoProgramUnlessToldTo) {
  tree.File("/exec",
            "current-context: c\n"
            "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
            "clusters: [{name: c, cluster: {server: 'https://x'}}]\n"
            "users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, "
            "command: aws}}}]\n");
  options.kubeconfig = tree.Real("/exec");

  EXPECT_THAT(Server(), HasSubstr("runs a program for its credentials, aws; say "
                                  "--allow-kubeconfig-exec"));
  options.allow_exec = true;
  EXPECT_EQ("https://x", Server());
}

}  // namespace
}  // namespace tenon::cli
