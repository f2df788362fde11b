#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "admin/http_message.h"

namespace tenon::admin {

/// Reads one HTTP/1.0 or 1.1 message out of a stream of bytes, however it is cut.
///
/// It stops at each border, so that whoever feeds it can look at the head before any of the body
/// is taken, and what follows the message stays with the feeder. Chunked bodies are decoded.
class HttpReader final {
 public:
  enum class Kind {
    kRequest,
    kResponse,
    kHeadResponse,  ///< The answer to a HEAD: no body follows, whatever its head says.
  };
  enum class State {
    kHead,      ///< In the request or status line or the headers.
    kBody,      ///< The head is complete, the body is not.
    kComplete,  ///< All of it was read.
    kFailed,    ///< It cannot be read; failure() says why.
  };
  /// Beyond these a message fails with 431 or 413.
  struct Limits {
    size_t head_bytes = size_t{16} << 10;
    size_t body_bytes = size_t{1} << 20;
  };
  struct Failure {
    int status = 400;  ///< What a server answers.
    std::string text;
  };

  HttpReader(Kind kind, Limits limits);
  HttpReader(const HttpReader&) = delete;
  HttpReader& operator=(const HttpReader&) = delete;
  ~HttpReader();

  /// Takes bytes until they end or the state changes. Returns: how many were taken.
  /// Requires: state() is kHead or kBody.
  size_t Feed(std::string_view bytes);
  /// The stream ended: completes a response that has no length of its own, fails all else.
  void FeedEnd();

  State state() const;
  const Failure& failure() const;  ///< Requires: kFailed.
  /// Whether any byte was taken.
  bool started() const;

  /// Method, path, query and headers from kBody on; the body when kComplete.
  const HttpRequest& request() const;
  HttpRequest TakeRequest();
  /// The same for a response. Requires: kComplete.
  HttpResponse TakeResponse();

  /// From kBody on: whether the sender lets the connection live on after this message.
  bool keep_alive() const;
  bool is_http_1_0() const;
  bool is_head() const;  ///< A request whose answer has no body.

 private:
  struct Parser;
  const std::unique_ptr<Parser> parser_;
};

}  // namespace tenon::admin
