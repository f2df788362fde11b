#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "loop/event_loop.h"
#include "rpc/http2_session.h"
#include "rpc/lifetime.h"
#include "rpc/output_queue.h"

namespace tenon::rpc {

/// One HTTP/2 connection over a socket on the loop: moves bytes between the two, writes at once
/// and waits for the socket only when it is full.
/// Thread: loop only.
class Transport final {
 public:
  class Owner {
   public:
    Owner() = default;
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;
    virtual ~Owner() = default;
    /// A batch of bytes has been taken in; may destroy the transport.
    virtual void OnReceived() = 0;
    /// No stream is open and nothing waits to be written; must not destroy the transport.
    virtual void OnQuiet() = 0;
    /// The connection is over, for `reason`; the last call, which may destroy the transport.
    virtual void OnLost(const std::string& reason) = 0;
  };

  Transport(loop::EventLoop& loop, const Http2Session::Options& options,
            Http2Session::Events& events, Owner& owner)
      : loop_(loop), owner_(owner), session_(options, events) {}
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  /// Gives it the socket, connected and non-blocking. Requests made before wait for it.
  Result<void> Attach(base::UniqueFd socket);

  /// After using it, call Flush().
  Http2Session& session() { return session_; }

  /// Sends what the session has to say. While bytes are being taken in it waits for their end,
  /// so that all answers to a batch leave together. Runs none of the owner's code but OnQuiet().
  void Flush();

  /// Says that the connection ends with its last stream, and lets it.
  void Drain();

  /// Says goodbye if the socket takes it, and ends the connection: OnLost() follows.
  void Close(uint32_t http2_error, std::string reason);

 private:
  void OnReady(unsigned events);
  void Receive();
  /// Returns: why the connection cannot go on, else nullopt.
  std::optional<std::string> Write();
  void Fail(std::string reason);

  loop::EventLoop& loop_;
  Owner& owner_;
  Http2Session session_;
  OutputQueue output_;
  base::UniqueFd socket_;
  loop::FdWatch watch_;  // After socket_: ends before the descriptor is closed.
  loop::TimerHandle lost_;
  base::MonotonicTime idleness_since_{};  ///< From when the session counts.
  bool failed_ = false;
  bool draining_ = false;
  bool corked_ = false;           ///< Flush() waits.
  bool awaiting_socket_ = false;  ///< The socket is full.
  bool writes_watched_ = false;   ///< And the loop will say when it is not.
  Lifetime lifetime_;
};

}  // namespace tenon::rpc
