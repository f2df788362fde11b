#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "checkpoint/checkpoint.h"
#include "device/pod_resources.h"
#include "discovery/holding.h"
#include "host/host.h"
#include "loop/event_loop.h"
#include "plugin_service/pod_resources_client.h"

namespace tenon::tenond {

/// Who holds which devices: what the kubelet's checkpoint says, and what we have given away since.
///
/// The kubelet tells no plugin when a device is given back. So while it matters, and only then, it
/// is asked every few seconds (PodResources, or the checkpoint where that cannot be had).
/// docs/bookkeeping.md has the whole story. Thread: loop only.
class HeldBook final {
 public:
  struct Options {
    std::string checkpoint;     ///< A path of the real file system.
    std::string pod_resources;  ///< The socket.
    base::Duration period = std::chrono::seconds(5);
    /// A pod that is being admitted is not yet listed by the kubelet.
    base::Duration grace = std::chrono::seconds(10);
  };
  /// Of a replica the device, for resources that are shared.
  using DeviceIdFn = std::function<std::string(const std::string& resource, const std::string& id)>;
  /// The holdings are others than before. Must not destroy the book.
  using ChangedFn = std::function<void(std::vector<discovery::Holding>)>;

  HeldBook(loop::EventLoop& loop, host::Host& host, base::Log& log, Options options,
           DeviceIdFn device_id, ChangedFn changed);
  HeldBook(const HeldBook&) = delete;
  HeldBook& operator=(const HeldBook&) = delete;

  /// Reads the checkpoint, as at the start and when the configuration has changed.
  void ReadCheckpoint();
  /// Remembers that a device has been handed out; `changed` is not called.
  void OnAllocated(const discovery::Holding& holding);
  /// Whether the end of a holding would change anything: begins or ends the asking.
  void SetMatters(bool matters);

  std::vector<discovery::Holding> holdings() const;

 private:
  struct Entry {
    discovery::Holding holding;
    base::MonotonicTime since;
    bool operator==(const Entry&) const = default;
  };
  /// By resource and ids, so that one allocation is one entry.
  using Entries = std::map<std::pair<std::string, std::set<std::string>>, Entry>;

  Result<Entries> LoadCheckpoint() const;
  std::set<std::string> NumbersOf(const checkpoint::Entry& entry) const;
  void Ask();
  void OnPods(const Result<std::vector<PodResources>>& pods);
  void KeepOnly(const std::function<bool(discovery::Holding&)>& is_held);

  loop::EventLoop& loop_;
  host::Host& host_;
  base::Log& log_;
  const Options options_;
  const DeviceIdFn device_id_;
  const ChangedFn changed_;
  Entries entries_;
  bool matters_ = false;
  std::unique_ptr<plugin_service::PodResourcesCall> call_;
  loop::TimerHandle timer_;
};

}  // namespace tenon::tenond
