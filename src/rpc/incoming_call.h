#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loop/timer_queue.h"
#include "rpc/http2_session.h"
#include "rpc/message_reader.h"
#include "rpc/request_head.h"
#include "rpc/server_connection.h"

namespace tenon::rpc {

class CallLink;

/// One call as the connection sees it, from its first header to the end of its stream.
class IncomingCall final : public Http2Stream {
 public:
  explicit IncomingCall(ServerConnection& connection);
  ~IncomingCall() override;

  /// Runs the method with the complete request; it may destroy the whole server.
  void Run();
  /// Ends the call unless it is a unary one whose method is at work. Flush afterwards.
  void Drain();
  /// At the second time of asking, ends the call if its request is not complete. Flush afterwards.
  void GiveUpIfOverdue();

  // For the method's handle:
  void Answer(std::string message);
  void Write(Payload message);
  /// Ends the call, after the message that is being sent. May destroy this.
  void End(Status status, std::string_view http_status = "200");
  std::optional<base::Duration> time_left() const;

 private:
  friend class CallLink;

  void OnHeader(std::string_view name, std::string_view value) override;
  void OnHeadersEnd(bool last) override;
  void OnBytes(std::string_view bytes) override;
  void OnEnd() override;
  void OnMessageWritten() override;
  void OnClosed(uint32_t) override {}  // The destructor tells.

  void Accept();
  /// Resets the stream of a peer that broke the rules of HTTP/2.
  void Break();
  Status UnknownMethod() const;
  void Conclude(Status status, std::string_view http_status);
  void Expire();
  void StopReceiving();
  void GiveBackBuffer();
  loop::TimerQueue& timers() const { return connection_.context_.loop.timers(); }

  ServerConnection& connection_;
  RequestHead head_;
  bool head_complete_ = false;
  bool trailers_malformed_ = false;
  uint64_t data_bytes_ = 0;  ///< To be compared with the content-length.
  bool receiving_ = true;    ///< The request; counted in ServerConnection::incomplete_.
  bool asked_ = false;       ///< Whether it is overdue.
  bool ended_ = false;       ///< What it ends with has been decided.
  MessageReader reader_;
  std::vector<std::string> messages_;
  size_t buffered_ = 0;  ///< This call's part of ServerContext::buffered_bytes.
  const Method* method_ = nullptr;
  CallLink* link_ = nullptr;  ///< The method's handle, while both are there.
  std::optional<base::MonotonicTime> deadline_;
  loop::TimerHandle expiry_;
};

/// The part of a method's handle that knows its call for as long as there is one.
class CallLink final {
 public:
  explicit CallLink(IncomingCall& call) : call_(&call), timers_(call.timers()) {
    call.link_ = this;
  }
  CallLink(const CallLink&) = delete;
  CallLink& operator=(const CallLink&) = delete;
  ~CallLink() { Release(); }

  IncomingCall* call() const { return call_; }
  /// Parts with the call, for the handle to end it. Returns: the call; null if it is over.
  IncomingCall* Release();
  /// The call is over before the handle ended it.
  void Lose();
  void OnLost(std::function<void()> callback);

  void OnWritten(std::function<void()> callback);
  void NotifyWritten();

 private:
  void NotifyLost();

  IncomingCall* call_;
  loop::TimerQueue& timers_;
  bool lost_ = false;
  std::function<void()> on_lost_;
  std::function<void()> on_written_;
  loop::TimerHandle notify_lost_;
  loop::TimerHandle notify_written_;
};

}  // namespace tenon::rpc
