#include "kubeapi/api_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "fake_api/fake_api_server.h"
#include "fake_api/test_authority.h"
#include "host/temp_tree.h"

namespace tenon::kubeapi {
namespace {

using fake_api::FakeApiServer;
using fake_api::TestAuthority;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct ApiClientTest : ::testing::Test {
  base::SystemClock clock;
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  std::unique_ptr<HttpTransport> transport = *HttpTransport::Create(*loop);
  std::unique_ptr<host::PosixHost> host = *host::PosixHost::Open("/");
  host::TempTree tree;
  std::vector<FakeApiServer::Answer> answers;  ///< One after the other; the last one for ever.
  size_t next = 0;
  FakeApiServer server{*loop, [this](const FakeApiServer::Request&) {
                         return answers[std::min(next++, answers.size() - 1)];
                       }};
  std::unique_ptr<ApiClient> client;

  void Use(Access access) {
    client = std::make_unique<ApiClient>(*loop, *transport, *host, std::move(access), "tenon/1");
  }
  void UseServer() { Use({.server = server.Url(), .origin = "the test"}); }
  ApiAnswer Ask(ApiRequest request = {}) {
    request.what = "get node lab";
    request.path = "/api/v1/nodes/lab";
    std::optional<ApiAnswer> got;
    auto call =
        client->Send(std::move(request), [&got](ApiAnswer answer) { got = std::move(answer); });
    EXPECT_FALSE(got);
    if (!loop->RunUntil([&got] { return got.has_value(); }, std::chrono::seconds(20)))
      return {.object = Error(Code::kInternal, "no answer")};
    return *std::move(got);
  }
};

TEST_F(ApiClientTest, GivesTheObject) {
  UseServer();
  answers = {{.body = R"({"kind":"Node"})"}};

  ApiAnswer answer = Ask({.method = "PATCH",
                          .query = "fieldManager=tenon",
                          .content_type = "application/json-patch+json",
                          .body = "[]"});

  ASSERT_TRUE(answer.object) << answer.object.error().message();
  EXPECT_EQ("Node", answer.object->Find("kind")->text());
  EXPECT_THAT(server.Lines(), ElementsAre("PATCH /api/v1/nodes/lab?fieldManager=tenon"));
  EXPECT_EQ("tenon/1", server.requests[0].headers["user-agent"]);
  EXPECT_EQ("application/json", server.requests[0].headers["accept"]);
}

TEST_F(ApiClientTest, ARefusalNamesTheObjectTheServerTheReasonAndAWayOut) {
  UseServer();
  struct Case {
    int status;
    Code code;
    std::string text;
  };
  for (const Case& c : std::vector<Case>{
           {400, Code::kInvalidArgument, "HTTP 400 Bad Request: why"},
           {401, Code::kPermissionDenied, "renew them, they are those of the test"},
           {403, Code::kPermissionDenied, "docs/resources.md; we are known by the test"},
           {404, Code::kNotFound, "HTTP 404 Not Found: why"},
           {409, Code::kFailedPrecondition, "HTTP 409 Conflict: why; somebody else changed it"},
           {410, Code::kFailedPrecondition, "HTTP 410 Gone: why"},
           {422, Code::kInvalidArgument, "HTTP 422 Unprocessable Entity: why"},
           {302, Code::kFailedPrecondition, "HTTP 302: why; it sends us elsewhere"},
           {418, Code::kInvalidArgument, "HTTP 418: why"},
           {500, Code::kUnavailable, "HTTP 500 Internal Server Error: why"},
           {599, Code::kUnavailable, "HTTP 599: why"}}) {
    answers = {{.status = c.status, .body = R"({"kind":"Status","message":"why"})"}};

    ApiAnswer answer = Ask();

    EXPECT_EQ(c.status, answer.status);
    ASSERT_FALSE(answer.object);
    EXPECT_EQ(c.code, answer.object.error().code()) << c.status;
    EXPECT_THAT(answer.object.error().message(),
                HasSubstr("get node lab: " + server.Url() + ": HTTP "));
    EXPECT_THAT(answer.object.error().message(), HasSubstr(c.text));
  }
}

TEST_F(ApiClientTest, WhatIsNoApiServerIsToldApart) {
  UseServer();
  answers = {{.body = "<html>"}, {.status = 502, .body = "<html>\n"}, {.status = 503}};

  ApiAnswer page = Ask();
  ApiAnswer gateway = Ask();
  ApiAnswer silent = Ask();

  EXPECT_THAT(page.object.error().message(), HasSubstr("not how an API server answers"));
  EXPECT_THAT(gateway.object.error().message(), HasSubstr("HTTP 502: <html>\\n"));
  EXPECT_THAT(silent.object.error().message(), HasSubstr("no reason given; try again later"));
}

TEST_F(ApiClientTest, AServerThatIsNotThereIsToldWithWhereItsAddressIsFrom) {
  Use({.server = "http://127.0.0.1:1", .origin = "the test"});

  ApiAnswer answer = Ask();

  EXPECT_EQ(0, answer.status);
  EXPECT_EQ(Code::kUnavailable, answer.object.error().code());
  EXPECT_THAT(answer.object.error().message(),
              HasSubstr("get node lab: http://127.0.0.1:1: Failed to connect"));
  EXPECT_THAT(answer.object.error().message(),
              HasSubstr("; address and certificates are those of the test"));
}

TEST_F(ApiClientTest, WaitsAsLongAsABusyServerAsks) {
  UseServer();
  answers = {{.status = 429, .headers = {"Retry-After: 0"}},
             {.status = 503, .body = R"({"message":"x","details":{"retryAfterSeconds":0}})"},
             {.body = "{}"}};

  EXPECT_TRUE(Ask().object);
  EXPECT_EQ(3U, server.requests.size());
}

TEST_F(ApiClientTest, GivesUpOnAServerThatIsBusyForEver) {
  UseServer();
  answers = {{.status = 429, .body = R"({"message":"too many"})", .headers = {"Retry-After: 0"}}};

  ApiAnswer answer = Ask();

  EXPECT_EQ(6U, server.requests.size());
  EXPECT_EQ(Code::kResourceExhausted, answer.object.error().code());
  EXPECT_THAT(answer.object.error().message(), HasSubstr("too many; the server is busy"));
}

TEST_F(ApiClientTest, DoesNotWaitForHours) {
  UseServer();
  answers = {{.status = 503, .headers = {"Retry-After: 3600"}}};

  EXPECT_FALSE(Ask().object);
  EXPECT_EQ(1U, server.requests.size());
}

TEST_F(ApiClientTest, GivesAWatchLineByLine) {
  UseServer();
  answers = {{.body = "{\"a\":1}\n{\"b\"", .is_stream = true}};
  std::vector<std::string> lines;

  ApiRequest request{.on_line = [&](std::string_view line) {
    lines.emplace_back(line);
    if (lines.size() == 2) server.EndStreams();
  }};
  std::optional<ApiAnswer> got;
  auto call = client->Send(request, [&got](ApiAnswer answer) { got = std::move(answer); });
  ASSERT_TRUE(loop->RunUntil([&] { return lines.size() == 1; }, std::chrono::seconds(20)));
  server.SendLine(":2}");
  ASSERT_TRUE(loop->RunUntil([&] { return got.has_value(); }, std::chrono::seconds(20)));

  EXPECT_THAT(lines, ElementsAre("{\"a\":1}", "{\"b\":2}"));
  EXPECT_TRUE(got->object);
}

TEST_F(ApiClientTest, SendsNoCredentialInTheClear) {
  Use({.server = server.Url(), .origin = "the test", .token = {.text = "secret"}});
  answers = {{.body = "{}"}};

  EXPECT_TRUE(Ask().object);
  EXPECT_FALSE(server.requests[0].headers.contains("authorization"));
}

struct SecureApiClientTest : ApiClientTest {
  TestAuthority authority{tree.root(), "ca"};
  TestAuthority::Pair pair = authority.Issue("server", "IP:127.0.0.1");
  FakeApiServer secure{*loop,
                       [this](const FakeApiServer::Request& request) {
                         const bool known = request.headers.contains("authorization") &&
                                            request.headers.at("authorization") == accepted;
                         return known ? FakeApiServer::Answer{.body = "{}"}
                                      : FakeApiServer::Answer{.status = 401};
                       },
                       FakeApiServer::TlsFiles{.certificate = pair.certificate, .key = pair.key}};
  std::string accepted = "Bearer one";
  Access access{.server = secure.Url(),
                .origin = "the test",
                .authority = {.path = authority.certificate()},
                .token = {.path = tree.Real("/token")}};
};

TEST_F(SecureApiClientTest, ReadsARenewedTokenForTheNextRequest) {
  tree.File("/token", "one\n");
  Use(access);
  EXPECT_TRUE(Ask().object);
  tree.File("/token", "two\n");
  accepted = "Bearer two";

  EXPECT_TRUE(Ask().object);
  EXPECT_EQ(2U, secure.requests.size());
}

TEST_F(SecureApiClientTest, AsksOnceMoreWhenTheTokenIsRefusedAndMayHaveBeenRenewed) {
  tree.File("/token", "old");
  Use(access);

  ApiAnswer answer = Ask();

  EXPECT_EQ(401, answer.status);
  EXPECT_EQ(2U, secure.requests.size());
}

TEST_F(SecureApiClientTest, AnUnreadableTokenIsReplacedByTheLastOne) {
  tree.File("/token", "one");
  Use(access);
  EXPECT_TRUE(Ask().object);
  tree.Remove("/token");

  EXPECT_TRUE(Ask().object);
}

TEST_F(SecureApiClientTest, SaysWhichFileIsMissingOrWrong) {
  Use(access);
  ApiAnswer missing = Ask();
  tree.File("/token", "");
  ApiAnswer empty = Ask();
  tree.File("/token", "one\r\nX-Evil: 1");
  ApiAnswer evil = Ask();

  EXPECT_THAT(missing.object.error().message(), HasSubstr(tree.Real("/token") + ": No such file"));
  EXPECT_THAT(empty.object.error().message(), HasSubstr(tree.Real("/token") + " is empty"));
  EXPECT_THAT(evil.object.error().message(), HasSubstr("has characters that no token has"));
  EXPECT_TRUE(secure.requests.empty());
}

TEST_F(SecureApiClientTest, TrustsARenewedAuthorityFromTheNextRequestOn) {
  tree.File("/token", "one");
  Use(access);
  EXPECT_TRUE(Ask().object);
  // Both the authority and the server's certificate are replaced, and all connections end.
  TestAuthority renewed(tree.root(), "ca");
  secure.Cut();
  EXPECT_FALSE(Ask().object) << "the server still has its old certificate";
  (void)renewed.Issue("server", "IP:127.0.0.1");
  secure.Cut();

  ApiAnswer answer = Ask();

  EXPECT_TRUE(answer.object) << answer.object.error().message();
}

}  // namespace
}  // namespace tenon::kubeapi
