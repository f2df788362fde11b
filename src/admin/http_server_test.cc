#include "admin/http_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "base/strings.h"
#include "loop/unix_socket.h"

namespace tenon::admin {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A client that writes any bytes and keeps what comes back.
struct RawClient {
  explicit RawClient(base::UniqueFd socket) : fd(std::move(socket)) {}
  bool Write(std::string_view bytes) const {
    return ::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  /// Takes what is there without waiting. Returns: whether the server closed the connection.
  bool Poll() {
    char buffer[4096];
    ssize_t got = 0;
    while ((got = ::recv(fd.get(), buffer, sizeof buffer, MSG_DONTWAIT)) > 0)
      received.append(buffer, static_cast<size_t>(got));
    return got == 0 || errno != EAGAIN;
  }
  bool Has(std::string_view text) {
    Poll();
    return received.find(text) != std::string::npos;
  }
  base::UniqueFd fd;
  std::string received;
};

struct HttpServerTest : ::testing::Test {
  HttpServerTest() {
    std::string pattern = ::testing::TempDir() + "tenon-XXXXXX";
    directory = ::mkdtemp(pattern.data());
    path = directory + "/run/admin.sock";
    Start({});
  }
  ~HttpServerTest() override {
    server.reset();
    std::filesystem::remove_all(directory);
  }
  void Start(HttpServer::Options options) {
    server.reset();
    server = std::make_unique<HttpServer>(*loop, options);
    server->Route("GET", "/hello", [](const HttpRequest&, Responder responder) {
      responder.Send({.content_type = "text/plain", .body = "hello\n"});
    });
    server->Route("POST", "/echo", [](const HttpRequest& request, Responder responder) {
      responder.Send({.status = 201, .content_type = "text/plain", .body = request.body});
    });
    server->Route("GET", "/later", [this](const HttpRequest&, Responder responder) {
      pending.push_back(std::move(responder));
    });
    server->Route(
        "GET", "/pods/{namespace}/{name}", [](const HttpRequest& request, Responder responder) {
          responder.Send(
              {.body = request.params.at("namespace") + " has " + request.params.at("name")});
        });
    ASSERT_TRUE(server->ListenUnix(path));
  }
  RawClient Connect() const { return RawClient(*loop::ConnectUnix(path)); }
  RawClient ConnectTcp(const std::string& address) const {
    base::UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{.sin_family = AF_INET};
    to.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.find(':') + 1))));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(0, ::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof to));
    return RawClient(std::move(fd));
  }
  bool Run(const std::function<bool()>& done) { return loop->RunUntil(done, seconds(5)); }
  /// All that one connection gets for these bytes until the server closes it.
  std::string Exchange(RawClient client, std::string_view bytes) {
    EXPECT_TRUE(client.Write(bytes));
    EXPECT_TRUE(Run([&] { return client.Poll(); })) << client.received;
    return client.received;
  }
  std::string Exchange(std::string_view bytes) { return Exchange(Connect(), bytes); }

  base::SystemClock clock;
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  std::vector<Responder> pending;
  std::string directory, path;
  std::unique_ptr<HttpServer> server;
};

constexpr std::string_view kLast = " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

std::string Get(std::string_view target) {
  return "GET " + std::string(target) + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
}

std::string GetLast(std::string_view target) {
  return "GET " + std::string(target) + std::string(kLast);
}

TEST_F(HttpServerTest, AnswersOnASocketThatOnlyItsOwnerCanOpen) {
  EXPECT_EQ(
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n"
      "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
      "hello\n",
      Exchange(GetLast("/hello")));

  struct stat found {};
  ASSERT_EQ(0, ::stat(path.c_str(), &found));
  EXPECT_EQ(0600U, found.st_mode & 07777);
  ASSERT_EQ(0, ::stat((directory + "/run").c_str(), &found));
  EXPECT_EQ(0700U, found.st_mode & 07777);
}

