#include "admin/http_server.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <list>
#include <utility>
#include <vector>

#include "admin/http_connection.h"
#include "admin/http_router.h"
#include "admin/tcp_address.h"
#include "base/check.h"
#include "base/errno_error.h"
#include "loop/unix_socket.h"

namespace tenon::admin {
namespace {

/// How long to wait for descriptors to become free before accepting again.
constexpr base::Duration kAcceptPause = std::chrono::milliseconds(100);

/// One listening socket and the connections that came through it.
class HttpListener final {
 public:
  struct Shared {
    loop::EventLoop& loop;
    const HttpRouter& router;
    const HttpServer::Options& options;
  };

  HttpListener(const Shared& shared, std::unique_ptr<loop::UnixListener> socket)
      : shared_(shared), origin_(HttpConnection::Origin::kUnix), unix_socket_(std::move(socket)) {}
  HttpListener(const Shared& shared, base::UniqueFd socket)
      : shared_(shared), origin_(HttpConnection::Origin::kTcp), tcp_socket_(std::move(socket)) {}

  Result<void> Start() {
    TENON_TRY(watch_, shared_.loop.WatchFd(fd(), loop::kReadable, [this](unsigned) { Accept(); }));
    return {};
  }

 private:
  int fd() const { return unix_socket_ ? unix_socket_->fd() : tcp_socket_.get(); }

  void Accept() {
    base::UniqueFd client(::accept4(fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (client.valid()) return Admit(std::move(client));
    if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM) return;
    // The client stays in the queue, and the socket readable: look away for a moment.
    watch_.SetEvents(loop::kNone);
    pause_ =
        shared_.loop.timers().After(kAcceptPause, [this] { watch_.SetEvents(loop::kReadable); });
  }

  void Admit(base::UniqueFd client) {
    if (!MakeRoom()) {
      constexpr std::string_view kBusy =
          "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
      ::send(client.get(), kBusy.data(), kBusy.size(), MSG_NOSIGNAL);
      return;
    }
    connections_.push_back(std::make_unique<HttpConnection>(
        std::move(client),
        HttpConnection::Environment{shared_.loop, shared_.router, shared_.options, origin_,
                                    [this] { ReapSoon(); }}));
    if (!connections_.back()->Start()) connections_.pop_back();
  }

  /// Closes the connection that has been idle the longest if there are too many.
  bool MakeRoom() {
    auto open = std::count_if(connections_.begin(), connections_.end(),
                              [](const auto& c) { return !c->closed(); });
    if (open < shared_.options.max_connections) return true;
    auto idle = std::find_if(connections_.begin(), connections_.end(),
                             [](const auto& c) { return !c->closed() && c->idle(); });
    if (idle == connections_.end()) return false;
    (*idle)->Close();
    return true;
  }

  void ReapSoon() {
    reap_ = shared_.loop.timers().After(base::Duration::zero(), [this] {
      connections_.remove_if([](const auto& connection) { return connection->closed(); });
    });
  }

  const Shared shared_;
  const HttpConnection::Origin origin_;
  const std::unique_ptr<loop::UnixListener> unix_socket_;  // One of these two.
  const base::UniqueFd tcp_socket_;
  std::list<std::unique_ptr<HttpConnection>> connections_;  // The oldest first.
  loop::TimerHandle reap_;
  loop::TimerHandle pause_;
  loop::FdWatch watch_;  // After the sockets: ends before they are closed.
};

}  // namespace

Responder& Responder::operator=(Responder&& other) noexcept {
  Responder old(std::move(*this));
  link_ = std::move(other.link_);
  return *this;
}

Responder::~Responder() {
  if (link_) Send(ErrorResponse(500, "the request was given up without an answer"));
}

void Responder::Send(const HttpResponse& response) {
  TENON_CHECK(link_ != nullptr);
  std::shared_ptr<Link> link = std::move(link_);
  if (link->connection != nullptr) link->connection->Answer(response);
}

bool Responder::wanted() const {
  return link_ && link_->connection != nullptr;
}

class HttpServerState final {
 public:
  HttpServerState(loop::EventLoop& loop, HttpServer::Options options)
      : options_(options), shared_{loop, router_, options_} {}

  HttpRouter& router() { return router_; }

  template <class Socket>
  Result<void> Add(Socket socket) {
    auto listener = std::make_unique<HttpListener>(shared_, std::move(socket));
    TENON_TRY_VOID(listener->Start());
    listeners_.push_back(std::move(listener));
    return {};
  }

 private:
  const HttpServer::Options options_;
  HttpRouter router_;
  const HttpListener::Shared shared_;
  std::vector<std::unique_ptr<HttpListener>> listeners_;
};

HttpServer::HttpServer(loop::EventLoop& loop, Options options)
    : state_(std::make_unique<HttpServerState>(loop, options)) {}

HttpServer::~HttpServer() = default;

void HttpServer::Route(std::string method, std::string_view pattern, RouteFn route) {
  state_->router().Add(std::move(method), pattern, std::move(route));
}

Result<void> HttpServer::ListenUnix(const std::string& path) {
  size_t slash = path.rfind('/');
  if (slash != std::string::npos && slash > 0) {
    std::string directory = path.substr(0, slash);
    if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
      return base::ErrnoError("mkdir", directory);
  }
  TENON_TRY(auto socket, loop::UnixListener::Listen(path, 0600));
  return state_->Add(std::move(socket));
}

Result<std::string> HttpServer::ListenTcp(std::string_view address) {
  TENON_TRY(TcpAddress parsed, ParseTcpAddress(address));
  TENON_TRY(base::UniqueFd socket, ListenOnTcp(parsed));
  TENON_TRY_VOID(state_->Add(std::move(socket)));
  return FormatTcpAddress(parsed);
}

}  // namespace tenon::admin
