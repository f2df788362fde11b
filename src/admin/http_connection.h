#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "admin/http_message.h"
#include "admin/http_reader.h"
#include "admin/http_router.h"
#include "admin/http_server.h"
#include "base/unique_fd.h"
#include "loop/event_loop.h"

namespace tenon::admin {

/// One client's connection to an HttpServer: reads a request, has it answered, writes the
/// answer, and again. Nothing is read while an answer is due, so a client that pipelines without
/// end fills its own buffers, not ours.
/// Thread: loop only.
class HttpConnection final {
 public:
  enum class Origin {
    kUnix,  ///< Let in by the mode of the socket file.
    kTcp,   ///< Anybody on the address: may only look.
  };
  struct Environment {
    loop::EventLoop& loop;
    const HttpRouter& router;
    const HttpServer::Options& options;
    Origin origin;
    std::function<void()> on_closed;  ///< Runs inside a call to the connection: destroy it later.
  };

  HttpConnection(base::UniqueFd fd, Environment environment);
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;
  ~HttpConnection();

  /// Begins to read. Errors: the descriptor cannot be watched.
  Result<void> Start();

  /// Writes the answer to the request in hand. Requires: a request is in hand.
  void Answer(const HttpResponse& response);

  void Close();
  bool closed() const { return state_ == State::kClosed; }
  /// Whether closing it loses nobody's request.
  bool idle() const;

 private:
  enum class State {
    kReading,    ///< Waits for a request or is inside one.
    kAnswering,  ///< A route has the request.
    kWriting,    ///< The answer is on its way.
    kLingering,  ///< Our end is closed; what still comes is thrown away, so that no reset
                 ///< overtakes the answer.
    kClosed,
  };

  void OnEvents(unsigned events);
  void ReadInput();
  void Advance();
  void OnHead();
  std::optional<HttpResponse> Refusal(const HttpRequest& request) const;
  void Dispatch();
  void Refuse(const HttpResponse& response);
  void Queue(const HttpResponse& response);
  void Flush();
  void OnAnswerWritten();
  void ExpectRequest();
  void CloseAfter(base::Duration delay);
  void UpdateWatch();

  const base::UniqueFd fd_;
  const Environment environment_;
  State state_ = State::kReading;
  std::unique_ptr<HttpReader> reader_;
  HttpRouter::Match match_;  ///< Of the request being read, once its head was accepted.
  std::string input_;
  std::string output_;
  bool end_of_input_ = false;
  bool keep_alive_ = false;
  std::shared_ptr<Responder::Link> link_;  ///< While a route has the request.
  loop::TimerHandle deadline_;
  loop::FdWatch watch_;  // After fd_: ends before the descriptor is closed.
};

}  // namespace tenon::admin