TEST_F(HttpServerTest, RemovesItsSocketAtTheEnd) {
  server.reset();

  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(HttpServerTest, RefusesASocketThatAnotherServerHas) {
  HttpServer second(*loop);

  EXPECT_EQ(Code::kFailedPrecondition, second.ListenUnix(path).error().code());
}

TEST_F(HttpServerTest, HandsOverTheSegmentsInBraces) {
  EXPECT_THAT(Exchange(GetLast("/pods/default/a%20b")), HasSubstr("default has a b"));
  EXPECT_THAT(Exchange(GetLast("/pods/default/")), StartsWith("HTTP/1.1 404"));
}

TEST_F(HttpServerTest, SaysWhatThereIsNot) {
  EXPECT_THAT(Exchange(GetLast("/none")), HasSubstr("{\"error\":\"there is nothing at /none\"}"));
  std::string refused = Exchange("DELETE /hello" + std::string(kLast));
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 405 Method Not Allowed"));
  EXPECT_THAT(refused, HasSubstr("Allow: GET, HEAD\r\n"));
}

TEST_F(HttpServerTest, AnswersHeadWithTheHeadAlone) {
  std::string answer = Exchange("HEAD /hello" + std::string(kLast));

  EXPECT_THAT(answer, HasSubstr("Content-Length: 6\r\n"));
  EXPECT_THAT(answer, ::testing::EndsWith("\r\n\r\n"));
}

TEST_F(HttpServerTest, KeepsAConnectionForTheNextRequest) {
  RawClient client = Connect();
  client.Write(Get("/hello"));
  ASSERT_TRUE(Run([&] { return client.Has("hello\n"); }));
  EXPECT_THAT(client.received, HasSubstr("Connection: keep-alive"));

  EXPECT_THAT(Exchange(std::move(client), GetLast("/pods/a/b")), HasSubstr("a has b"));
}

TEST_F(HttpServerTest, AnHttp10ConnectionLivesOnlyWhenAsked) {
  EXPECT_THAT(Exchange("GET /hello HTTP/1.0\r\n\r\n"), HasSubstr("Connection: close"));

  RawClient client = Connect();
  client.Write("GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_TRUE(Run([&] { return client.Has("Connection: keep-alive"); }));
}

TEST_F(HttpServerTest, AnswersPipelinedRequestsInTheirOrder) {
  RawClient client = Connect();
  client.Write(Get("/later") + Get("/hello") + Get("/later") + GetLast("/pods/a/b"));
  ASSERT_TRUE(Run([&] { return pending.size() == 1; }));
  pending[0].Send({.body = "first"});
  ASSERT_TRUE(Run([&] { return pending.size() == 2; }));
  pending[1].Send({.body = "third"});

  ASSERT_TRUE(Run([&] { return client.Poll(); }));

  const std::string& got = client.received;
  EXPECT_LT(got.find("first"), got.find("hello\n"));
  EXPECT_LT(got.find("hello\n"), got.find("third"));
  EXPECT_LT(got.find("third"), got.find("a has b"));
}

TEST_F(HttpServerTest, AnswersAClientThatHasClosedItsHalf) {
  RawClient client = Connect();
  client.Write(Get("/later"));
  ::shutdown(client.fd.get(), SHUT_WR);
  ASSERT_TRUE(Run([&] { return pending.size() == 1; }));

  pending[0].Send({.body = "still here"});

  ASSERT_TRUE(Run([&] { return client.Poll(); }));
  EXPECT_THAT(client.received, HasSubstr("still here"));
}

TEST_F(HttpServerTest, AResponderThatIsDroppedAnswers500) {
  RawClient client = Connect();
  client.Write(GetLast("/later"));
  ASSERT_TRUE(Run([&] { return pending.size() == 1; }));

  pending.clear();

  ASSERT_TRUE(Run([&] { return client.Poll(); }));
  EXPECT_THAT(client.received, StartsWith("HTTP/1.1 500"));
}

TEST_F(HttpServerTest, AnsweringAClientThatHasGoneDoesNothing) {
  {
    RawClient client = Connect();
    client.Write(Get("/later"));
    ASSERT_TRUE(Run([&] { return pending.size() == 1; }));
    EXPECT_TRUE(pending[0].wanted());
  }
  ASSERT_TRUE(Run([&] { return !pending[0].wanted(); }));

  pending[0].Send({.body = "anybody?"});
}

TEST_F(HttpServerTest, AResponderMayOutliveTheServer) {
  RawClient client = Connect();
  client.Write(Get("/later"));
  ASSERT_TRUE(Run([&] { return pending.size() == 1; }));

  server.reset();

  EXPECT_FALSE(pending[0].wanted());
  pending[0].Send({});
}

TEST_F(HttpServerTest, ARouteMayDestroyTheServer) {
  Start({});
  bool ran = false;
  server->Route("POST", "/stop", [this, &ran](const HttpRequest&, Responder) {
    server.reset();
    ran = true;
  });
  RawClient client = Connect();
  client.Write(Get("/hello") + "POST /stop HTTP/1.1\r\nHost: x\r\n\r\n" + Get("/hello"));

  EXPECT_TRUE(Run([&] { return ran && client.Poll(); }));
}

TEST_F(HttpServerTest, TakesABodyOfAnyForm) {
  EXPECT_THAT(Exchange("POST /echo HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc"), HasSubstr("abc"));
  EXPECT_THAT(Exchange("POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                       "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"),
              HasSubstr("abc"));
}

TEST_F(HttpServerTest, TellsAClientThatAsksFirstToGoOn) {
  RawClient client = Connect();
  client.Write(
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n"
      "Expect: 100-continue\r\nConnection: close\r\n\r\n");
  ASSERT_TRUE(Run([&] { return client.Has("HTTP/1.1 100 Continue\r\n\r\n"); }));

  EXPECT_THAT(Exchange(std::move(client), "abc"), HasSubstr("\r\n\r\nabc"));
}

TEST_F(HttpServerTest, RefusesABodyBeforeItIsSent) {
  std::string head = " HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nExpect: ";
  EXPECT_THAT(Exchange("POST /none" + head + "100-continue\r\n\r\n"), StartsWith("HTTP/1.1 404"));
  EXPECT_THAT(Exchange("POST /echo" + head + "200-ok\r\n\r\n"), StartsWith("HTTP/1.1 417"));
}

TEST_F(HttpServerTest, RefusesWhatIsTooLarge) {
  Start({.max_head_bytes = 100, .max_body_bytes = 10});

  EXPECT_THAT(Exchange(GetLast("/" + std::string(200, 'a'))), StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(Exchange("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\n"),
              StartsWith("HTTP/1.1 413"));
}

TEST_F(HttpServerTest, ARefusalIsNotOvertakenByAReset) {
  Start({.max_body_bytes = 10});
  auto address = server->ListenTcp("127.0.0.1:0");
  ASSERT_TRUE(address);
  std::string body(200 << 10, 'x');

  // Far more than is ever read: closing at once would reset the connection.
  std::string answer =
      Exchange(ConnectTcp(*address), "GET /hello HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
                                         std::to_string(body.size()) + "\r\n\r\n" + body);

  EXPECT_THAT(answer, StartsWith("HTTP/1.1 413"));
}

TEST_F(HttpServerTest, GarbageIsRefusedAndTheServerLives) {
  for (std::string_view bytes :
       {std::string_view("\0\0\0\0\r\n\r\n", 8), std::string_view("\x16\x03\x01\x02"),
        std::string_view("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), std::string_view("GET\r\n\r\n")}) {
    EXPECT_THAT(Exchange(bytes), StartsWith("HTTP/1.1 400")) << base::EscapeForLine(bytes);
  }
  EXPECT_THAT(Exchange(GetLast("/hello")), HasSubstr("hello\n"));
}

TEST_F(HttpServerTest, AHalfRequestIsAnsweredWhenItsTimeIsOver) {
  Start({.request_timeout = milliseconds(20)});

  EXPECT_THAT(Exchange("GET /hel"), StartsWith("HTTP/1.1 408"));
}

TEST_F(HttpServerTest, AnIdleConnectionIsClosedWithoutAWord) {
  Start({.idle_timeout = milliseconds(20)});

  EXPECT_EQ("", Exchange(""));
}

TEST_F(HttpServerTest, AClientThatTakesNothingIsGivenUp) {
  Start({.idle_timeout = milliseconds(50)});
  bool asked = false;
  server->Route("GET", "/much", [&](const HttpRequest&, Responder responder) {
    asked = true;
    responder.Send({.body = std::string(4 << 20, 'x')});
  });
  RawClient client = Connect();
  client.Write(Get("/much"));
  ASSERT_TRUE(Run([&] { return asked; }));

  // Hung up is told by the error queue; reading would be taking.
  pollfd hangup{.fd = client.fd.get(), .events = POLLRDHUP};
  EXPECT_TRUE(Run([&] { return ::poll(&hangup, 1, 0) == 1; }));
}

TEST_F(HttpServerTest, AnIdleConnectionMakesRoomForANewOne) {
  Start({.max_connections = 2});
  RawClient idle = Connect();
  RawClient busy = Connect();
  busy.Write(Get("/later"));
  ASSERT_TRUE(Run([&] { return pending.size() == 1; }));

  EXPECT_THAT(Exchange(GetLast("/hello")), HasSubstr("hello\n"));

  EXPECT_TRUE(Run([&] { return idle.Poll(); }));
  EXPECT_TRUE(pending[0].wanted());
}

TEST_F(HttpServerTest, TooManyBusyConnectionsAreRefused) {
  Start({.max_connections = 1});
  RawClient busy = Connect();
  busy.Write(Get("/later"));
  ASSERT_TRUE(Run([&] { return pending.size() == 1; }));

  EXPECT_THAT(Exchange(""), StartsWith("HTTP/1.1 503"));
}

TEST_F(HttpServerTest, OnTcpOneMayOnlyLook) {
  auto address = server->ListenTcp(":0");
  ASSERT_TRUE(address);
  EXPECT_THAT(*address, StartsWith("127.0.0.1:"));

  EXPECT_THAT(Exchange(ConnectTcp(*address),
                       "GET /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
              HasSubstr("hello\n"));
  EXPECT_THAT(Exchange(ConnectTcp(*address), "GET /hello HTTP/1.0\r\n\r\n"), HasSubstr("hello\n"));
  std::string refused = Exchange(
      ConnectTcp(*address), "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(refused, HasSubstr("Allow: GET, HEAD"));
}

TEST_F(HttpServerTest, OnTcpTheHostOfAForeignPageIsRefused) {
  auto address = server->ListenTcp("127.0.0.1:0");
  ASSERT_TRUE(address);

  EXPECT_THAT(Exchange(ConnectTcp(*address), "GET /hello HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
              StartsWith("HTTP/1.1 421"));
}

size_t OpenDescriptors() {
  return static_cast<size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

TEST_F(HttpServerTest, DescriptorsStayFlatOverManyConnections) {
  Exchange(GetLast("/hello"));
  size_t before = OpenDescriptors();

  for (int i = 0; i < 200; ++i) {
    Exchange(i % 2 == 0 ? GetLast("/hello") : "GARBAGE\r\n\r\n");
    Connect().Write("GET /half");
  }

  EXPECT_TRUE(Run([&] { return OpenDescriptors() == before; })) << OpenDescriptors();
}

}  // namespace
}  // namespace tenon::admin
