#include "admin/http_connection.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "admin/tcp_address.h"
#include "base/check.h"

namespace tenon::admin {
namespace {

constexpr size_t kReadBytes = size_t{16} << 10;
/// How long a client may take to see our end of the connection closed.
constexpr base::Duration kLinger = std::chrono::seconds(2);

bool MayLookOnly(const std::string& method) {
  return method == "GET" || method == "HEAD";
}

HttpResponse MethodNotAllowed(const std::string& method, const std::string& allowed) {
  HttpResponse response = ErrorResponse(405, method + " is not possible here, only " + allowed);
  response.headers["Allow"] = allowed;
  return response;
}

}  // namespace

HttpConnection::HttpConnection(base::UniqueFd fd, Environment environment)
    : fd_(std::move(fd)), environment_(std::move(environment)) {}

HttpConnection::~HttpConnection() {
  if (link_) link_->connection = nullptr;
}

Result<void> HttpConnection::Start() {
  TENON_TRY(watch_, environment_.loop.WatchFd(fd_.get(), loop::kReadable,
                                              [this](unsigned events) { OnEvents(events); }));
  ExpectRequest();
  return {};
}

void HttpConnection::Close() {
  if (closed()) return;
  state_ = State::kClosed;
  if (link_) link_->connection = nullptr;
  link_.reset();
  deadline_.Cancel();
  watch_.Cancel();
  ::shutdown(fd_.get(), SHUT_RDWR);
  environment_.on_closed();
}

bool HttpConnection::idle() const {
  return state_ == State::kLingering || (state_ == State::kReading && !reader_->started());
}

void HttpConnection::ExpectRequest() {
  state_ = State::kReading;
  match_ = {};
  reader_ = std::make_unique<HttpReader>(
      HttpReader::Kind::kRequest,
      HttpReader::Limits{.head_bytes = environment_.options.max_head_bytes,
                         .body_bytes = environment_.options.max_body_bytes});
  CloseAfter(environment_.options.idle_timeout);
  UpdateWatch();
}

void HttpConnection::CloseAfter(base::Duration delay) {
  deadline_ = environment_.loop.timers().After(delay, [this] { Close(); });
}

void HttpConnection::UpdateWatch() {
  bool reads = state_ == State::kReading || state_ == State::kLingering;
  watch_.SetEvents((reads ? loop::kReadable : loop::kNone) |
                   (output_.empty() ? loop::kNone : loop::kWritable));
}

void HttpConnection::OnEvents(unsigned events) {
  if ((events & loop::kWritable) != 0) Flush();
  if (state_ == State::kReading || state_ == State::kLingering) {
    if ((events & ~loop::kWritable) != 0) ReadInput();
    Advance();  // Last: a route may destroy this connection.
  } else if ((events & loop::kHangup) != 0) {
    Close();  // Nobody is left to take the answer.
  }
}

void HttpConnection::ReadInput() {
  std::array<char, kReadBytes> buffer;
  ssize_t got = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got < 0) return Close();
  end_of_input_ = got == 0;
  if (state_ == State::kReading) input_.append(buffer.data(), static_cast<size_t>(got));
  if (state_ == State::kLingering && end_of_input_) Close();
}

void HttpConnection::Advance() {
  while (state_ == State::kReading && !input_.empty()) {
    if (!reader_->started()) {
      deadline_ = environment_.loop.timers().After(environment_.options.request_timeout, [this] {
        Refuse(ErrorResponse(408, "the request did not come to its end in time"));
      });
    }
    input_.erase(0, reader_->Feed(input_));
    if (reader_->state() == HttpReader::State::kFailed) {
      Refuse(ErrorResponse(reader_->failure().status, reader_->failure().text));
    } else if (reader_->state() == HttpReader::State::kBody && match_.route == nullptr) {
      OnHead();
    } else if (reader_->state() == HttpReader::State::kComplete) {
      return Dispatch();
    }
  }
  if (state_ == State::kReading && end_of_input_) Close();
}

void HttpConnection::OnHead() {
  const HttpRequest& request = reader_->request();
  if (auto refusal = Refusal(request)) return Refuse(*refusal);
  match_ = environment_.router.Find(request);
  if (match_.route == nullptr) {
    Refuse(match_.allowed.empty() ? ErrorResponse(404, "there is nothing at " + request.path)
                                  : MethodNotAllowed(request.method, match_.allowed));
  } else if (request.headers.count("expect") != 0 && !reader_->is_http_1_0()) {
    output_ += "HTTP/1.1 100 Continue\r\n\r\n";
    UpdateWatch();
  }
}

std::optional<HttpResponse> HttpConnection::Refusal(const HttpRequest& request) const {
  auto expect = request.headers.find("expect");
  if (expect != request.headers.end() && expect->second != "100-continue")
    return ErrorResponse(417, "only 100-continue can be expected here");
  if (environment_.origin == Origin::kUnix) return std::nullopt;
  auto host = request.headers.find("host");
  if (host != request.headers.end() && !IsTrustedHost(host->second)) {
    return ErrorResponse(
        421, "the Host header must be an IP address or localhost, not '" + host->second + "'");
  }
  if (!MayLookOnly(request.method)) return MethodNotAllowed(request.method, "GET, HEAD");
  return std::nullopt;
}

void HttpConnection::Dispatch() {
  keep_alive_ = reader_->keep_alive();
  state_ = State::kAnswering;
  deadline_.Cancel();
  UpdateWatch();
  HttpRequest request = reader_->TakeRequest();
  request.params = std::move(match_.params);
  link_ = std::make_shared<Responder::Link>(Responder::Link{this});
  // The route may destroy the server, with itself and this connection in it: a copy runs, and
  // nothing of ours is touched after it.
  HttpServer::RouteFn route = *match_.route;
  route(request, Responder(link_));
}

void HttpConnection::Answer(const HttpResponse& response) {
  TENON_CHECK(state_ == State::kAnswering);
  link_->connection = nullptr;
  link_.reset();
  state_ = State::kWriting;
  CloseAfter(environment_.options.idle_timeout);
  Queue(response);
}

void HttpConnection::Refuse(const HttpResponse& response) {
  // What is left of the request cannot be told from the next one.
  keep_alive_ = false;
  state_ = State::kWriting;
  CloseAfter(environment_.options.idle_timeout);
  Queue(response);
}

void HttpConnection::Queue(const HttpResponse& response) {
  output_ += "HTTP/1.1 " + std::to_string(response.status) + " ";
  output_ += StatusText(response.status);
  output_ += "\r\nContent-Type: " + response.content_type;
  output_ += "\r\nContent-Length: " + std::to_string(response.body.size());
  output_ += "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n";
  for (const auto& [name, value] : response.headers)
    output_.append(name).append(": ").append(value).append("\r\n");
  output_ += keep_alive_ ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  if (!reader_->is_head()) output_ += response.body;
  UpdateWatch();
}

void HttpConnection::Flush() {
  size_t written = 0;
  while (written < output_.size()) {
    ssize_t sent =
        ::send(fd_.get(), output_.data() + written, output_.size() - written, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) break;
    if (sent < 0) return Close();
    written += static_cast<size_t>(sent);
  }
  output_.erase(0, written);
  if (output_.empty() && state_ == State::kWriting) return OnAnswerWritten();
  UpdateWatch();
}

void HttpConnection::OnAnswerWritten() {
  if (keep_alive_) return ExpectRequest();
  if (end_of_input_) return Close();
  ::shutdown(fd_.get(), SHUT_WR);
  state_ = State::kLingering;
  CloseAfter(kLinger);
  UpdateWatch();
}

}  // namespace tenon::admin
