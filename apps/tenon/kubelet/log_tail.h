#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <string>

#include "admin/http_server.h"
#include "base/clock.h"
#include "base/result.h"
#include "loop/event_loop.h"
#include "loop/timer_queue.h"

namespace tenon::kubelet {

/// One request for what a container has written.
struct LogRequest {
  std::string path;
  int64_t offset = 0;
  /// How long an empty answer may be put off.
  base::Duration wait{};
  /// Whether nothing more can come.
  std::function<bool()> ended;
};

/// Answers requests for containers' output, now or once there is some. Files are looked at ten
/// times a second, and only while somebody waits. Thread: loop only.
class LogTail final {
 public:
  explicit LogTail(loop::EventLoop& loop) : loop_(loop) {}
  LogTail(const LogTail&) = delete;
  LogTail& operator=(const LogTail&) = delete;

  void Serve(LogRequest request, admin::Responder responder);

 private:
  struct Waiting {
    LogRequest request;
    admin::Responder responder;
    base::MonotonicTime latest;
  };

  /// Returns whether it was answered.
  bool TryAnswer(Waiting& waiting) const;
  void ScheduleLook();
  void Look();

  loop::EventLoop& loop_;
  std::list<Waiting> waiting_;
  loop::TimerHandle look_;
};

}  // namespace tenon::kubelet
