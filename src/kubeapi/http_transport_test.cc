#include "kubeapi/http_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
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

std::string Text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct HttpTransportTest : ::testing::Test {
  base::SystemClock clock;
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  std::unique_ptr<HttpTransport> transport = *HttpTransport::Create(*loop);
  FakeApiServer::Answer answer{.body = "{}"};
  std::optional<Result<HttpAnswer>> result;

  std::unique_ptr<HttpCall> Start(HttpRequest request) {
    result.reset();
    return transport->Start(std::move(request),
                            [this](Result<HttpAnswer> got) { result = std::move(got); });
  }
  Result<HttpAnswer> Fetch(HttpRequest request) {
    auto call = Start(std::move(request));
    EXPECT_FALSE(result);
    if (!loop->RunUntil([this] { return result.has_value(); }, std::chrono::seconds(20)))
      return Error(Code::kInternal, "no answer");
    return *std::move(result);
  }
  FakeApiServer::AnswerFn Answering() {
    return [this](const FakeApiServer::Request&) { return answer; };
  }
};

TEST_F(HttpTransportTest, SendsMethodHeadersAndBodyAndGivesTheAnswer) {
  FakeApiServer server(*loop, Answering());
  answer = {.status = 429, .body = "busy", .headers = {"retry-AFTER: 7"}};

  auto got = Fetch({.method = "PATCH",
                    .url = server.Url() + "/api/x?y=z",
                    .headers = {"Content-Type: application/json-patch+json", "X-A: b"},
                    .body = "[]"});

  ASSERT_TRUE(got) << got.error().message();
  EXPECT_EQ(429, got->status);
  EXPECT_EQ("7", got->retry_after);
  EXPECT_EQ("busy", got->body);
  ASSERT_EQ(1U, server.requests.size());
  EXPECT_EQ("PATCH /api/x?y=z", server.requests[0].Line());
  EXPECT_EQ("[]", server.requests[0].body);
  EXPECT_EQ("application/json-patch+json", server.requests[0].headers["content-type"]);
  EXPECT_EQ("b", server.requests[0].headers["x-a"]);
}

TEST_F(HttpTransportTest, PassesAStreamOnAsItComes) {
  FakeApiServer server(*loop, Answering());
  answer = {.is_stream = true};
  std::string got;

  auto call = Start({.url = server.Url(), .on_bytes = [&got](std::string_view bytes) {
                       got += bytes;
                       return Result<void>();
                     }});
  ASSERT_TRUE(loop->RunUntil([&] { return server.streams() == 1; }, std::chrono::seconds(20)));
  server.SendLine("one");
  ASSERT_TRUE(loop->RunUntil([&] { return got == "one\n"; }, std::chrono::seconds(20)));
  server.SendLine("two");
  server.EndStreams();
  ASSERT_TRUE(loop->RunUntil([this] { return result.has_value(); }, std::chrono::seconds(20)));

  EXPECT_EQ("one\ntwo\n", got);
  ASSERT_TRUE(*result);
  EXPECT_EQ("", (*result)->body);
}

TEST_F(HttpTransportTest, AReaderThatRefusesEndsTheStream) {
  FakeApiServer server(*loop, Answering());
  answer = {.body = "x", .is_stream = true};

  auto got = Fetch({.url = server.Url(), .on_bytes = [](std::string_view) -> Result<void> {
                      return Error(Code::kDataLoss, "no");
                    }});

  ASSERT_FALSE(got);
  EXPECT_EQ("no", got.error().message());
}

TEST_F(HttpTransportTest, ACallMayBeDestroyedByItsReaderAndByItsEnd) {
  FakeApiServer server(*loop, Answering());
  std::unique_ptr<HttpCall> call;
  bool read = false;
  answer = {.body = "x", .is_stream = true};
  call = transport->Start({.url = server.Url(),
                           .on_bytes =
                               [&](std::string_view) {
                                 call.reset();
                                 read = true;
                                 return Result<void>();
                               }},
                          [](const Result<HttpAnswer>&) { FAIL(); });
  ASSERT_TRUE(loop->RunUntil([&] { return read; }, std::chrono::seconds(20)));

  bool ended = false;
  answer = {.body = "{}"};
  call = transport->Start({.url = server.Url()}, [&](const Result<HttpAnswer>&) {
    call.reset();
    ended = true;
  });
  EXPECT_TRUE(loop->RunUntil([&] { return ended; }, std::chrono::seconds(20)));
}

TEST_F(HttpTransportTest, ADestroyedCallTellsNothing) {
  FakeApiServer server(*loop, Answering());

  auto call = Start({.url = server.Url()});
  call.reset();
  auto other = Fetch({.url = server.Url() + "/other"});

  EXPECT_TRUE(other);
  EXPECT_THAT(server.Lines(), ElementsAre("GET /other"));
}

