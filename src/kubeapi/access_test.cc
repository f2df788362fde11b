#include "kubeapi/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::kubeapi {
namespace {

using ::testing::HasSubstr;

TEST(ServerUrlTest, KnowsTheFormsThatServersAreNamedIn) {
  struct Case {
    std::string text;
    bool tls;
    std::string host;
    int port;
    std::string path;
  };
  for (const Case& c :
       std::vector<Case>{{"https://10.0.0.1:6443", true, "10.0.0.1", 6443, ""},
                         {"https://api.example.com", true, "api.example.com", 443, ""},
                         {"https://api.example.com/k8s/clusters/c-1/", true, "api.example.com", 443,
                          "/k8s/clusters/c-1"},
                         {"https://[fd00::1]:6443", true, "fd00::1", 6443, ""},
                         {"http://127.0.0.1:8001", false, "127.0.0.1", 8001, ""},
                         {"http://127.8.9.1", false, "127.8.9.1", 80, ""},
                         {"http://localhost:8001/", false, "localhost", 8001, ""},
                         {"http://[::1]:8001", false, "::1", 8001, ""}}) {
    auto url = ParseServerUrl(c.text);

    ASSERT_TRUE(url) << url.error().message();
    EXPECT_EQ(c.tls, url->tls) << c.text;
    EXPECT_EQ(c.host, url->host);
    EXPECT_EQ(c.port, url->port);
    EXPECT_EQ(c.path, url->path);
  }
}

TEST(ServerUrlTest, RefusesPlainHttpToAnyOtherHost) {
  for (const char* text :
       {"http://10.0.0.1:8001", "http://127.0.0.1.example.com", "http://localhost.example.com",
        "http://1270.0.1", "http://[fd00::1]:8001", "http://example.com"}) {
    auto url = ParseServerUrl(text);

    ASSERT_FALSE(url) << text;
    EXPECT_THAT(url.error().message(), HasSubstr("plain HTTP is for this machine only")) << text;
  }
}

TEST(ServerUrlTest, RefusesWhatIsNoPlainUrl) {
  for (const char* text :
       {"", "10.0.0.1:6443", "ftp://x", "https://", "https://x:0", "https://x:65536", "https://x:y",
        "https://user@x", "https://x?y", "https://x/a b", "https://x/#y", "https://[::1",
        "https://[x]", "https://x/%2e%2e", "http://127.0.0.1@evil.example"}) {
    EXPECT_FALSE(ParseServerUrl(text)) << text;
  }
}

TEST(InClusterAccessTest, IsTheServiceAccountOfThePod) {
  auto access = InClusterAccess("10.96.0.1", "443", "/sa");
  auto ipv6 = InClusterAccess("fd00::1", "443", "/sa");

  ASSERT_TRUE(access);
  EXPECT_EQ("https://10.96.0.1:443", access->server);
  EXPECT_EQ((Secret{.path = "/sa/ca.crt"}), access->authority);
  EXPECT_EQ((Secret{.path = "/sa/token"}), access->token);
  ASSERT_TRUE(ipv6);
  EXPECT_EQ("https://[fd00::1]:443", ipv6->server);
}

TEST(InClusterAccessTest, SaysWhichVariablesAreWrong) {
  auto access = InClusterAccess("", "443");

  ASSERT_FALSE(access);
  EXPECT_THAT(access.error().message(), HasSubstr("KUBERNETES_SERVICE_HOST"));
}

}  // namespace
}  // namespace tenon::kubeapi
