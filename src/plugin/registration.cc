#include "plugin/registration.h"

#include <utility>

#include "base/check.h"

namespace tenon::plugin {
namespace {

/// Texts that differ without end (a path with a random part, say) must not fill the memory.
constexpr size_t kMaxLoggedTexts = 32;

}  // namespace

Registration::Registration(const Options& options, loop::TimerQueue& timers, base::Log& log,
                           KubeletDirectory& directory, PluginSocket& socket,
                           KubeletClient& kubelet)
    : options_(options),
      timers_(timers),
      log_(log),
      directory_(directory),
      socket_(socket),
      kubelet_(kubelet),
      retry_(options.retry, options.seed),
      stream_retry_(options.stream_retry, options.seed + 1) {}

void Registration::Start() {
  TENON_CHECK(state_ == State::kStopped);
  seen_ = directory_.Look();
  if (!WaitIfAbsent(seen_)) BeginCycle();
}

void Registration::Stop() {
  AbandonCycle();
  Enter(State::kStopped);
}

void Registration::Check() {
  if (state_ == State::kStopped) return;
  DirectoryView view = directory_.Look();
  const bool replaced = view.directory != seen_.directory;
  const bool new_kubelet = view.kubelet_socket != 0 && view.kubelet_socket != seen_.kubelet_socket;
  const bool streaming_on = state_ == State::kStreaming && view.directory != 0 && !replaced &&
                            view.kubelet_socket == 0 && socket_.IsOurs();
  // Without kubelet.sock nobody new can register, but the kubelet that holds our stream has not
  // let go. Its number stays in seen_, so that the next kubelet.sock counts as a new one.
  if (streaming_on) return;
  seen_ = std::move(view);
  if (WaitIfAbsent(seen_)) return;
  if (replaced || new_kubelet) {
    retry_.Reset();
    stream_retry_.Reset();
    BeginCycle();
  } else if (state_ != State::kWaitingToRetry && !socket_.IsOurs()) {
    BeginCycle();
  }
}

bool Registration::WaitIfAbsent(const DirectoryView& view) {
  if (view.directory != 0 && view.kubelet_socket != 0) return false;
  AbandonCycle();
  if (view.directory == 0) {
    socket_.Stop();
    Enter(State::kWaitingForDirectory, view.trouble);
  } else {
    if (!socket_.IsOurs()) socket_.Stop();
    Enter(State::kWaitingForKubelet, "there is no kubelet.sock");
  }
  return true;
}

void Registration::AbandonCycle() {
  call_.reset();
  timer_.Cancel();
  stream_.reset();
}

void Registration::BeginCycle() {
  AbandonCycle();
  if (socket_.IsOurs()) {
    socket_.EndStreams();
  } else if (auto served = socket_.Serve(); !served) {
    RetryAfter(retry_.Next(), std::move(served).error().Wrap("serve").message());
    return;
  }
  Enter(State::kRegistering);
  call_ = kubelet_.Register([this](Result<void> result) { OnRegisterDone(std::move(result)); });
}

void Registration::OnRegisterDone(Result<void> result) {
  call_.reset();
  if (!result) {
    RetryAfter(retry_.Next(), std::move(result).error().Wrap("register with kubelet").message());
    return;
  }
  if (stream_) {
    streaming_since_ = timers_.now();
    Enter(State::kStreaming);
    return;
  }
  Enter(State::kRegistered);
  timer_ = timers_.After(options_.stream_deadline, [this] {
    RetryAfter(retry_.Next(), "the kubelet accepted the registration, but opened no stream");
  });
}

void Registration::OnStreamOpened(uint64_t stream) {
  if (stream_ || (state_ != State::kRegistering && state_ != State::kRegistered)) return;
  stream_ = stream;
  if (state_ != State::kRegistered) return;  // The answer to Register is still under way.
  timer_.Cancel();
  streaming_since_ = timers_.now();
  Enter(State::kStreaming);
}

void Registration::OnStreamClosed(uint64_t stream) {
  if (stream_ != stream) return;
  stream_.reset();
  if (state_ != State::kStreaming) return;
  if (timers_.now() - streaming_since_ >= options_.stable_stream) stream_retry_.Reset();
  RetryAfter(stream_retry_.Next(), "the kubelet closed the stream");
}

void Registration::RetryAfter(base::Duration delay, std::string why) {
  Enter(State::kWaitingToRetry, std::move(why));
  timer_ = timers_.After(delay, [this] { OnRetry(); });
}

void Registration::OnRetry() {
  seen_ = directory_.Look();
  if (!WaitIfAbsent(seen_)) BeginCycle();
}

void Registration::Enter(State state, std::string detail) {
  const State before = std::exchange(state_, state);
  const bool news = before != state || detail_ != detail;
  detail_ = std::move(detail);
  if (!news) return;
  if (state == State::kStreaming) {
    retry_.Reset();
    logged_.clear();
    log_.Info("the kubelet has the resource", {{"resource", options_.resource}});
  }
  if (!detail_.empty()) LogTrouble();
  if (before != state && on_change_) on_change_(before, state);
}

void Registration::LogTrouble() {
  if (logged_.size() >= kMaxLoggedTexts) logged_.clear();
  if (!logged_.insert(detail_).second) return;
  if (state_ == State::kWaitingToRetry)
    log_.Warning("not registered, trying again",
                 {{"resource", options_.resource}, {"error", detail_}});
  else
    log_.Info(StateName(state_), {{"resource", options_.resource}, {"detail", detail_}});
}

std::string_view StateName(Registration::State state) {
  switch (state) {
    case Registration::State::kStopped:
      return "stopped";
    case Registration::State::kWaitingForDirectory:
      return "waiting for the device-plugin directory";
    case Registration::State::kWaitingForKubelet:
      return "waiting for the kubelet";
    case Registration::State::kWaitingToRetry:
      return "waiting to retry";
    case Registration::State::kRegistering:
      return "registering";
    case Registration::State::kRegistered:
      return "registered, no stream yet";
    case Registration::State::kStreaming:
      return "streaming";
  }
  return "";
}

}  // namespace tenon::plugin
