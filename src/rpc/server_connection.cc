#include "rpc/server_connection.h"

#include "rpc/incoming_call.h"

namespace tenon::rpc {
namespace {

/// How long a client may take to say its first word.
constexpr base::Duration kHandshakeTimeout = std::chrono::seconds(20);
/// How long a request may take to arrive, between one and two of these.
constexpr base::Duration kRequestTimeout = std::chrono::seconds(30);

}  // namespace

ServerConnection::ServerConnection(ServerContext& context, Owner& owner)
    : context_(context),
      owner_(owner),
      quiet_since_(context.loop.timers().now()),
      transport_(context.loop,
                 {.side = Http2Session::Side::kServer, .max_streams = context.options.max_streams},
                 *this, *this) {
  handshake_ = context.loop.timers().After(kHandshakeTimeout, [this] {
    transport_.Close(kProtocolError, "the client did not speak HTTP/2 in time");
  });
  WatchIdleness(context.options.idle_timeout);
}

ServerConnection::~ServerConnection() = default;

std::unique_ptr<Http2Stream> ServerConnection::OnRequest() {
  busy_ = true;
  return std::make_unique<IncomingCall>(*this);
}

void ServerConnection::OnReceived() {
  while (!ready_.empty()) {
    IncomingCall* call = ready_.front();
    ready_.erase(ready_.begin());
    if (!lifetime_.Outlives([call] { call->Run(); })) return;
  }
  if (incomplete_ > 0 && !requests_.pending()) WatchRequests();
}

void ServerConnection::WatchRequests() {
  requests_ = context_.loop.timers().After(kRequestTimeout, [this] {
    transport_.session().ForEachStream(
        [](Http2Stream& stream) { static_cast<IncomingCall&>(stream).GiveUpIfOverdue(); });
    if (incomplete_ > 0) WatchRequests();
    transport_.Flush();
  });
}

void ServerConnection::OnQuiet() {
  if (!busy_) return;
  busy_ = false;
  quiet_since_ = context_.loop.timers().now();
  if (!idle_.pending()) WatchIdleness(context_.options.idle_timeout);
  owner_.OnQuiet();
}

void ServerConnection::WatchIdleness(base::Duration delay) {
  // One long timer that looks back, not one to set anew for every call.
  idle_ = context_.loop.timers().After(delay, [this] {
    if (busy_) return;  // OnQuiet() starts over.
    base::Duration left =
        context_.options.idle_timeout - (context_.loop.timers().now() - quiet_since_);
    if (left > base::Duration::zero()) return WatchIdleness(left);
    transport_.Close(kNoError, "idle");
  });
}

void ServerConnection::Drain() {
  draining_ = true;
  transport_.session().ForEachStream(
      [](Http2Stream& stream) { static_cast<IncomingCall&>(stream).Drain(); });
  transport_.Drain();
}

}  // namespace tenon::rpc
