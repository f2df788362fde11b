#include "admin/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "admin/http_server.h"
#include "loop/unix_socket.h"

namespace tenon::admin {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

struct HttpClientTest : ::testing::Test {
  HttpClientTest() {
    std::string pattern = ::testing::TempDir() + "tenon-XXXXXX";
    directory = ::mkdtemp(pattern.data());
    path = directory + "/s";
  }
  ~HttpClientTest() override { std::filesystem::remove_all(directory); }
  Result<HttpResponse> Fetch(const HttpRequest& request, HttpFetch::Options options = {}) {
    std::optional<Result<HttpResponse>> answer;
    auto fetch = HttpFetch::Start(*loop, path, request, options,
                                  [&](Result<HttpResponse> r) { answer = std::move(r); });
    EXPECT_FALSE(answer) << "never within the call";
    EXPECT_TRUE(loop->RunUntil([&] { return answer.has_value(); }, seconds(5)));
    return answer ? *std::move(answer) : Error(Code::kInternal, "no callback");
  }
  /// What a server that says just these bytes, and then closes, makes of a request.
  Result<HttpResponse> FetchFrom(std::string_view bytes) {
    auto listener = *loop::UnixListener::Listen(path, 0600);
    base::UniqueFd peer;
    auto watch = *loop->WatchFd(listener->fd(), loop::kReadable, [&](unsigned) {
      peer.Reset(::accept4(listener->fd(), nullptr, nullptr, SOCK_CLOEXEC));
      ::send(peer.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      peer.Reset();
    });
    return Fetch({.path = "/"});
  }
  base::SystemClock clock;
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  std::string directory, path;
};

TEST_F(HttpClientTest, SendsTheWholeRequestAndReadsTheAnswer) {
  HttpServer server(*loop);
  server.Route("POST", "/a b", [](const HttpRequest& request, Responder responder) {
    responder.Send({.status = 201,
                    .content_type = "text/plain",
                    .body = request.query.at("x&y") + request.headers.at("x-name") + request.body});
  });
  ASSERT_TRUE(server.ListenUnix(path));
  std::string large(700 << 10, 'x');

  auto answer = Fetch({.method = "POST",
                       .path = "/a b",
                       .query = {{"x&y", "1/2 "}},
                       .headers = {{"X-Name", "n "}},
                       .body = large});

  ASSERT_TRUE(answer);
  EXPECT_EQ(201, answer->status);
  EXPECT_EQ("text/plain", answer->content_type);
  EXPECT_TRUE(answer->body == "1/2 n" + large) << answer->body.size();
}

TEST_F(HttpClientTest, ReadsTheRefusalOfABodyThatItCouldNotSend) {
  HttpServer server(*loop, {.max_body_bytes = 10});
  ASSERT_TRUE(server.ListenUnix(path));

  auto answer = Fetch({.method = "POST", .path = "/", .body = std::string(4 << 20, 'x')});

  ASSERT_TRUE(answer);
  EXPECT_EQ(413, answer->status);
}

TEST_F(HttpClientTest, SaysThatNoSocketIsThere) {
  auto answer = Fetch({.path = "/"});

  ASSERT_FALSE(answer);
  EXPECT_EQ(Code::kNotFound, answer.error().code());
  EXPECT_EQ("connect " + path + ": No such file or directory", answer.error().message());
}

TEST_F(HttpClientTest, GivesUpAtTheDeadline) {
  auto silent = loop::UnixListener::Listen(path, 0600);

  auto answer = Fetch({.path = "/"}, {.deadline = milliseconds(20)});

  ASSERT_FALSE(answer);
  EXPECT_EQ(Code::kDeadlineExceeded, answer.error().code());
}

TEST_F(HttpClientTest, TellsAServerThatGoesAwayFromOneThatTalksNonsense) {
  EXPECT_EQ(Code::kUnavailable, FetchFrom("").error().code());
  EXPECT_EQ(Code::kUnavailable,
            FetchFrom("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc").error().code());
  EXPECT_EQ(Code::kDataLoss, FetchFrom("SSH-2.0-x\r\n").error().code());
  EXPECT_EQ("abc", FetchFrom("HTTP/1.0 200 OK\r\n\r\nabc")->body);
}

TEST_F(HttpClientTest, BoundsTheAnswer) {
  HttpServer server(*loop);
  server.Route("GET", "/", [](const HttpRequest&, Responder responder) {
    responder.Send({.body = std::string(100, 'x')});
  });
  ASSERT_TRUE(server.ListenUnix(path));

  EXPECT_EQ(Code::kDataLoss, Fetch({.path = "/"}, {.max_body_bytes = 99}).error().code());
  EXPECT_TRUE(Fetch({.path = "/"}, {.max_body_bytes = 100}));
}

TEST_F(HttpClientTest, ADestroyedFetchIsNeverHeardOfAgain) {
  HttpServer server(*loop);
  std::vector<Responder> pending;
  server.Route("GET", "/", [&](const HttpRequest&, Responder responder) {
    pending.push_back(std::move(responder));
  });
  ASSERT_TRUE(server.ListenUnix(path));
  bool called = false;
  auto fetch = HttpFetch::Start(*loop, path, {.path = "/"}, {},
                                [&](Result<HttpResponse>) { called = true; });
  ASSERT_TRUE(loop->RunUntil([&] { return pending.size() == 1; }, seconds(5)));

  fetch.reset();

  EXPECT_TRUE(loop->RunUntil([&] { return !pending[0].wanted(); }, seconds(5)));
  EXPECT_FALSE(called);
}

TEST_F(HttpClientTest, TheCallbackMayDestroyTheFetch) {
  std::unique_ptr<HttpFetch> fetch;
  bool called = false;
  fetch = HttpFetch::Start(*loop, path, {.path = "/"}, {}, [&](Result<HttpResponse>) {
    fetch.reset();
    called = true;
  });

  EXPECT_TRUE(loop->RunUntil([&] { return called; }, seconds(5)));
}

}  // namespace
}  // namespace tenon::admin
