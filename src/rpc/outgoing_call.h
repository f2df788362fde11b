#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "loop/timer_queue.h"
#include "rpc/channel.h"
#include "rpc/lifetime.h"
#include "rpc/message_reader.h"
#include "rpc/response_head.h"
#include "rpc/transport.h"

namespace tenon::rpc {

class OutgoingStream;

/// One call as its caller owns it: collects what the server answers and reports it in a later
/// turn, from a timer of its own, so that nothing runs once it is destroyed.
class OutgoingCall final : public ClientCall {
 public:
  /// What is called back; a unary call has `done`, a stream has the other two.
  struct Callbacks {
    Channel::UnaryDone done;
    std::shared_ptr<const Channel::MessageFn> on_message;
    Channel::EndFn on_end;
  };
  /// The calls that a channel must abandon when it goes.
  using Registry = std::unordered_set<OutgoingCall*>;

  OutgoingCall(loop::TimerQueue& timers, Registry& registry, size_t max_response_bytes,
               Callbacks callbacks);
  /// Cancels the call.
  ~OutgoingCall() override;

  /// Sends the request. A zero `deadline` is none. Requires: `transport` outlives the call's
  /// membership in the registry.
  void Start(Transport& transport, std::string_view method, std::string request,
             base::Duration deadline);
  /// Ends it with this status unless it has ended.
  void End(Status status);
  /// The channel is gone: nothing is called back any more.
  void Abandon();

 private:
  friend class OutgoingStream;

  void OnHeadersEnd(bool last);
  void OnBytes(std::string_view bytes);
  void OnPeerEnd();
  void OnClosed(uint32_t error);
  void CancelStream();
  void Deliver();

  loop::TimerQueue& timers_;
  Registry* registry_;  ///< Null once abandoned.
  Callbacks callbacks_;
  MessageReader reader_;
  Transport* transport_ = nullptr;
  OutgoingStream* stream_ = nullptr;  ///< Null before, after, and once ended.

  ResponseHead head_;
  bool trailers_seen_ = false;
  std::vector<std::string> messages_;  ///< Not yet delivered.
  bool ended_ = false;
  Status status_;
  loop::TimerHandle deadline_;
  loop::TimerHandle deliver_;
  Lifetime lifetime_;
};

}  // namespace tenon::rpc