TEST_F(HttpTransportTest, SaysWhyThereIsNoAnswer) {
  FakeApiServer silent(*loop, [](const auto&) { return std::nullopt; });
  FakeApiServer cutting(*loop, [&](const auto&) { return std::nullopt; });

  auto late = Fetch({.url = silent.Url(), .limit = std::chrono::milliseconds(50)});
  auto refused = Fetch({.url = "http://127.0.0.1:1"});
  auto unsupported = Fetch({.url = "file:///etc/passwd"});
  auto call = Start({.url = cutting.Url()});
  ASSERT_TRUE(loop->RunUntil([&] { return !cutting.requests.empty(); }, std::chrono::seconds(20)));
  // Not by the server within its own callback.
  cutting.Cut();
  ASSERT_TRUE(loop->RunUntil([this] { return result.has_value(); }, std::chrono::seconds(20)));

  ASSERT_FALSE(late);
  EXPECT_EQ(Code::kDeadlineExceeded, late.error().code());
  ASSERT_FALSE(refused);
  EXPECT_EQ(Code::kUnavailable, refused.error().code());
  EXPECT_THAT(refused.error().message(), HasSubstr("127.0.0.1 port 1"));
  ASSERT_FALSE(unsupported);
  EXPECT_THAT(unsupported.error().message(), HasSubstr("rotocol"));
  EXPECT_FALSE(*result);
}

TEST_F(HttpTransportTest, AnAnswerThatIsTooLongIsAnError) {
  FakeApiServer server(*loop, Answering());
  answer.body = std::string(5000, 'x');

  auto got = Fetch({.url = server.Url(), .max_body_bytes = 4999});

  ASSERT_FALSE(got);
  EXPECT_EQ("the answer is longer than 4999 bytes", got.error().message());
}

TEST_F(HttpTransportTest, FollowsNoRedirect) {
  FakeApiServer server(*loop, Answering());
  answer = {.status = 302, .headers = {"Location: " + server.Url() + "/elsewhere"}};

  auto got = Fetch({.url = server.Url()});

  ASSERT_TRUE(got);
  EXPECT_EQ(302, got->status);
  EXPECT_EQ(1U, server.requests.size());
}

struct TlsTest : HttpTransportTest {
  host::TempTree tree;
  TestAuthority authority{tree.root(), "authority"};
  TestAuthority::Pair pair = authority.Issue("server", "IP:127.0.0.1");
  FakeApiServer::TlsFiles files{.certificate = pair.certificate, .key = pair.key};
};

TEST_F(TlsTest, TrustsOnlyTheAuthorityThatItIsGiven) {
  FakeApiServer server(*loop, Answering(), files);
  TestAuthority other(tree.root(), "other");

  auto good = Fetch({.url = server.Url(), .tls = {.authority = Text(authority.certificate())}});
  auto bad = Fetch({.url = server.Url(), .tls = {.authority = Text(other.certificate())}});
  auto system = Fetch({.url = server.Url()});

  EXPECT_TRUE(good);
  ASSERT_FALSE(bad);
  EXPECT_EQ(Code::kFailedPrecondition, bad.error().code());
  EXPECT_THAT(bad.error().message(), HasSubstr("certificate"));
  EXPECT_FALSE(system);
}

TEST_F(TlsTest, RefusesACertificateForAnotherName) {
  const auto wrong = authority.Issue("wrong", "DNS:api.example");
  FakeApiServer server(*loop, Answering(), {{.certificate = wrong.certificate, .key = wrong.key}});
  const TlsOptions tls{.authority = Text(authority.certificate())};
  const std::string port = std::to_string(server.port());

  auto bad = Fetch({.url = server.Url(), .tls = tls});
  auto good =
      Fetch({.url = "https://api.example:" + port, .tls = tls, .connect_to = "127.0.0.1:" + port});

  ASSERT_FALSE(bad);
  EXPECT_EQ(Code::kFailedPrecondition, bad.error().code());
  EXPECT_TRUE(good);
}

TEST_F(TlsTest, ShowsTheClientsCertificateToAServerThatAsks) {
  files.client_authority = authority.certificate();
  FakeApiServer server(*loop, Answering(), files);
  const auto client = authority.Issue("client", "DNS:client");

  auto without = Fetch({.url = server.Url(), .tls = {.authority = Text(authority.certificate())}});
  auto with = Fetch({.url = server.Url(),
                     .tls = {.authority = Text(authority.certificate()),
                             .certificate = Text(client.certificate),
                             .key = Text(client.key)}});
  auto broken = Fetch(
      {.url = server.Url(),
       .tls = {
           .authority = Text(authority.certificate()), .certificate = "no PEM", .key = "no PEM"}});

  EXPECT_FALSE(without);
  EXPECT_TRUE(with) << with.error().message();
  ASSERT_FALSE(broken);
  EXPECT_EQ(Code::kFailedPrecondition, broken.error().code());
}

}  // namespace
}  // namespace tenon::kubeapi
