#include "tenon/kubelet/log_tail.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/errno_error.h"
#include "base/unique_fd.h"

namespace tenon::kubelet {
namespace {

/// Of one answer; whoever wants more asks again from there.
constexpr size_t kMostBytes = size_t{1} << 20;
constexpr base::Duration kLookInterval = std::chrono::milliseconds(100);

/// What the file holds from `offset` on. A file that is not there yet is an empty one.
Result<std::string> ReadFrom(const std::string& path, int64_t offset) {
  const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    if (errno == ENOENT) return std::string();
    return base::ErrnoError("open", path);
  }
  std::string out(kMostBytes, '\0');
  const ssize_t n = ::pread(fd.get(), out.data(), out.size(), offset);
  if (n < 0) return base::ErrnoError("read", path);
  out.resize(static_cast<size_t>(n));
  return out;
}

}  // namespace

void LogTail::Serve(LogRequest request, admin::Responder responder) {
  const base::MonotonicTime latest = loop_.timers().now() + request.wait;
  Waiting waiting{std::move(request), std::move(responder), latest};
  if (TryAnswer(waiting)) return;
  waiting_.push_back(std::move(waiting));
  ScheduleLook();
}

bool LogTail::TryAnswer(Waiting& waiting) const {
  if (!waiting.responder.wanted()) return true;
  // Asked before the file is read: what was written before the end is then seen.
  const bool last = waiting.request.ended() || loop_.timers().now() >= waiting.latest;
  auto bytes = ReadFrom(waiting.request.path, waiting.request.offset);
  if (!bytes) {
    waiting.responder.Send(admin::ErrorResponse(500, bytes.error().message()));
    return true;
  }
  if (bytes->empty() && !last) return false;
  waiting.responder.Send({.content_type = "text/plain", .body = *std::move(bytes)});
  return true;
}

void LogTail::ScheduleLook() {
  look_ = loop_.timers().After(kLookInterval, [this] { Look(); });
}

void LogTail::Look() {
  waiting_.remove_if([this](Waiting& waiting) { return TryAnswer(waiting); });
  if (!waiting_.empty()) ScheduleLook();
}

}  // namespace tenon::kubelet
