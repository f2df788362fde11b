#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/clock.h"
#include "loop/event_loop.h"
#include "manager/plugin_client.h"

namespace tenon::kubelet_service {

/// Connects to plugins' sockets in one directory.
///
/// A plugin may register a moment before it listens, so a socket that is not there or that nobody
/// listens on is tried again until the limit, as the kubelet does. A file that is no socket, or a
/// socket of a user that is neither ours nor root, is refused at once: whoever can put one there
/// would hand devices of its choice to containers. Thread: loop only.
class SocketDialer final : public manager::PluginDialer {
 public:
  struct Options {
    /// Larger answers, lists of devices above all, end the stream. The kubelet's is 4 MiB.
    size_t max_response_bytes = size_t{16} << 20;
    /// Endpoints are paths, joined to the directory, and nothing is checked: the kubelet's way.
    bool any_endpoint = false;
  };

  SocketDialer(loop::EventLoop& loop, std::string directory, const Options& options)
      : loop_(loop), directory_(std::move(directory)), options_(options) {}

  /// A connection that was refused to the end leaves its errno in the error.
  std::unique_ptr<manager::PluginCall> Dial(const std::string& endpoint, base::Duration limit,
                                            Done done) override;

 private:
  loop::EventLoop& loop_;
  const std::string directory_;
  const Options options_;
};

}  // namespace tenon::kubelet_service
