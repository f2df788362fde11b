#include "fake_api/fake_api_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <utility>

#include "base/check.h"
#include "base/strings.h"

namespace tenon::fake_api {
namespace {

using SslContext = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;
using Ssl = std::unique_ptr<SSL, decltype(&SSL_free)>;

Ssl NewSession(const FakeApiServer::TlsFiles& files, int fd) {
  SslContext context(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free);
  TENON_CHECK(SSL_CTX_use_certificate_chain_file(context.get(), files.certificate.c_str()) == 1);
  TENON_CHECK(SSL_CTX_use_PrivateKey_file(context.get(), files.key.c_str(), SSL_FILETYPE_PEM) == 1);
  if (!files.client_authority.empty()) {
    TENON_CHECK(
        SSL_CTX_load_verify_locations(context.get(), files.client_authority.c_str(), nullptr) == 1);
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  Ssl session(SSL_new(context.get()), &SSL_free);
  SSL_set_fd(session.get(), fd);
  SSL_set_accept_state(session.get());
  return session;
}

std::string Lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

std::string Chunk(std::string_view text) {
  std::array<char, 32> size{};
  std::snprintf(size.data(), size.size(), "%zx\r\n", text.size());
  return std::string(size.data()) + std::string(text) + "\r\n";
}

/// Takes one whole request off the front of `bytes`.
std::optional<FakeApiServer::Request> TakeRequest(std::string& bytes) {
  const size_t head_end = bytes.find("\r\n\r\n");
  if (head_end == std::string::npos) return std::nullopt;
  FakeApiServer::Request request;
  size_t line_start = 0;
  for (size_t no = 0; line_start < head_end; ++no) {
    const size_t line_end = bytes.find("\r\n", line_start);
    const std::string line = bytes.substr(line_start, line_end - line_start);
    line_start = line_end + 2;
    if (no == 0) {
      const size_t space = line.find(' ');
      request.method = line.substr(0, space);
      request.target = line.substr(space + 1, line.rfind(' ') - space - 1);
      continue;
    }
    const size_t colon = line.find(": ");
    if (colon != std::string::npos)
      request.headers[Lower(line.substr(0, colon))] = line.substr(colon + 2);
  }
  const auto length = base::ParseInt64(request.headers["content-length"]).value_or(0);
  const size_t end = head_end + 4 + static_cast<size_t>(length);
  if (bytes.size() < end) return std::nullopt;
  request.body = bytes.substr(head_end + 4, static_cast<size_t>(length));
  bytes.erase(0, end);
  return request;
}

}  // namespace

/// One client; closed ones stay in the list until the next is accepted.
class FakeApiServer::Connection final {
 public:
  Connection(FakeApiServer& server, base::UniqueFd fd)
      : server_(server), fd_(std::move(fd)), session_(nullptr, &SSL_free) {
    if (server.tls_) session_ = NewSession(*server.tls_, fd_.get());
    watch_ = *server.loop_.WatchFd(fd_.get(), loop::kReadable,
                                   [this](unsigned /*events*/) { OnReadable(); });
  }

  void SendLine(std::string_view line) {
    if (is_stream_) Write(Chunk(std::string(line) + "\n"));
  }
  void EndStream() {
    if (std::exchange(is_stream_, false)) Write("0\r\n\r\n");
  }
  void Close() {
    watch_.Cancel();
    session_.reset();
    fd_.Reset();
    is_stream_ = false;
  }
  bool is_stream() const { return is_stream_; }
  bool is_open() const { return fd_.valid(); }

 private:
  void OnReadable() {
    std::array<char, 4096> buffer;
    for (;;) {
      const int got = Read(buffer);
      if (got == 0) return Close();
      if (got < 0) break;
      bytes_.append(buffer.data(), static_cast<size_t>(got));
    }
    while (auto request = TakeRequest(bytes_))
      Respond(*std::move(request));
  }

