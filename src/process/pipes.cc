#include "process/pipes.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>

namespace tenon::process {
namespace {

constexpr size_t kPieceBytes = size_t{16} << 10;

/// write(2) that answers EPIPE without the signal: what this process does with SIGPIPE is not
/// ours to decide, and a pipe has no MSG_NOSIGNAL.
ssize_t WriteWithoutSignal(int fd, std::string_view bytes) {
  sigset_t sigpipe;
  sigset_t before;
  sigset_t pending;
  sigemptyset(&sigpipe);
  sigaddset(&sigpipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &sigpipe, &before);
  ::sigpending(&pending);
  ssize_t written = ::write(fd, bytes.data(), bytes.size());
  int write_errno = errno;
  if (written < 0 && write_errno == EPIPE && sigismember(&pending, SIGPIPE) == 0) {
    timespec no_wait{};
    ::sigtimedwait(&sigpipe, nullptr, &no_wait);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = write_errno;
  return written;
}

}  // namespace

OutputPipe::OutputPipe(base::UniqueFd fd, size_t most, Sink sink)
    : fd_(std::move(fd)), most_(most), sink_(std::make_shared<const Sink>(std::move(sink))) {}

Result<void> OutputPipe::Start(loop::EventLoop& loop) {
  if (!fd_.valid()) return {};  // The output goes to a file.
  TENON_TRY(watch_, loop.WatchFd(fd_.get(), loop::kReadable,
                                 [this](unsigned /*events*/) { ReadSome(kPieceBytes); }));
  return {};
}

size_t OutputPipe::ReadSome(size_t most) {
  std::array<char, kPieceBytes> piece;
  ssize_t got = ::read(fd_.get(), piece.data(), std::min(most, piece.size()));
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) Close();
  if (got <= 0) return 0;
  std::string_view bytes(piece.data(), static_cast<size_t>(got));
  if (*sink_) {
    std::shared_ptr<const Sink> sink = sink_;
    (*sink)(bytes);
    return bytes.size();
  }
  size_t kept = std::min(bytes.size(), most_ - text_.size());
  text_.append(bytes.substr(0, kept));
  cut_ = cut_ || kept < bytes.size();
  return bytes.size();
}

bool OutputPipe::Finish() {
  std::weak_ptr<const Sink> alive = sink_;
  int left = 0;
  if (fd_.valid()) ::ioctl(fd_.get(), FIONREAD, &left);
  while (left > 0) {
    size_t got = ReadSome(static_cast<size_t>(left));
    if (alive.expired()) return false;
    if (got == 0) break;
    left -= static_cast<int>(got);
  }
  Close();
  return true;
}

void OutputPipe::Close() {
  watch_.Cancel();
  fd_.Reset();
}

Result<void> InputPipe::Start(loop::EventLoop& loop) {
  if (text_.empty()) {
    Close();
    return {};
  }
  TENON_TRY(watch_, loop.WatchFd(fd_.get(), loop::kWritable,
                                 [this](unsigned /*events*/) { OnWritable(); }));
  return {};
}

void InputPipe::OnWritable() {
  std::string_view left = text_;
  left.remove_prefix(written_);
  ssize_t written = WriteWithoutSignal(fd_.get(), left);
  if (written < 0 && (errno == EAGAIN || errno == EINTR)) return;
  written_ += static_cast<size_t>(std::max<ssize_t>(written, 0));
  if (written < 0 || written_ == text_.size()) Close();
}

void InputPipe::Close() {
  watch_.Cancel();
  fd_.Reset();
}

}  // namespace tenon::process
