#include "rpc/incoming_call.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/strings.h"
#include "rpc/grpc_text.h"

namespace tenon::rpc {
namespace {

/// Requests in the making, of all connections together: what hostile clients can make us hold.
constexpr size_t kMaxBufferedBytes = size_t{64} << 20;

constexpr std::string_view kAbandoned = "the method ended without an answer";

class UnaryHandle final : public UnaryCall {
 public:
  explicit UnaryHandle(IncomingCall& call) : link_(call) {}
  ~UnaryHandle() override {
    if (IncomingCall* call = link_.Release())
      call->End({StatusCode::kUnavailable, std::string(kAbandoned)});
  }
  void Reply(std::string message) override {
    IncomingCall* call = link_.Release();
    if (call != nullptr) call->Answer(std::move(message));
  }
  void Fail(Status status) override {
    TENON_CHECK(!status.ok());
    if (IncomingCall* call = link_.Release()) call->End(std::move(status));
  }
  void OnCancelled(std::function<void()> callback) override { link_.OnLost(std::move(callback)); }
  std::optional<base::Duration> time_left() const override {
    if (link_.call() == nullptr) return std::nullopt;
    return link_.call()->time_left();
  }

 private:
  CallLink link_;
};

class StreamHandle final : public ServerStream {
 public:
  explicit StreamHandle(IncomingCall& call) : link_(call) {}
  ~StreamHandle() override { Finish({StatusCode::kUnavailable, std::string(kAbandoned)}); }
  void Write(Payload message, std::function<void()> on_written) override {
    if (closed()) return;
    link_.OnWritten(std::move(on_written));
    link_.call()->Write(std::move(message));
  }
  void Finish(Status status) override {
    if (IncomingCall* call = link_.Release()) call->End(std::move(status));
  }
  void OnClosed(std::function<void()> callback) override { link_.OnLost(std::move(callback)); }
  bool closed() const override { return link_.call() == nullptr; }