  /// Returns: bytes, 0 at the end, -1 when there is nothing yet.
  int Read(std::array<char, 4096>& buffer) {
    if (session_ == nullptr) {
      const ssize_t got = ::recv(fd_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      return got >= 0 ? static_cast<int>(got) : errno == EAGAIN ? -1 : 0;
    }
    ERR_clear_error();
    const int got = SSL_read(session_.get(), buffer.data(), static_cast<int>(buffer.size()));
    if (got > 0) return got;
    return SSL_get_error(session_.get(), got) == SSL_ERROR_WANT_READ ? -1 : 0;
  }

  void Write(const std::string& text) {
    for (size_t sent = 0; sent < text.size();) {
      const int left = static_cast<int>(text.size() - sent);
      const auto count = session_ == nullptr
                             ? static_cast<int>(::send(fd_.get(), text.data() + sent,
                                                       static_cast<size_t>(left), MSG_NOSIGNAL))
                             : SSL_write(session_.get(), text.data() + sent, left);
      if (count > 0) {
        sent += static_cast<size_t>(count);
        continue;
      }
      pollfd room{.fd = fd_.get(), .events = POLLOUT, .revents = 0};
      if (::poll(&room, 1, 1000) != 1 || (room.revents & (POLLHUP | POLLERR)) != 0) return;
    }
  }

  void Respond(Request request) {
    server_.requests.push_back(request);
    const std::optional<Answer> answer = server_.answer_(request);
    if (!answer) return;
    std::string head =
        "HTTP/1.1 " + std::to_string(answer->status) + " X\r\nContent-Type: application/json\r\n";
    for (const std::string& header : answer->headers)
      head.append(header).append("\r\n");
    if (answer->is_stream) {
      is_stream_ = true;
      return Write(head + "Transfer-Encoding: chunked\r\n\r\n" +
                   (answer->body.empty() ? "" : Chunk(answer->body)));
    }
    Write(head + "Content-Length: " + std::to_string(answer->body.size()) + "\r\n\r\n" +
          answer->body);
  }

  FakeApiServer& server_;
  base::UniqueFd fd_;
  Ssl session_;
  loop::FdWatch watch_;
  std::string bytes_;
  bool is_stream_ = false;
};

FakeApiServer::FakeApiServer(loop::EventLoop& loop, AnswerFn answer, std::optional<TlsFiles> tls)
    : loop_(loop),
      answer_(std::move(answer)),
      tls_(std::move(tls)),
      listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes without MSG_NOSIGNAL.
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  TENON_CHECK(::bind(listener_.get(), generic, size) == 0);
  TENON_CHECK(::listen(listener_.get(), 16) == 0);
  TENON_CHECK(::getsockname(listener_.get(), generic, &size) == 0);
  port_ = ntohs(address.sin_port);
  watch_ = *loop.WatchFd(listener_.get(), loop::kReadable, [this](unsigned) { Accept(); });
}

FakeApiServer::~FakeApiServer() = default;

void FakeApiServer::Accept() {
  std::erase_if(connections_, [](const auto& connection) { return !connection->is_open(); });
  for (;;) {
    base::UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid()) return;
    connections_.push_back(std::make_unique<Connection>(*this, std::move(fd)));
  }
}

std::string FakeApiServer::Url() const {
  return (tls_ ? "https" : "http") + std::string("://127.0.0.1:") + std::to_string(port_);
}

void FakeApiServer::SendLine(std::string_view line) {
  for (const auto& connection : connections_)
    connection->SendLine(line);
}

void FakeApiServer::EndStreams() {
  for (const auto& connection : connections_)
    connection->EndStream();
}

void FakeApiServer::Cut() {
  connections_.clear();
}

size_t FakeApiServer::streams() const {
  return static_cast<size_t>(std::ranges::count_if(
      connections_, [](const auto& connection) { return connection->is_stream(); }));
}

std::vector<std::string> FakeApiServer::Lines() const {
  std::vector<std::string> lines;
  for (const Request& request : requests)
    lines.push_back(request.Line());
  return lines;
}

}  // namespace tenon::fake_api
