#pragma once

#include <sys/types.h>

#include "base/clock.h"
#include "base/unique_fd.h"

namespace tenon::bench {

/// The least that an exchange between two processes over a unix socket can cost here: a child
/// process that sends back what it gets, with nothing in between.
class SocketFloor final {
 public:
  SocketFloor();
  SocketFloor(const SocketFloor&) = delete;
  SocketFloor& operator=(const SocketFloor&) = delete;
  ~SocketFloor();

  /// Sends `width` messages at once, each as large as a small call, and waits until all are back.
  /// Requires: 1 <= width <= 16.
  void Exchange(int width);
  pid_t pid() const { return pid_; }

 private:
  base::UniqueFd socket_;
  pid_t pid_ = -1;
};

}  // namespace tenon::bench