 private:
  CallLink link_;
};

std::string Quoted(std::string_view text) {
  return '"' + base::EscapeForLine(text) + '"';
}

}  // namespace

IncomingCall* CallLink::Release() {
  if (call_ != nullptr) call_->link_ = nullptr;
  return std::exchange(call_, nullptr);
}

void CallLink::Lose() {
  // The callbacks are others' code, and so are their destructors: neither may run here.
  Release();
  lost_ = true;
  if (on_lost_) NotifyLost();
}

void CallLink::OnLost(std::function<void()> callback) {
  on_lost_ = std::move(callback);
  if (lost_) NotifyLost();
}

void CallLink::NotifyLost() {
  notify_lost_ = timers_.After(base::Duration::zero(), [this] {
    auto callback = std::exchange(on_lost_, nullptr);
    if (callback) callback();
  });
}

void CallLink::OnWritten(std::function<void()> callback) {
  TENON_CHECK(!on_written_);  // One write at a time.
  on_written_ = std::move(callback);
}

void CallLink::NotifyWritten() {
  notify_written_ = timers_.After(base::Duration::zero(), [this] {
    auto callback = std::exchange(on_written_, nullptr);
    if (callback && call_ != nullptr) callback();
  });
}

IncomingCall::IncomingCall(ServerConnection& connection)
    : connection_(connection), reader_(connection.context_.options.max_request_bytes) {
  ++connection_.incomplete_;
}

IncomingCall::~IncomingCall() {
  if (link_ != nullptr) link_->Lose();
  std::erase(connection_.ready_, this);
  StopReceiving();
  GiveBackBuffer();
}

void IncomingCall::StopReceiving() {
  if (std::exchange(receiving_, false)) --connection_.incomplete_;
}

void IncomingCall::GiveUpIfOverdue() {
  if (receiving_ && std::exchange(asked_, true))
    Conclude({StatusCode::kDeadlineExceeded, "the request did not arrive in time"}, "200");
}

void IncomingCall::GiveBackBuffer() {
  connection_.context_.buffered_bytes -= std::exchange(buffered_, 0);
}

void IncomingCall::OnHeader(std::string_view name, std::string_view value) {
  if (!head_complete_) return head_.Add(name, value);
  trailers_malformed_ |= name.starts_with(':');
}

void IncomingCall::OnHeadersEnd(bool last) {
  bool trailers = std::exchange(head_complete_, true);
  if (trailers ? !last || trailers_malformed_ : head_.malformed()) return Break();
  if (!trailers) Accept();
}

void IncomingCall::Break() {
  ended_ = true;
  expiry_.Cancel();
  StopReceiving();
  GiveBackBuffer();
  connection_.transport_.session().Reset(*this, kProtocolError);
}

void IncomingCall::Accept() {
  // The order and the words are grpc-go's.
  if (!IsGrpcContentType(head_.content_type()))
    return End({StatusCode::kInvalidArgument,
                "invalid gRPC request content-type " + Quoted(head_.content_type())},
               "415");
  if (head_.method() != "POST")
    return End({StatusCode::kInternal, "Received a HEADERS frame with :method " +
                                           Quoted(head_.method()) + " which should be POST"},
               "405");
  if (!head_.timeout().empty()) {
    std::optional<base::Duration> timeout = ParseTimeout(head_.timeout());
    if (!timeout)
      return End({StatusCode::kInternal, "malformed grpc-timeout: " + Quoted(head_.timeout())},
                 "400");
    deadline_ = timers().now() + *timeout;
    expiry_ = timers().After(*timeout, [this] { Expire(); });
  }
  auto method = connection_.context_.methods.find(head_.path());
  if (method == connection_.context_.methods.end()) return End(UnknownMethod());
  method_ = &method->second;
  reader_.set_encoding(head_.encoding());
}

Status IncomingCall::UnknownMethod() const {
  const std::string& path = head_.path();
  size_t slash = path.rfind('/');
  if (path[0] != '/' || slash == 0)
    return {StatusCode::kUnimplemented, "malformed method name: " + Quoted(path)};
  const Methods& methods = connection_.context_.methods;
  std::string_view service = path;
  service = service.substr(0, slash + 1);
  auto known = methods.lower_bound(service);
  std::string name = base::EscapeForLine(service.substr(1, service.size() - 2));
  if (known == methods.end() || !known->first.starts_with(service))
    return {StatusCode::kUnimplemented, "unknown service " + name};
  return {StatusCode::kUnimplemented,
          "unknown method " + base::EscapeForLine(path.substr(slash + 1)) + " for service " + name};
}

void IncomingCall::OnBytes(std::string_view bytes) {
  if (ended_) return;
  data_bytes_ += bytes.size();
  if (data_bytes_ > head_.content_length().value_or(data_bytes_)) return Break();
  size_t& all_buffered = connection_.context_.buffered_bytes;
  if (all_buffered + bytes.size() > kMaxBufferedBytes)
    return End({StatusCode::kResourceExhausted, "too many requests are being received at once"});
  all_buffered += bytes.size();
  buffered_ += bytes.size();
  if (Status status = reader_.Add(bytes, messages_); !status.ok()) return End(std::move(status));
  if (messages_.size() > 1)
    End({StatusCode::kInternal, "received more than the one message of this method's request"});
}

void IncomingCall::OnEnd() {
  if (ended_) return;
  if (data_bytes_ != head_.content_length().value_or(data_bytes_)) return Break();
  if (reader_.mid_message()) return End({StatusCode::kInternal, "unexpected EOF"});
  if (messages_.empty())
    return End({StatusCode::kInternal, "received no request message for this method"});
  StopReceiving();
  connection_.ready_.push_back(this);
}

void IncomingCall::Run() {
  if (ended_) return;
  if (connection_.draining_) return Drain();
  GiveBackBuffer();
  // All of this on the stack: the method may destroy the call and the server.
  std::string request = std::move(messages_.front());
  messages_.clear();
  Method method = *method_;
  if (method.unary) {
    (*method.unary)(request, std::make_unique<UnaryHandle>(*this));
  } else {
    (*method.stream)(request, std::make_unique<StreamHandle>(*this));
  }
}

void IncomingCall::Drain() {
  if (ended_ || (link_ != nullptr && method_->unary)) return;
  if (link_ != nullptr) link_->Lose();
  Conclude({StatusCode::kUnavailable, "the server is shutting down"}, "200");
}

void IncomingCall::Expire() {
  if (ended_) return;
  if (link_ != nullptr) link_->Lose();
  if (sending()) {
    // The client does not read; trailers would wait behind the message.
    ended_ = true;
    connection_.transport_.session().Reset(*this, kCancel);
    connection_.transport_.Flush();
    return;
  }
  End({StatusCode::kDeadlineExceeded, "context deadline exceeded"});
}

void IncomingCall::Write(Payload message) {
  connection_.transport_.session().SendMessage(*this, std::move(message));
  connection_.transport_.Flush();
}

void IncomingCall::Answer(std::string message) {
  ended_ = true;
  expiry_.Cancel();
  Http2Session& session = connection_.transport_.session();
  session.SendMessage(*this, std::make_shared<const std::string>(std::move(message)));
  session.SendTrailers(*this, {});
  connection_.transport_.Flush();
}

void IncomingCall::End(Status status, std::string_view http_status) {
  Conclude(std::move(status), http_status);
  connection_.transport_.Flush();
}

void IncomingCall::Conclude(Status status, std::string_view http_status) {
  ended_ = true;
  expiry_.Cancel();
  StopReceiving();
  GiveBackBuffer();
  connection_.transport_.session().SendTrailers(*this, std::move(status), http_status);
}

void IncomingCall::OnMessageWritten() {
  if (link_ != nullptr) link_->NotifyWritten();
}

std::optional<base::Duration> IncomingCall::time_left() const {
  if (!deadline_) return std::nullopt;
  return std::max(base::Duration::zero(), *deadline_ - timers().now());
}

}  // namespace tenon::rpc
