#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "loop/event_loop.h"

namespace tenon::fake_api {

/// An HTTP/1.1 server on 127.0.0.1, with or without TLS, on the loop of the test. It answers what
/// the test says and keeps what it was asked.
class FakeApiServer final {
 public:
  struct Request {
    std::string method;
    std::string target;
    std::map<std::string, std::string> headers;  ///< Names in lower case.
    std::string body;
    std::string Line() const { return method + " " + target; }
  };
  struct Answer {
    int status = 200;
    std::string body;
    std::vector<std::string> headers;  ///< "Retry-After: 1".
    bool is_stream = false;            ///< Goes on until EndStreams(): a watch.
  };
  /// PEM files, read for each new connection, so that they can be renewed.
  struct TlsFiles {
    std::string certificate;
    std::string key;
    std::string client_authority;  ///< A client's certificate is asked for if it is not empty.
  };
  using AnswerFn = std::function<std::optional<Answer>(const Request&)>;

  /// `answer` may give nothing: then the client waits in vain.
  FakeApiServer(loop::EventLoop& loop, AnswerFn answer, std::optional<TlsFiles> tls = {});
  FakeApiServer(const FakeApiServer&) = delete;
  FakeApiServer& operator=(const FakeApiServer&) = delete;
  ~FakeApiServer();

  /// "https://127.0.0.1:41234".
  std::string Url() const;
  int port() const { return port_; }

  /// Sends a line to every client that watches.
  void SendLine(std::string_view line);
  void EndStreams();
  /// Closes every connection as it is.
  void Cut();
  size_t streams() const;

  std::vector<Request> requests;
  /// The lines of `requests`.
  std::vector<std::string> Lines() const;

 private:
  class Connection;
  void Accept();

  loop::EventLoop& loop_;
  const AnswerFn answer_;
  const std::optional<TlsFiles> tls_;
  int port_ = 0;
  base::UniqueFd listener_;
  loop::FdWatch watch_;
  std::vector<std::unique_ptr<Connection>> connections_;
};

}  // namespace tenon::fake_api
