#include "rpc/transport.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "rpc/grpc_text.h"

namespace tenon::rpc {
namespace {

constexpr size_t kReadBytes = size_t{16} << 10;
/// After this many reads in a turn it is the turn of other descriptors.
constexpr int kReadsPerTurn = 16;
/// How much is taken out of the session ahead of the socket.
constexpr size_t kOutputBytes = size_t{64} << 10;
/// What carries nothing may come at the rate of the session's limits for this long.
constexpr base::Duration kIdlenessInterval = std::chrono::seconds(10);

}  // namespace

Result<void> Transport::Attach(base::UniqueFd socket) {
  TENON_TRY(watch_, loop_.WatchFd(socket.get(), loop::kReadable,
                                  [this](unsigned events) { OnReady(events); }));
  socket_ = std::move(socket);
  Flush();
  return {};
}

void Transport::OnReady(unsigned events) {
  corked_ = true;
  if ((events & (loop::kReadable | loop::kHangup)) != 0) Receive();
  if (!failed_ && !lifetime_.Outlives([this] { owner_.OnReceived(); })) return;
  corked_ = false;
  if ((events & loop::kWritable) != 0) awaiting_socket_ = false;
  Flush();
}

void Transport::Receive() {
  if (loop_.timers().now() - idleness_since_ >= kIdlenessInterval) {
    idleness_since_ = loop_.timers().now();
    session_.ForgetIdleness();
  }
  std::array<char, kReadBytes> buffer;
  for (int i = 0; i < kReadsPerTurn; ++i) {
    ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got < 0) return Fail("read: " + GoErrnoText(errno));
    if (got == 0) return Fail("EOF");
    auto reason = session_.Feed({buffer.data(), static_cast<size_t>(got)});
    if (reason) return Close(kEnhanceYourCalm, *reason);
    if (static_cast<size_t>(got) < buffer.size()) return;
  }
}

void Transport::Flush() {
  if (corked_ || failed_ || !socket_.valid()) return;
  corked_ = true;
  std::optional<std::string> reason = Write();
  corked_ = false;
  if (reason) return Fail(*std::move(reason));
  if (draining_ && session_.stream_count() == 0 && output_.empty())
    return Close(kNoError, "drained");
  if (session_.finished() && output_.empty())
    return Fail(session_.complaint().empty() ? "EOF" : session_.complaint());
  if (session_.stream_count() == 0 && output_.empty()) owner_.OnQuiet();
}

std::optional<std::string> Transport::Write() {
  while (!awaiting_socket_) {
    if (auto reason = session_.Produce(output_, kOutputBytes)) return reason;
    if (output_.empty()) break;
    if (auto written = output_.WriteTo(socket_.get()); !written)
      return "write: " + GoErrnoText(written.error().os_errno());
    for (int32_t stream : output_.TakeWrittenMessages())
      session_.NotifyWritten(stream);
    awaiting_socket_ = !output_.empty();
  }
  if (std::exchange(writes_watched_, awaiting_socket_) != awaiting_socket_)
    watch_.SetEvents(loop::kReadable | (awaiting_socket_ ? loop::kWritable : loop::kNone));
  return std::nullopt;
}

void Transport::Drain() {
  draining_ = true;
  session_.AnnounceGoAway();
  Flush();
}

void Transport::Close(uint32_t http2_error, std::string reason) {
  if (failed_) return;
  if (socket_.valid()) {
    session_.GoAway(http2_error);
    Write();
  }
  Fail(std::move(reason));
}

void Transport::Fail(std::string reason) {
  if (std::exchange(failed_, true)) return;
  watch_.Cancel();
  socket_.Reset();
  lost_ = loop_.timers().After(base::Duration::zero(),
                               [this, why = std::move(reason)] { owner_.OnLost(why); });
}

}  // namespace tenon::rpc
