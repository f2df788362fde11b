#include "rpc/outgoing_call.h"

#include <utility>

#include "rpc/grpc_text.h"

namespace tenon::rpc {
namespace {

constexpr std::string_view kDraining = "the connection is draining";
constexpr std::string_view kRejected =
    "the stream is rejected because server is draining the connection";

}  // namespace

/// The stream of a call; it may outlive the call for as long as the cancellation takes.
class OutgoingStream final : public Http2Stream {
 public:
  explicit OutgoingStream(OutgoingCall& call) : call_(&call) {}
  ~OutgoingStream() override {
    if (call_ != nullptr) call_->stream_ = nullptr;
  }
  void Detach() { call_ = nullptr; }

 private:
  void OnHeader(std::string_view name, std::string_view value) override {
    if (call_ != nullptr) call_->head_.Add(name, value);
  }
  void OnHeadersEnd(bool last) override {
    if (call_ != nullptr) call_->OnHeadersEnd(last);
  }
  void OnBytes(std::string_view bytes) override {
    if (call_ != nullptr) call_->OnBytes(bytes);
  }
  void OnEnd() override {
    if (call_ != nullptr) call_->OnPeerEnd();
  }
  void OnClosed(uint32_t error) override {
    if (call_ == nullptr) return;
    OutgoingCall& call = *std::exchange(call_, nullptr);
    call.stream_ = nullptr;
    bool rejected = error == kRefusedStream && call.transport_->session().peer_goaway();
    call.End(rejected ? Status{StatusCode::kUnavailable, std::string(kRejected)}
                      : StatusOfReset(error));
  }

  OutgoingCall* call_;
};

OutgoingCall::OutgoingCall(loop::TimerQueue& timers, Registry& registry, size_t max_response_bytes,
                           Callbacks callbacks)
    : timers_(timers),
      registry_(&registry),
      callbacks_(std::move(callbacks)),
      reader_(max_response_bytes) {
  registry.insert(this);
}

OutgoingCall::~OutgoingCall() {
  if (registry_ != nullptr) registry_->erase(this);
  CancelStream();
}

void OutgoingCall::Start(Transport& transport, std::string_view method, std::string request,
                         base::Duration deadline) {
  if (deadline > base::Duration::zero())
    deadline_ = timers_.After(deadline, [this] {
      End({StatusCode::kDeadlineExceeded, "context deadline exceeded"});
    });
  transport_ = &transport;
  if (transport.session().peer_goaway())
    return End({StatusCode::kUnavailable, std::string(kDraining)});
  auto stream = std::make_unique<OutgoingStream>(*this);
  stream_ = stream.get();
  if (transport.session().StartRequest(std::move(stream), method, deadline, std::move(request)) ==
      nullptr)
    return End({StatusCode::kUnavailable, std::string(kDraining)});
  transport.Flush();
}

void OutgoingCall::CancelStream() {
  if (stream_ == nullptr) return;
  OutgoingStream& stream = *std::exchange(stream_, nullptr);
  stream.Detach();
  if (stream.peer_ended() && !stream.sending()) return;
  transport_->session().Reset(stream, kCancel);
  transport_->Flush();
}

void OutgoingCall::End(Status status) {
  if (std::exchange(ended_, true)) return;
  if (status.ok() && callbacks_.done && messages_.size() != 1)
    status = {StatusCode::kInternal,
              messages_.empty() ? "received no response message for a unary method"
                                : "received more than the one response message of a unary method"};
  status_ = std::move(status);
  deadline_.Cancel();
  CancelStream();
  deliver_ = timers_.After(base::Duration::zero(), [this] { Deliver(); });
}

void OutgoingCall::Abandon() {
  registry_ = nullptr;
  if (stream_ != nullptr) std::exchange(stream_, nullptr)->Detach();
  deadline_.Cancel();
  deliver_.Cancel();
  messages_.clear();
}

void OutgoingCall::OnHeadersEnd(bool last) {
  trailers_seen_ = last;
  if (last) return;
  if (head_.interim()) {
    head_ = {};
    return;
  }
  reader_.set_encoding(head_.encoding());
  if (auto refusal = head_.Refusal()) End(*std::move(refusal));
}

void OutgoingCall::OnBytes(std::string_view bytes) {
  bool none = messages_.empty();
  if (Status status = reader_.Add(bytes, messages_); !status.ok()) return End(std::move(status));
  if (messages_.empty() || callbacks_.done) {
    if (messages_.size() > 1) End({});
    return;
  }
  if (none) deliver_ = timers_.After(base::Duration::zero(), [this] { Deliver(); });
}

void OutgoingCall::OnPeerEnd() {
  Status status = head_.FinalStatus(trailers_seen_);
  if (status.ok() && reader_.mid_message()) status = {StatusCode::kInternal, "unexpected EOF"};
  End(std::move(status));
}

void OutgoingCall::Deliver() {
  std::vector<std::string> messages = std::move(messages_);
  messages_.clear();
  if (callbacks_.done) {
    auto done = std::exchange(callbacks_.done, nullptr);
    std::string response = status_.ok() ? std::move(messages.front()) : std::string();
    return done(std::move(status_), std::move(response));
  }
  for (const std::string& message : messages) {
    auto on_message = callbacks_.on_message;
    if (!lifetime_.Outlives([&] { (*on_message)(message); })) return;
    if (registry_ == nullptr) return;
  }
  if (!ended_) return;
  auto end = std::exchange(callbacks_.on_end, nullptr);
  if (end) end(std::move(status_));
}

}  // namespace tenon::rpc
