#include "rpc/output_queue.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/errno_error.h"

namespace tenon::rpc {
namespace {

/// Below this, copying costs less than another entry in the vector of a system call.
constexpr size_t kSmall = 1024;
constexpr size_t kMaxKeptCapacity = 4096;
constexpr size_t kMaxVectors = 32;
/// Written segments are dropped in lots of this, so that a queue that never drains stays small.
constexpr size_t kDropAfter = 64;

}  // namespace

void OutputQueue::Append(std::string_view bytes) {
  bool new_segment = segments_.empty() || segments_.back().shared ||
                     segments_.back().own.size() >= kMaxKeptCapacity;
  if (new_segment) segments_.emplace_back();
  Segment& last = segments_.back();
  last.own.append(bytes);
  last.end = last.own.size();
  appended_ += bytes.size();
}

void OutputQueue::AppendShared(const std::shared_ptr<const std::string>& body, size_t offset,
                               size_t length) {
  if (length < kSmall) {
    std::string_view bytes = *body;
    return Append(bytes.substr(offset, length));
  }
  segments_.push_back({.shared = body, .begin = offset, .end = offset + length});
  appended_ += length;
}

Result<void> OutputQueue::WriteTo(int socket) {
  while (!empty()) {
    std::array<iovec, kMaxVectors> vectors;
    size_t count = 0;
    size_t bytes = 0;
    for (size_t i = first_; i < segments_.size() && count < kMaxVectors; ++i) {
      const Segment& segment = segments_[i];
      size_t length = segment.end - segment.begin;
      // sendmsg() does not write to what it sends; iovec is shared with recvmsg().
      vectors[count++] = {const_cast<char*>(segment.bytes()), length};
      bytes += length;
    }
    msghdr message{.msg_iov = vectors.data(), .msg_iovlen = count};
    ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return {};
    if (sent < 0) return base::ErrnoError("write", "");
    Consume(static_cast<size_t>(sent));
    if (static_cast<size_t>(sent) < bytes) return {};
  }
  return {};
}

void OutputQueue::Consume(size_t count) {
  written_ += count;
  while (count > 0) {
    Segment& segment = segments_[first_];
    size_t taken = std::min(count, segment.end - segment.begin);
    segment.begin += taken;
    count -= taken;
    if (segment.begin < segment.end) return;
    if (++first_ == segments_.size()) break;
    segment = {};
  }
  if (first_ < segments_.size()) {
    if (first_ < kDropAfter) return;
    segments_.erase(segments_.begin(), segments_.begin() + static_cast<ptrdiff_t>(first_));
    first_ = 0;
    return;
  }
  // The usual case is one small buffer an answer: keep its memory for the next one.
  std::string kept = std::move(segments_.back().own);
  segments_.clear();
  first_ = 0;
  if (kept.capacity() > kMaxKeptCapacity) return;
  kept.clear();
  segments_.push_back({.own = std::move(kept)});
}

std::vector<int32_t> OutputQueue::TakeWrittenMessages() {
  std::vector<int32_t> streams;
  auto end = std::ranges::find_if(marks_, [&](const Mark& m) { return m.position > written_; });
  for (auto mark = marks_.begin(); mark != end; ++mark)
    streams.push_back(mark->stream);
  marks_.erase(marks_.begin(), end);
  return streams;
}

}  // namespace tenon::rpc
