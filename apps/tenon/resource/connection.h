#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "host/host.h"
#include "kubeapi/api_client.h"
#include "kubeapi/http_transport.h"
#include "loop/event_loop.h"

namespace tenon::cli {

/// What the command line says of the API server.
struct ConnectionOptions {
  std::string server;      ///< Instead of the kubeconfig's; plain HTTP needs no kubeconfig.
  std::string kubeconfig;  ///< Empty: $KUBECONFIG, ~/.kube/config, or the pod's service account.
  std::string context;
  bool allow_exec = false;
};

using Environment = std::map<std::string, std::string>;

/// Finds out how to reach the API server, as kubectl does. Reads the kubeconfig and runs nothing.
/// Errors: with what to name.
Result<kubeapi::Access> FindAccess(const ConnectionOptions& options, const Environment& environment,
                                   host::Host& host);

/// An API server, and all that it takes to talk to it. Thread: loop only.
class Connection final {
 public:
  /// `loop` is borrowed; it runs while a credential program does. Errors: as FindAccess(), and what
  /// that program says.
  static Result<std::unique_ptr<Connection>> Open(loop::EventLoop& loop,
                                                  const ConnectionOptions& options,
                                                  const Environment& environment);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Sends a request and waits for its answer, for a command that has nothing else to do.
  kubeapi::ApiAnswer Call(kubeapi::ApiRequest request);

  loop::EventLoop& loop() { return loop_; }
  kubeapi::ApiClient& client() { return *client_; }
  const std::string& server() const { return client_->access().server; }

 private:
  explicit Connection(loop::EventLoop& loop) : loop_(loop) {}

  loop::EventLoop& loop_;
  // In order of dependence.
  std::unique_ptr<host::Host> host_;
  std::unique_ptr<kubeapi::HttpTransport> transport_;
  std::unique_ptr<kubeapi::ApiClient> client_;
};

}  // namespace tenon::cli
