#include "rpc/channel.h"

#include <cerrno>
#include <optional>
#include <utility>

#include "base/check.h"
#include "loop/unix_socket.h"
#include "rpc/grpc_text.h"
#include "rpc/outgoing_call.h"
#include "rpc/transport.h"

namespace tenon::rpc {
namespace {

constexpr base::Duration kRetryDelay = std::chrono::milliseconds(50);

/// A failed connect() as Go words it, since operators grep for that.
std::string DialError(const std::string& path, const Error& error) {
  if (error.os_errno() == 0) return error.message();
  return "dial unix " + path + ": connect: " + GoErrnoText(error.os_errno());
}

/// A callback that runs once, in a later turn, whether it or its news comes first.
class Notice final {
 public:
  explicit Notice(loop::TimerQueue& timers) : timers_(timers) {}
  void Set(std::function<void(Status)> callback) {
    callback_ = std::move(callback);
    Arm();
  }
  void Tell(Status status) {
    if (status_) return;
    status_ = std::move(status);
    Arm();
  }

 private:
  void Arm() {
    if (!callback_ || !status_) return;
    timer_ = timers_.After(base::Duration::zero(), [this] {
      auto callback = std::exchange(callback_, nullptr);
      callback(*status_);
    });
  }

  loop::TimerQueue& timers_;
  std::function<void(Status)> callback_;
  std::optional<Status> status_;
  loop::TimerHandle timer_;
};

class UnixChannel final : public Channel, public Http2Session::Events, public Transport::Owner {
 public:
  UnixChannel(loop::EventLoop& loop, std::string path, const Options& options)
      : timers_(loop.timers()),
        path_(std::move(path)),
        options_(options),
        on_connected_(timers_),
        on_closed_(timers_),
        transport_(std::make_unique<Transport>(
            loop, Http2Session::Options{.side = Http2Session::Side::kClient}, *this, *this)) {
    give_up_ =
        timers_.After(options.connect_timeout, [this] { Close(ConnectionError(last_failure_)); });
  }
  ~UnixChannel() override;

  void Connect();
  void Attach(base::UniqueFd socket);

  std::unique_ptr<ClientCall> Unary(std::string_view method, std::string request,
                                    base::Duration deadline, UnaryDone done) override;
  std::unique_ptr<ClientCall> Stream(std::string_view method, std::string request,
                                     MessageFn on_message, EndFn on_end) override;
  void OnConnected(std::function<void(Status)> callback) override {
    on_connected_.Set(std::move(callback));
  }
  void OnClosed(std::function<void(Status)> callback) override {
    on_closed_.Set(std::move(callback));
  }

 private:
  std::unique_ptr<Http2Stream> OnRequest() override;
  void OnPeerReady() override;
  void OnReceived() override {}
  void OnQuiet() override {}
  void OnLost(const std::string& reason) override;

  std::unique_ptr<OutgoingCall> NewCall(OutgoingCall::Callbacks callbacks) {
    return std::make_unique<OutgoingCall>(timers_, calls_, options_.max_response_bytes,
                                          std::move(callbacks));
  }
  void Start(OutgoingCall& call, std::string_view method, std::string request,
             base::Duration deadline);
  /// As grpc-go words it.
  static Status ConnectionError(const std::string& reason) {
    return {StatusCode::kUnavailable, "connection error: desc = \"" + reason + '"'};
  }
  void Close(Status status);

  loop::TimerQueue& timers_;
  const std::string path_;
  const Options options_;
  std::string last_failure_;  ///< What a time-out will say.
  bool connected_ = false;
  std::optional<Status> closed_;
  Notice on_connected_;
  Notice on_closed_;
  loop::TimerHandle give_up_;
  loop::TimerHandle retry_;
  OutgoingCall::Registry calls_;
  std::unique_ptr<Transport> transport_;  ///< Null once closed.
};

UnixChannel::~UnixChannel() {
  for (OutgoingCall* call : calls_)
    call->Abandon();
}

void UnixChannel::Connect() {
  Result<base::UniqueFd> socket = loop::ConnectUnix(path_);
  if (socket) return Attach(*std::move(socket));
  last_failure_ = "transport: Error while dialing: " + DialError(path_, socket.error());
  int error = socket.error().os_errno();
  bool absent = error == ENOENT || error == ECONNREFUSED;
  // EAGAIN: somebody listens, but has not got round to accepting those before us.
  if (error == EAGAIN || (absent && options_.retry_connect)) {
    retry_ = timers_.After(kRetryDelay, [this] { Connect(); });
    return;
  }
  Close(ConnectionError(last_failure_));
}

void UnixChannel::Attach(base::UniqueFd socket) {
  last_failure_ = "error reading server preface: context deadline exceeded";
  if (auto attached = transport_->Attach(std::move(socket)); !attached)
    Close(ConnectionError(attached.error().message()));
}

std::unique_ptr<ClientCall> UnixChannel::Unary(std::string_view method, std::string request,
                                               base::Duration deadline, UnaryDone done) {
  auto call = NewCall({.done = std::move(done)});
  if (deadline <= base::Duration::zero())
    call->End({StatusCode::kDeadlineExceeded, "context deadline exceeded"});
  else
    Start(*call, method, std::move(request), deadline);
  return call;
}

std::unique_ptr<ClientCall> UnixChannel::Stream(std::string_view method, std::string request,
                                                MessageFn on_message, EndFn on_end) {
  auto call = NewCall({.on_message = std::make_shared<const MessageFn>(std::move(on_message)),
                       .on_end = std::move(on_end)});
  Start(*call, method, std::move(request), base::Duration::zero());
  return call;
}

void UnixChannel::Start(OutgoingCall& call, std::string_view method, std::string request,
                        base::Duration deadline) {
  if (closed_) return call.End(*closed_);
  call.Start(*transport_, method, std::move(request), deadline);
}

std::unique_ptr<Http2Stream> UnixChannel::OnRequest() {
  TENON_CHECK(false);  // nghttp2 ends a session whose server opens a stream: push is off.
  return nullptr;
}

void UnixChannel::OnPeerReady() {
  if (std::exchange(connected_, true)) return;
  give_up_.Cancel();
  on_connected_.Tell({});
}

void UnixChannel::OnLost(const std::string& reason) {
  if (!connected_) return Close(ConnectionError("error reading server preface: " + reason));
  std::string message = "error reading from server: " + reason;
  if (const auto& goaway = transport_->session().peer_goaway())
    message.append("; received prior goaway: ").append(*goaway);
  Close({StatusCode::kUnavailable, std::move(message)});
}

void UnixChannel::Close(Status status) {
  closed_ = std::move(status);
  give_up_.Cancel();
  retry_.Cancel();
  for (OutgoingCall* call : calls_)
    call->End(*closed_);
  transport_.reset();
  (connected_ ? on_closed_ : on_connected_).Tell(*closed_);
}

}  // namespace

std::unique_ptr<Channel> Channel::Connect(loop::EventLoop& loop, std::string path,
                                          const Options& options) {
  auto channel = std::make_unique<UnixChannel>(loop, std::move(path), options);
  channel->Connect();
  return channel;
}

std::unique_ptr<Channel> Channel::FromSocket(loop::EventLoop& loop, base::UniqueFd socket,
                                             const Options& options) {
  auto channel = std::make_unique<UnixChannel>(loop, "", options);
  channel->Attach(std::move(socket));
  return channel;
}

}  // namespace tenon::rpc
