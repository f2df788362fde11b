#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace tenon::plugin {

/// One encoded device list, shared by all sessions that send it.
using ListBytes = std::shared_ptr<const std::string>;

/// Keeps one kubelet's ListAndWatch stream supplied with the newest device list.
///
/// The kubelet replaces its whole view of the resource with every message, so lists overtaken
/// while a write is in flight are skipped. What was last sent is kept per session and never
/// shared: around a kubelet restart two streams are open at once, and a change already sent to
/// the dying one must still reach the live one.
/// Thread: loop only. Source: deviceplugin/v1beta1 api.proto, ListAndWatch.
class WatchSession final {
 public:
  /// Starts one write to the stream; its completion is reported by OnWritten().
  using WriteFn = std::function<void(const ListBytes&)>;

  explicit WatchSession(WriteFn write) : write_(std::move(write)) {}
  WatchSession(const WatchSession&) = delete;
  WatchSession& operator=(const WatchSession&) = delete;

  /// Makes `list` the newest. Starts no write if it equals what was last sent.
  void Offer(ListBytes list);

  /// Ends the write in flight and starts the next one if a newer list is waiting.
  /// Requires: a write is in flight.
  void OnWritten();

  /// Whether all that was offered has been written.
  bool idle() const { return !writing_; }

 private:
  void WriteIfNewer();

  const WriteFn write_;
  ListBytes newest_;
  ListBytes sent_;
  bool writing_ = false;
};

}  // namespace tenon::plugin
