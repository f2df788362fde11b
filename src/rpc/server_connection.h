#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "loop/event_loop.h"
#include "rpc/server.h"
#include "rpc/transport.h"

namespace tenon::rpc {

class IncomingCall;

/// A method of a server; one of the two is set.
struct Method {
  std::shared_ptr<const Server::UnaryMethod> unary;
  std::shared_ptr<const Server::StreamMethod> stream;
};
using Methods = std::map<std::string, Method, std::less<>>;

/// What a server's connections share.
struct ServerContext {
  loop::EventLoop& loop;
  Server::Options options;
  Methods methods;
  /// Bytes of requests that are not complete, on all connections together.
  size_t buffered_bytes = 0;
};

/// The server's end of one connection: calls come in, methods run, answers go out.
class ServerConnection final : private Http2Session::Events, private Transport::Owner {
 public:
  class Owner {
   public:
    Owner() = default;
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;
    virtual ~Owner() = default;
    /// The connection is over; may destroy it.
    virtual void OnLost(ServerConnection& connection, const std::string& reason) = 0;
    /// No call is open and all answers are written; must not destroy the connection.
    virtual void OnQuiet() = 0;
  };

  ServerConnection(ServerContext& context, Owner& owner);
  ~ServerConnection() override;

  Result<void> Attach(base::UniqueFd socket) { return transport_.Attach(std::move(socket)); }

  /// Takes no more calls and ends the streams; unary calls may still be answered.
  void Drain();
  /// Whether calls are open or answers wait to be written.
  bool busy() const { return busy_; }
  /// Since when it is not. Requires: !busy().
  base::MonotonicTime quiet_since() const { return quiet_since_; }

 private:
  friend class IncomingCall;

  std::unique_ptr<Http2Stream> OnRequest() override;
  void OnPeerReady() override { handshake_.Cancel(); }
  void OnReceived() override;
  void OnQuiet() override;
  void OnLost(const std::string& reason) override { owner_.OnLost(*this, reason); }
  void WatchIdleness(base::Duration delay);
  void WatchRequests();

  ServerContext& context_;
  Owner& owner_;
  std::vector<IncomingCall*> ready_;  ///< Complete requests whose methods have not run.
  base::MonotonicTime quiet_since_;
  int incomplete_ = 0;  ///< Requests that have begun and not ended.
  bool busy_ = false;
  bool draining_ = false;
  loop::TimerHandle handshake_;
  loop::TimerHandle idle_;
  loop::TimerHandle requests_;  ///< Set only while a request takes more than a moment.
  Lifetime lifetime_;
  Transport transport_;  // Last: its streams use the members above.
};

}  // namespace tenon::rpc
