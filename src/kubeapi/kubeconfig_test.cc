#include "kubeapi/kubeconfig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::kubeapi {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr const char* kPath = "/home/u/.kube/config";

/// A kubeconfig with one context, `cluster` and `user` being flow mappings.
std::string Config(const std::string& cluster, const std::string& user) {
  return "apiVersion: v1\n"
         "kind: Config\n"
         "current-context: lab\n"
         "contexts: [{name: lab, context: {cluster: c, user: u}}]\n"
         "clusters: [{name: c, cluster: " +
         cluster +
         "}]\n"
         "users: [{name: u, user: " +
         user + "}]\n";
}

std::string Refusal(const std::string& text, const std::string& context = "") {
  auto access = ParseKubeconfig(text, kPath, context);
  return access ? "accepted" : access.error().message();
}

TEST(KubeconfigTest, GivesTheServerAndTheUserOfTheCurrentContext) {
  auto access =
      ParseKubeconfig(Config("{server: 'https://10.0.0.1:6443/', certificate-authority-data: Q0E=, "
                             "tls-server-name: api.example, proxy-url: 'http://proxy:3128'}",
                             "{client-certificate-data: Q0VSVA==, client-key-data: S0VZ}"),
                      kPath);

  ASSERT_TRUE(access) << access.error().message();
  EXPECT_EQ("https://10.0.0.1:6443/", access->server);
  EXPECT_EQ("context lab of /home/u/.kube/config", access->origin);
  EXPECT_EQ((Secret{.text = "CA"}), access->authority);
  EXPECT_EQ((Secret{.text = "CERT"}), access->certificate);
  EXPECT_EQ((Secret{.text = "KEY"}), access->key);
  EXPECT_TRUE(access->token.empty());
  EXPECT_EQ("api.example", access->tls_server_name);
  EXPECT_EQ("http://proxy:3128", access->proxy_url);
}

TEST(KubeconfigTest, FilesAreRelativeToTheKubeconfig) {
  auto access = ParseKubeconfig(
      Config("{server: 'https://x', certificate-authority: pki/ca.crt}",
             "{client-certificate: ../c.crt, client-key: /etc/c.key, tokenFile: token}"),
      kPath);

  ASSERT_TRUE(access) << access.error().message();
  EXPECT_EQ("/home/u/.kube/pki/ca.crt", access->authority.path);
  EXPECT_EQ("/home/u/.kube/../c.crt", access->certificate.path);
  EXPECT_EQ("/etc/c.key", access->key.path);
  EXPECT_EQ("/home/u/.kube/token", access->token.path);
}

TEST(KubeconfigTest, DataCountsBeforeAFile) {
  auto access = ParseKubeconfig(
      Config("{server: 'https://x', certificate-authority: a, certificate-authority-data: Q0E=}",
             "{token: secret}"),
      kPath);

  ASSERT_TRUE(access);
  EXPECT_EQ((Secret{.text = "CA"}), access->authority);
  EXPECT_EQ((Secret{.text = "secret"}), access->token);
}

TEST(KubeconfigTest, AnotherContextCanBeChosen) {
  const std::string text =
      "contexts:\n"
      "- {name: a, context: {cluster: ca, user: ua}}\n"
      "- {name: b, context: {cluster: cb}}\n"
      "clusters:\n"
      "- {name: ca, cluster: {server: 'https://a'}}\n"
      "- {name: cb, cluster: {server: 'http://127.0.0.1:8001'}}\n"
      "users: [{name: ua, user: {token: t}}]\n";

  auto access = ParseKubeconfig(text, kPath, "b");

  ASSERT_TRUE(access);
  EXPECT_EQ("http://127.0.0.1:8001", access->server);
  EXPECT_TRUE(access->token.empty());
  EXPECT_EQ("/home/u/.kube/config:1:1: there is no current-context; choose one with --context",
            Refusal(text));
  EXPECT_EQ("/home/u/.kube/config:2:1: there is no \"c\" among the contexts; there is: a, b",
            Refusal(text, "c"));
}

TEST(KubeconfigTest, AProgramForCredentialsIsReadAndNotRun) {
  auto access = ParseKubeconfig(
      Config("{server: 'https://x'}",
             "{exec: {apiVersion: client.authentication.k8s.io/v1, command: bin/get-token, "
             "args: [-i, \"1\"], env: [{name: A, value: b}], installHint: get it}}"),
      kPath);

  ASSERT_TRUE(access) << access.error().message();
  ASSERT_TRUE(access->exec);
  EXPECT_THAT(access->exec->argv, ElementsAre("bin/get-token", "-i", "1"));
  EXPECT_THAT(access->exec->env, ElementsAre(Pair("A", "b")));
  EXPECT_EQ("/home/u/.kube", access->exec->directory);
  EXPECT_EQ("get it", access->exec->install_hint);
}

TEST(KubeconfigTest, RefusesWaysToLogInThatItDoesNotKnow) {
  const std::string cluster = "{server: 'https://x'}";
  for (const char* user :
       {"{auth-provider: {name: gcp}}", "{username: a, password: b}", "{password: b}", "{as: root}",
        "{as-groups: [x]}", "{as-user-extra: {a: [b]}}", "{secret: x}"}) {
    EXPECT_THAT(Refusal(Config(cluster, user)), HasSubstr("is not supported; a client certificate"))
        << user;
  }
}

TEST(KubeconfigTest, NeverTalksToAServerThatItCannotVerify) {
  EXPECT_THAT(Refusal(Config("{server: 'https://x', insecure-skip-tls-verify: true}", "{}")),
              HasSubstr("config:5:"));
  EXPECT_THAT(Refusal(Config("{server: 'https://x', insecure-skip-tls-verify: true}", "{}")),
              HasSubstr("insecure-skip-tls-verify is not supported"));
  EXPECT_THAT(Refusal(Config("{server: 'http://10.0.0.1'}", "{}")), HasSubstr("plain HTTP"));
}

TEST(KubeconfigTest, SaysWhatIsWrongAndWhere) {
  struct Case {
    std::string text;
    std::string message;
  };
  const std::string good = "{server: 'https://x'}";
  for (const Case& c : std::vector<Case>{
           {"", "holds 0 documents"},
           {"a: 1\n---\nb: 1\n", "holds 2 documents"},
           {"- a\n", "config:1:1: a kubeconfig is a mapping"},
           {"current-context: x\n",
            "config:1:1: there is no \"x\" among the contexts; there are none"},
           {Config("{}", "{}"), "config:5:31: server \"\": write https://HOST:PORT"},
           {Config("{server: [a]}", "{}"), "server must be text, not a list"},
           {Config("{server: 'https://x', certificate-authority-data: '!'}", "{}"),
            "certificate-authority-data is not base64"},
           {Config(good, "{client-key: x}"), "belong together"},
           {Config(good, "{exec: {apiVersion: v1alpha1, command: x}}"), "apiVersion must be"},
           {Config(good, "{exec: {apiVersion: client.authentication.k8s.io/v1}}"),
            "command is missing"}}) {
    EXPECT_THAT(Refusal(c.text), HasSubstr(c.message));
  }
}

}  // namespace
}  // namespace tenon::kubeapi
