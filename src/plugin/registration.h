#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/log.h"
#include "loop/backoff.h"
#include "loop/timer_queue.h"
#include "plugin/ports.h"

namespace tenon::plugin {

/// Brings one resource to the kubelet and keeps it there, for ever.
///
/// The kubelet never calls a plugin again by itself: after it restarts, after it drops a stream,
/// after someone removes a socket, only a new Register revives the resource. So each of these is
/// looked for, and each ends in a new cycle: serve, register, wait for the stream. Streams of an
/// earlier cycle are ended first, so that the kubelet never holds two.
///
/// It is driven from outside: Check() on every hint that the directory may have changed, and the
/// stream calls from the server. A lost hint costs time, not correctness, if Check() is also
/// called now and then.
/// Thread: loop only. Source: kubernetes pkg/kubelet/cm/devicemanager/plugin/v1beta1, server.go.
class Registration final {
 public:
  enum class State {
    kStopped,              ///< Before Start() and after Stop(): nothing is attempted.
    kWaitingForDirectory,  ///< The device-plugin directory is missing or unreadable.
    kWaitingForKubelet,    ///< The directory has no kubelet.sock.
    kWaitingToRetry,       ///< Something failed (see detail()); a timer runs to the next cycle.
    kRegistering,          ///< Our socket is up and Register is under way.
    kRegistered,           ///< The kubelet accepted, but has not opened its stream yet.
    kStreaming,            ///< The kubelet holds a stream: the resource is on the node.
  };

  struct Options {
    /// After a socket that cannot be made, a refused or unanswered Register, a missing stream.
    loop::Backoff::Options retry = {std::chrono::milliseconds(10), std::chrono::seconds(10)};
    /// After a lost stream while both sockets stay. The kubelet usually is about to restart
    /// then, and needs a moment to forget the old stream if it is not.
    loop::Backoff::Options stream_retry = {std::chrono::seconds(1), std::chrono::seconds(10)};
    /// How long to wait for the stream after Register.
    base::Duration stream_deadline = std::chrono::seconds(10);
    /// A stream that lived this long makes the next loss a first one.
    base::Duration stable_stream = std::chrono::seconds(30);
    /// Of the jitter.
    uint64_t seed = 1;
    /// Named in the log.
    std::string resource;
  };
  /// Told after each change of state. It must not call into the registration nor destroy it.
  using OnChange = std::function<void(State before, State now)>;

  /// `log` gets each distinct trouble once until the kubelet streams again.
  Registration(const Options& options, loop::TimerQueue& timers, base::Log& log,
               KubeletDirectory& directory, PluginSocket& socket, KubeletClient& kubelet);
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

  void SetOnChange(OnChange on_change) { on_change_ = std::move(on_change); }

  /// Begins. Requires: kStopped.
  void Start();
  /// Gives up what is under way. The socket is left as it is, for its owner to drain.
  void Stop();
  /// Looks at the directory and at our own socket, and acts on what has changed.
  void Check();

  /// A ListAndWatch stream was opened or closed by its client. The first one after Register
  /// counts as the kubelet's; others are somebody's who is curious.
  void OnStreamOpened(uint64_t stream);
  void OnStreamClosed(uint64_t stream);

  State state() const { return state_; }
  /// Whether pods can get the resource: registered and a live stream.
  bool ready() const { return state_ == State::kStreaming; }
  /// What it waits for or what failed, for a person; empty when all is well.
  const std::string& detail() const { return detail_; }

 private:
  /// Enters the state that waits for what `view` lacks. Returns: whether anything is lacking.
  bool WaitIfAbsent(const DirectoryView& view);
  void BeginCycle();
  void AbandonCycle();
  void OnRegisterDone(Result<void> result);
  void RetryAfter(base::Duration delay, std::string why);
  void OnRetry();
  void Enter(State state, std::string detail = {});
  void LogTrouble();

  const Options options_;
  loop::TimerQueue& timers_;
  base::Log& log_;
  KubeletDirectory& directory_;
  PluginSocket& socket_;
  KubeletClient& kubelet_;
  OnChange on_change_;

  State state_ = State::kStopped;
  std::string detail_;
  DirectoryView seen_;  ///< As of the last cycle or wait.
  loop::Backoff retry_;
  loop::Backoff stream_retry_;
  std::optional<uint64_t> stream_;  ///< The kubelet's, in this cycle.
  base::MonotonicTime streaming_since_{};
  std::set<std::string> logged_;
  std::unique_ptr<RegisterCall> call_;
  loop::TimerHandle timer_;
};

/// "waiting for the kubelet", for status and logs.
std::string_view StateName(Registration::State state);

}  // namespace tenon::plugin
