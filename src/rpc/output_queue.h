#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tenon::rpc {

/// Bytes on their way to a socket. Message bodies are held by reference, so that one body can be
/// on its way to many peers; small things are copied together, so that a turn is one system call.
class OutputQueue final {
 public:
  void Append(std::string_view bytes);
  /// Part of a shared body. Requires: offset + length <= body->size().
  void AppendShared(const std::shared_ptr<const std::string>& body, size_t offset, size_t length);
  /// Notes that what was appended last ends a message of this stream.
  void MarkMessageEnd(int32_t stream) { marks_.push_back({appended_, stream}); }

  size_t size() const { return appended_ - written_; }
  bool empty() const { return size() == 0; }

  /// Writes until the socket takes no more. Never raises SIGPIPE.
  Result<void> WriteTo(int socket);
  /// The streams whose marked messages have been written since the last call, in order.
  std::vector<int32_t> TakeWrittenMessages();

 private:
  struct Segment {
    std::string own;
    std::shared_ptr<const std::string> shared;  ///< Null: the bytes are in `own`.
    size_t begin = 0;
    size_t end = 0;
    const char* bytes() const { return (shared ? shared->data() : own.data()) + begin; }
  };
  struct Mark {
    uint64_t position;
    int32_t stream;
  };
  void Consume(size_t count);

  std::vector<Segment> segments_;
  size_t first_ = 0;  ///< Segments before it are written.
  uint64_t appended_ = 0;
  uint64_t written_ = 0;
  std::vector<Mark> marks_;
};

}  // namespace tenon::rpc
