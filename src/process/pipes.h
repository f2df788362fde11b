#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "loop/event_loop.h"

namespace tenon::process {

/// Collects what a child writes, up to a limit, or hands it on as it comes. The child is never
/// held up: what is over the limit is read and dropped. Thread: loop only.
class OutputPipe final {
 public:
  /// May destroy the pipe.
  using Sink = std::function<void(std::string_view bytes)>;

  /// Without a `sink` the first `most` bytes are kept.
  OutputPipe(base::UniqueFd fd, size_t most, Sink sink);
  OutputPipe(const OutputPipe&) = delete;
  OutputPipe& operator=(const OutputPipe&) = delete;

  Result<void> Start(loop::EventLoop& loop);
  /// Reads what is in the pipe at this moment, and not what a grandchild goes on writing; then
  /// closes it. Returns: false if the sink destroyed this.
  bool Finish();

  std::string TakeText() { return std::move(text_); }
  bool cut() const { return cut_; }

 private:
  /// Returns: the number of bytes; 0 when there is nothing to read or this was destroyed.
  size_t ReadSome(size_t most);
  void Close();

  base::UniqueFd fd_;
  loop::FdWatch watch_;  // After fd_: ends before the descriptor is closed.
  const size_t most_;
  // Shared with whoever calls it, as the call may destroy this; also tells them that it did.
  const std::shared_ptr<const Sink> sink_;
  std::string text_;
  bool cut_ = false;
};

/// Gives a child its standard input and closes it. A child that does not read it all is fine.
/// Thread: loop only.
class InputPipe final {
 public:
  InputPipe(base::UniqueFd fd, std::string text) : fd_(std::move(fd)), text_(std::move(text)) {}
  InputPipe(const InputPipe&) = delete;
  InputPipe& operator=(const InputPipe&) = delete;

  Result<void> Start(loop::EventLoop& loop);
  void Close();

 private:
  void OnWritable();

  base::UniqueFd fd_;
  loop::FdWatch watch_;  // After fd_: ends before the descriptor is closed.
  const std::string text_;
  size_t written_ = 0;
};

}  // namespace tenon::process
