#include "tenon/resource/exec_credential.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "host/temp_tree.h"

namespace tenon::cli {
namespace {

using ::testing::HasSubstr;

TEST(ExecCredentialTest, GivesATokenOrACertificate) {
  kubeapi::Access token;
  kubeapi::Access certificate;

  EXPECT_TRUE(ReadExecCredential(
      R"({"kind":"ExecCredential","status":{"token":"t","expirationTimestamp":"2026-01-01T00:00:00Z"}})",
      token));
  EXPECT_TRUE(ReadExecCredential(
      R"({"kind":"ExecCredential","status":{"clientCertificateData":"c","clientKeyData":"k"}})",
      certificate));

  EXPECT_EQ("t", token.token.text);
  EXPECT_EQ("c", certificate.certificate.text);
  EXPECT_EQ("k", certificate.key.text);
}

TEST(ExecCredentialTest, RefusesAnythingElse) {
  kubeapi::Access access;
  for (const char* text :
       {"", "token", "[]", R"({"kind":"ExecCredential"})", R"({"kind":"X","status":{"token":"t"}})",
        R"({"kind":"ExecCredential","status":{}})",
        R"({"kind":"ExecCredential","status":{"token":[]}})",
        R"({"kind":"ExecCredential","status":{"clientKeyData":"k"}})"}) {
    EXPECT_FALSE(ReadExecCredential(text, access)) << text;
  }
}

struct ExecPluginTest : ::testing::Test {
  base::SystemClock clock;
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  host::TempTree tree;
  std::map<std::string, std::string> environment = {{"PATH", "relative:" + tree.Real("/bin")},
                                                    {"WHO", "me"}};
  kubeapi::Access access{.origin = "context lab of k"};

  void Program(const std::string& script) {
    tree.File("/bin/get-token", "#!/bin/sh\n" + script);
    std::filesystem::permissions(tree.Real("/bin/get-token"), std::filesystem::perms::owner_all);
  }
  Result<void> Run(const std::string& command) {
    access.exec = {.api_version = "client.authentication.k8s.io/v1",
                   .argv = {command, "one"},
                   .env = {{"EXTRA", "more"}},
                   .directory = tree.root(),
                   .install_hint = "install it"};
    return RunExecPlugin(*loop, environment, access);
  }
};

TEST_F(ExecPluginTest, RunsTheProgramThatTheKubeconfigNames) {
  Program(R"(case $KUBERNETES_EXEC_INFO in *'"kind":"ExecCredential"'*) ;; *) exit 3;; esac
echo "{\"kind\":\"ExecCredential\",\"status\":{\"token\":\"$1-$WHO-$EXTRA\"}}"
)");
  for (const std::string& command :
       {std::string("get-token"), std::string("bin/get-token"), tree.Real("/bin/get-token")}) {
    access.token.text.clear();

    auto ran = Run(command);

    ASSERT_TRUE(ran) << ran.error().message();
    EXPECT_EQ("one-me-more", access.token.text);
  }
}

TEST_F(ExecPluginTest, SaysWhyThereIsNoCredential) {
  auto missing = Run("no-such");
  Program("echo 'log in first' >&2; exit 7\n");
  auto failed = Run("get-token");
  Program("echo nothing\n");
  auto odd = Run("get-token");

  ASSERT_FALSE(missing);
  EXPECT_EQ("exec of context lab of k: no-such is not in PATH; install it",
            missing.error().message());
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message(), HasSubstr("get-token: exit status 7: log in first"));
  ASSERT_FALSE(odd);
  EXPECT_THAT(odd.error().message(), HasSubstr("get-token: its output:1:"));
}

}  // namespace
}  // namespace tenon::cli
