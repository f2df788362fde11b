#include "rpc/server.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "base/errno_error.h"
#include "loop/unix_socket.h"
#include "rpc/server_connection.h"

namespace tenon::rpc {
namespace {

/// After this many in a turn it is the turn of other descriptors.
constexpr int kAcceptsPerTurn = 16;
/// How long to leave the listener alone when the process has no descriptor left: it stays ready,
/// and trying again at once would spin.
constexpr base::Duration kAcceptPause = std::chrono::milliseconds(100);

class UnixServer final : public Server, public ServerConnection::Owner {
 public:
  UnixServer(loop::EventLoop& loop, base::Log& log, std::unique_ptr<loop::UnixListener> listener,
             const Options& options)
      : context_{.loop = loop, .options = options},
        log_(log),
        path_(listener->path()),
        listener_(std::move(listener)) {}
  ~UnixServer() override { connections_.clear(); }

  Result<void> Start() {
    TENON_TRY(watch_, context_.loop.WatchFd(listener_->fd(), loop::kReadable,
                                            [this](unsigned) { AcceptAll(); }));
    return {};
  }

  Result<void> Adopt(base::UniqueFd socket) override;
  void AddUnary(std::string name, UnaryMethod method) override {
    Add(std::move(name), {.unary = std::make_shared<const UnaryMethod>(std::move(method))});
  }
  void AddStream(std::string name, StreamMethod method) override {
    Add(std::move(name), {.stream = std::make_shared<const StreamMethod>(std::move(method))});
  }
  bool socket_is_ours() const override { return listener_ && listener_->is_ours(); }
  const std::string& path() const override { return path_; }
  void Drain(base::Duration limit, std::function<void()> done) override;

 private:
  void Add(std::string name, Method method) {
    bool added = context_.methods.emplace(std::move(name), std::move(method)).second;
    TENON_CHECK(added);
  }
  void AcceptAll();
  /// Closes the connection that has been without a call longest. Returns: whether there is one.
  bool MakeRoom();
  void PauseAccepting(int os_errno);
  void OnLost(ServerConnection& connection, const std::string& reason) override;
  void OnQuiet() override;
  void FinishDrain();

  ServerContext context_;
  base::Log& log_;
  const std::string path_;
  std::unique_ptr<loop::UnixListener> listener_;  ///< Null once draining.
  loop::FdWatch watch_;                           // After listener_: ends before it is closed.
  loop::TimerHandle accept_pause_;
  int last_accept_errno_ = 0;  ///< Told once, not ten times a second.
  std::unordered_map<ServerConnection*, std::unique_ptr<ServerConnection>> connections_;
  std::function<void()> drained_;
  loop::TimerHandle drain_end_;
};

Result<void> UnixServer::Adopt(base::UniqueFd socket) {
  if (static_cast<int>(connections_.size()) >= context_.options.max_connections && !MakeRoom()) {
    log_.Warning("too many connections, closing the newest", {{"socket", path_}});
    return {};
  }
  auto connection = std::make_unique<ServerConnection>(context_, *this);
  TENON_TRY_VOID(connection->Attach(std::move(socket)));
  ServerConnection* key = connection.get();
  connections_.emplace(key, std::move(connection));
  return {};
}

bool UnixServer::MakeRoom() {
  ServerConnection* oldest = nullptr;
  for (auto& [connection, owned] : connections_) {
    if (connection->busy()) continue;
    if (oldest == nullptr || connection->quiet_since() < oldest->quiet_since()) oldest = connection;
  }
  return connections_.erase(oldest) > 0;
}

void UnixServer::AcceptAll() {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    base::UniqueFd socket(
        ::accept4(listener_->fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno != EAGAIN) PauseAccepting(errno);
      return;
    }
    if (auto adopted = Adopt(std::move(socket)); !adopted)
      log_.Warning("cannot serve a connection",
                   {{"socket", path_}, {"error", adopted.error().message()}});
  }
}

void UnixServer::PauseAccepting(int os_errno) {
  if (os_errno != last_accept_errno_)
    log_.Error("cannot accept connections",
               {{"socket", path_}, {"error", base::ErrnoText(os_errno)}});
  last_accept_errno_ = os_errno;
  watch_.SetEvents(loop::kNone);
  accept_pause_ =
      context_.loop.timers().After(kAcceptPause, [this] { watch_.SetEvents(loop::kReadable); });
}

void UnixServer::OnLost(ServerConnection& connection, const std::string& reason) {
  log_.Debug("connection closed", {{"socket", path_}, {"reason", reason}});
  connections_.erase(&connection);
  OnQuiet();
}

void UnixServer::Drain(base::Duration limit, std::function<void()> done) {
  TENON_CHECK(!drained_ && done);
  drained_ = std::move(done);
  accept_pause_.Cancel();
  watch_.Cancel();
  listener_.reset();
  drain_end_ = context_.loop.timers().After(limit, [this] { FinishDrain(); });
  for (auto& [key, connection] : connections_)
    connection->Drain();
  OnQuiet();
}

void UnixServer::OnQuiet() {
  auto busy = [](const auto& entry) { return entry.first->busy(); };
  if (!drained_ || std::ranges::any_of(connections_, busy)) return;
  drain_end_ = context_.loop.timers().After(base::Duration::zero(), [this] { FinishDrain(); });
}

void UnixServer::FinishDrain() {
  auto done = std::exchange(drained_, nullptr);
  if (done) done();
}

}  // namespace

Result<std::unique_ptr<Server>> Server::Listen(loop::EventLoop& loop, base::Log& log,
                                               std::string path, const Options& options) {
  TENON_TRY(auto listener, loop::UnixListener::Listen(std::move(path), options.socket_mode));
  auto server = std::make_unique<UnixServer>(loop, log, std::move(listener), options);
  TENON_TRY_VOID(server->Start());
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace tenon::rpc
