#include "admin/http_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::admin {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using Kind = HttpReader::Kind;
using State = HttpReader::State;

bool Reading(const HttpReader& reader) {
  return reader.state() == State::kHead || reader.state() == State::kBody;
}

/// Feeds all of `bytes` in pieces of this size. Returns: what the message left over.
std::string FeedAll(HttpReader& reader, std::string_view bytes, size_t piece = 1 << 20) {
  while (!bytes.empty() && Reading(reader))
    bytes.remove_prefix(reader.Feed(bytes.substr(0, piece)));
  return std::string(bytes);
}

HttpReader::Failure FailureOf(std::string_view bytes, HttpReader::Limits limits = {}) {
  HttpReader reader(Kind::kRequest, limits);
  FeedAll(reader, bytes);
  return reader.state() == State::kFailed ? reader.failure() : HttpReader::Failure{0, "none"};
}

constexpr std::string_view kPost =
    "POST /pods?grace=3 HTTP/1.1\r\nHost: x\r\nX-Twice: a\r\nContent-Length: 5\r\nx-twice: "
    "b\r\n\r\n"
    "hello";

TEST(HttpReader, ReadsARequestCutAnywhere) {
  for (size_t piece = 1; piece <= kPost.size(); ++piece) {
    HttpReader reader(Kind::kRequest, {});

    std::string rest = FeedAll(reader, kPost, piece);

    ASSERT_EQ(State::kComplete, reader.state()) << piece;
    EXPECT_EQ("", rest);
    EXPECT_TRUE(reader.keep_alive());
    HttpRequest request = reader.TakeRequest();
    EXPECT_EQ("POST", request.method);
    EXPECT_EQ("/pods", request.path);
    EXPECT_THAT(request.query, ElementsAre(Pair("grace", "3")));
    EXPECT_THAT(request.headers, ElementsAre(Pair("content-length", "5"), Pair("host", "x"),
                                             Pair("x-twice", "a, b")));
    EXPECT_EQ("hello", request.body);
  }
}

TEST(HttpReader, StopsBetweenHeadAndBody) {
  HttpReader reader(Kind::kRequest, {});

  size_t taken = reader.Feed(kPost);

  EXPECT_EQ(State::kBody, reader.state());
  EXPECT_EQ("/pods", reader.request().path);
  EXPECT_THAT(std::string(kPost.substr(taken)), HasSubstr("hello"));
}

TEST(HttpReader, LeavesTheNextRequestAlone) {
  HttpReader reader(Kind::kRequest, {});

  std::string rest = FeedAll(reader, "GET /a HTTP/1.0\r\n\r\nGET /b HTTP/1.0\r\n\r\n");

  EXPECT_EQ(State::kComplete, reader.state());
  EXPECT_EQ("GET /b HTTP/1.0\r\n\r\n", rest);
  EXPECT_FALSE(reader.keep_alive());
  EXPECT_TRUE(reader.is_http_1_0());
}

TEST(HttpReader, DecodesAChunkedBody) {
  HttpReader reader(Kind::kRequest, {});

  FeedAll(reader,
          "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
          "3;why=x\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: x\r\n\r\n",
          1);

  ASSERT_EQ(State::kComplete, reader.state());
  EXPECT_EQ("abcde", reader.TakeRequest().body);
}

TEST(HttpReader, AnOfferToUpgradeIsServedAsItIs) {
  HttpReader reader(Kind::kRequest, {});

  FeedAll(reader, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n");

  EXPECT_EQ(State::kComplete, reader.state());
}

TEST(HttpReader, SaysWhatIsWrongWithARequest) {
  const std::string head = "GET / HTTP/1.1\r\nHost: x\r\n";
  EXPECT_EQ(400, FailureOf("\x16\x03\x01 TLS, not HTTP").status);
  EXPECT_EQ(400, FailureOf("GET http://evil/ HTTP/1.1\r\nHost: x\r\n\r\n").status);
  EXPECT_EQ(400, FailureOf("GET /%00 HTTP/1.1\r\nHost: x\r\n\r\n").status);
  EXPECT_THAT(FailureOf("GET / HTTP/1.1\r\n\r\n").text, HasSubstr("Host"));
  EXPECT_EQ(505, FailureOf("GET / HTTP/2.0\r\nHost: x\r\n\r\n").status);
  EXPECT_EQ(400,
            FailureOf(head + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n").status);
  EXPECT_EQ(400, FailureOf(head + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n").status);
  EXPECT_EQ(400, FailureOf(head + "Content-Length: -1\r\n\r\n").status);
  EXPECT_EQ(400, FailureOf(head + "Transfer-Encoding: gzip\r\n\r\nx").status);
  EXPECT_EQ(400, FailureOf(head + "no colon\r\n\r\n").status);
  EXPECT_EQ(0, FailureOf(head + "\r\n").status);
}

TEST(HttpReader, BoundsTheHeadHoweverItGrows) {
  const HttpReader::Limits limits{.head_bytes = 100};
  std::string head = "GET / HTTP/1.1\r\nHost: x\r\n";
  std::string many;
  for (int i = 0; i < 30; ++i)
    many += "a:\r\n";
  EXPECT_EQ(431, FailureOf("GET /" + std::string(200, 'a'), limits).status);
  EXPECT_EQ(431, FailureOf(head + std::string(200, 'a'), limits).status);
  EXPECT_EQ(431, FailureOf(head + "a: " + std::string(200, 'a'), limits).status);
  EXPECT_EQ(431, FailureOf(head + many, limits).status);
  EXPECT_EQ(431, FailureOf(head + "Transfer-Encoding: chunked\r\n\r\n0\r\n" + many, limits).status);
}

TEST(HttpReader, BoundsTheBodyDeclaredOrNot) {
  const HttpReader::Limits limits{.body_bytes = 4};
  std::string head = "POST / HTTP/1.1\r\nHost: x\r\n";
  EXPECT_EQ(413, FailureOf(head + "Content-Length: 5\r\n\r\n", limits).status);
  EXPECT_EQ(0, FailureOf(head + "Content-Length: 4\r\n\r\nabcd", limits).status);
  EXPECT_EQ(413, FailureOf(head + "Content-Length: 99999999999999999\r\n\r\n", limits).status);
  EXPECT_EQ(
      413,
      FailureOf(head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n", limits).status);
}

TEST(HttpReader, ReadsAResponseToTheEndOfTheConnection) {
  HttpReader reader(Kind::kResponse, {});

  FeedAll(reader, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nabc");
  EXPECT_EQ(State::kBody, reader.state());
  reader.FeedEnd();

  ASSERT_EQ(State::kComplete, reader.state());
  HttpResponse response = reader.TakeResponse();
  EXPECT_EQ(200, response.status);
  EXPECT_EQ("text/plain", response.content_type);
  EXPECT_EQ("abc", response.body);
}

TEST(HttpReader, AnAnswerToHeadHasNoBody) {
  HttpReader reader(Kind::kHeadResponse, {.body_bytes = 4});

  FeedAll(reader, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");

  EXPECT_EQ(State::kComplete, reader.state());
}

TEST(HttpReader, AMessageThatIsCutOffFails) {
  for (std::string_view bytes :
       {"", "HTTP/1.1 2", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc"}) {
    HttpReader reader(Kind::kResponse, {});
    FeedAll(reader, bytes);

    reader.FeedEnd();

    EXPECT_EQ(State::kFailed, reader.state()) << bytes;
  }
}

}  // namespace
}  // namespace tenon::admin
