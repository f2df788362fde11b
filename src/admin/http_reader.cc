#include "admin/http_reader.h"

#include <http_parser.h>

#include <utility>

#include "base/check.h"
#include "base/strings.h"

namespace tenon::admin {

struct HttpReader::Parser {
  Parser(Kind reader_kind, Limits reader_limits) : kind(reader_kind), limits(reader_limits) {
    http_parser_init(&parser, kind == Kind::kRequest ? HTTP_REQUEST : HTTP_RESPONSE);
    parser.data = this;
  }

  static Parser& Of(http_parser* parser) { return *static_cast<Parser*>(parser->data); }
  static http_parser_settings Callbacks();

  int Fail(int status, std::string text) {
    state = State::kFailed;
    failure = {status, std::move(text)};
    return -1;  // Halts the parser.
  }
  int CountHead(size_t bytes);
  int OnUrl(std::string_view bytes);
  int OnHeaderName(std::string_view bytes);
  int OnHeaderValue(std::string_view bytes);
  int OnHeadComplete();
  int OnBody(std::string_view bytes);
  void EndHeader();
  int CheckRequest();

  const Kind kind;
  const Limits limits;
  http_parser parser{};
  State state = State::kHead;
  Failure failure;
  bool started = false;
  bool keep_alive = false;
  size_t head_bytes = 0;
  std::string target;
  std::string header_name;
  std::string header_value;
  bool in_value = false;
  HttpRequest message;  ///< Of a response, too: headers and body.
};

int HttpReader::Parser::CountHead(size_t bytes) {
  head_bytes += bytes;
  if (head_bytes <= limits.head_bytes) return 0;
  return Fail(431, "the request line and headers are longer than " +
                       std::to_string(limits.head_bytes) + " bytes");
}

int HttpReader::Parser::OnUrl(std::string_view bytes) {
  target += bytes;
  return CountHead(bytes.size());
}

int HttpReader::Parser::OnHeaderName(std::string_view bytes) {
  if (in_value) EndHeader();
  constexpr size_t kSeparators = 4;  // Colon, space, CR, LF: many empty headers cost, too.
  if (header_name.empty() && CountHead(kSeparators) != 0) return -1;
  for (char c : bytes)
    header_name.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
  return CountHead(bytes.size());
}

int HttpReader::Parser::OnHeaderValue(std::string_view bytes) {
  in_value = true;
  header_value += bytes;
  return CountHead(bytes.size());
}

void HttpReader::Parser::EndHeader() {
  if (header_name.empty()) return;
  // Blanks behind a value are not part of it (RFC 9110 §5.5); the parser leaves them there.
  header_value.erase(header_value.find_last_not_of(" \t") + 1);
  auto [entry, added] = message.headers.try_emplace(std::move(header_name), header_value);
  if (!added) entry->second.append(", ").append(header_value);
  header_name.clear();
  header_value.clear();
  in_value = false;
}

int HttpReader::Parser::CheckRequest() {
  message.method = http_method_str(static_cast<http_method>(parser.method));
  if (!ParseTarget(target, message))
    return Fail(400, "'" + base::EscapeForLine(target) + "' is not a path on this server");
  if (parser.http_minor >= 1 && message.headers.count("host") == 0)
    return Fail(400, "an HTTP/1.1 request needs a Host header");
  return 0;
}

int HttpReader::Parser::OnHeadComplete() {
  EndHeader();
  if (parser.http_major != 1) return Fail(505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
  if (kind == Kind::kRequest && CheckRequest() != 0) return -1;
  constexpr uint64_t kNoLength = ~uint64_t{0};
  if (parser.content_length != kNoLength && parser.content_length > limits.body_bytes &&
      kind != Kind::kHeadResponse) {
    return Fail(413, "the body is longer than " + std::to_string(limits.body_bytes) + " bytes");
  }
  keep_alive = http_should_keep_alive(&parser) != 0;
  parser.upgrade = 0;  // Other protocols are not offered; the request is served as it is.
  state = State::kBody;
  http_parser_pause(&parser, 1);
  return kind == Kind::kHeadResponse ? 1 : 0;
}

int HttpReader::Parser::OnBody(std::string_view bytes) {
  if (message.body.size() + bytes.size() > limits.body_bytes)
    return Fail(413, "the body is longer than " + std::to_string(limits.body_bytes) + " bytes");
  message.body += bytes;
  return 0;
}

http_parser_settings HttpReader::Parser::Callbacks() {
  http_parser_settings settings;
  http_parser_settings_init(&settings);
  settings.on_url = [](http_parser* p, const char* at, size_t size) {
    return Of(p).OnUrl({at, size});
  };
  settings.on_header_field = [](http_parser* p, const char* at, size_t size) {
    return Of(p).OnHeaderName({at, size});
  };
  settings.on_header_value = [](http_parser* p, const char* at, size_t size) {
    return Of(p).OnHeaderValue({at, size});
  };
  settings.on_headers_complete = [](http_parser* p) { return Of(p).OnHeadComplete(); };
  settings.on_body = [](http_parser* p, const char* at, size_t size) {
    return Of(p).OnBody({at, size});
  };
  settings.on_message_complete = [](http_parser* p) {
    Of(p).state = State::kComplete;
    http_parser_pause(p, 1);
    return 0;
  };
  return settings;
}

HttpReader::HttpReader(Kind kind, Limits limits)
    : parser_(std::make_unique<Parser>(kind, limits)) {}

HttpReader::~HttpReader() = default;

size_t HttpReader::Feed(std::string_view bytes) {
  TENON_CHECK(state() == State::kHead || state() == State::kBody);
  if (bytes.empty()) return 0;  // The parser takes an empty read for the end of the stream.
  const http_parser_settings settings = Parser::Callbacks();
  http_parser* parser = &parser_->parser;
  parser_->started = true;
  http_parser_pause(parser, 0);
  size_t taken = http_parser_execute(parser, &settings, bytes.data(), bytes.size());
  auto error = HTTP_PARSER_ERRNO(parser);
  if (error != HPE_OK && error != HPE_PAUSED && state() != State::kFailed)
    parser_->Fail(400, http_errno_description(error));
  return taken;
}

void HttpReader::FeedEnd() {
  TENON_CHECK(state() == State::kHead || state() == State::kBody);
  const http_parser_settings settings = Parser::Callbacks();
  http_parser_pause(&parser_->parser, 0);
  http_parser_execute(&parser_->parser, &settings, nullptr, 0);
  if (state() == State::kHead || state() == State::kBody)
    parser_->Fail(400, "the connection ended in the middle of a message");
}

HttpReader::State HttpReader::state() const {
  return parser_->state;
}

const HttpReader::Failure& HttpReader::failure() const {
  TENON_CHECK(state() == State::kFailed);
  return parser_->failure;
}

bool HttpReader::started() const {
  return parser_->started;
}

const HttpRequest& HttpReader::request() const {
  return parser_->message;
}

HttpRequest HttpReader::TakeRequest() {
  TENON_CHECK(state() == State::kComplete);
  return std::move(parser_->message);
}

HttpResponse HttpReader::TakeResponse() {
  TENON_CHECK(state() == State::kComplete);
  HttpResponse response{.status = static_cast<int>(parser_->parser.status_code),
                        .content_type = "",
                        .body = std::move(parser_->message.body),
                        .headers = std::move(parser_->message.headers)};
  if (auto type = response.headers.find("content-type"); type != response.headers.end())
    response.content_type = type->second;
  return response;
}

bool HttpReader::keep_alive() const {
  return parser_->keep_alive;
}

bool HttpReader::is_head() const {
  return parser_->kind == Kind::kRequest && parser_->parser.method == HTTP_HEAD;
}

bool HttpReader::is_http_1_0() const {
  return parser_->parser.http_major == 1 && parser_->parser.http_minor == 0;
}

}  // namespace tenon::admin
