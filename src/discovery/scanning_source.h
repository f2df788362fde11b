#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "discovery/directory_watches.h"
#include "discovery/scanner.h"
#include "discovery/source.h"
#include "host/file_watch.h"
#include "host/host.h"
#include "host/uevent_socket.h"
#include "loop/timer_queue.h"

namespace tenon::discovery {

/// What a source sees of the machine and of time. All are borrowed.
struct Surroundings {
  host::Host& host;
  host::FileWatch* files;  ///< Null where inotify is not to be had.
  loop::TimerQueue& timers;
  base::Log& log;
  host::UeventSocket* uevents = nullptr;  ///< Null where the kernel's events are not to be had.
};

struct ScanTiming {
  /// How long nothing must happen before a scan: a device node comes before its permissions and
  /// its links.
  base::Duration settle = std::chrono::milliseconds(50);
  /// The longest that events after one another put a scan off.
  base::Duration longest_settle = std::chrono::milliseconds(200);
  /// The safety net under the events; all sources look in the same turn, for one wake-up.
  base::Duration slow_poll = std::chrono::seconds(60);
  /// While events cannot be had.
  base::Duration poll_without_events = std::chrono::seconds(5);
};

/// Has a scanner look whenever something may have changed, and now and then in any case.
///
/// The directories on the way are watched before they are looked at, so nothing that appears in
/// between is missed. A storm of events is one scan. What is left out is logged once.
class ScanningSource final : public Source {
 public:
  ScanningSource(const Surroundings& surroundings, std::unique_ptr<Scanner> scanner,
                 const ScanTiming& timing = {});

  void Start(ReportFn report) override;
  void Rescan() override;

 private:
  void OnChange(const std::string& directory, const std::string& name);
  void OnUevent(const host::Uevent* event);
  void LookSoon();
  void LookNow();
  void SchedulePoll();
  void LogSkipped(std::map<std::string, Skipped> skipped);

  const Surroundings surroundings_;
  const std::unique_ptr<Scanner> scanner_;
  const ScanTiming timing_;
  ReportFn report_;
  DirectoryWatches watches_;
  std::unique_ptr<host::UeventSubscription> uevents_;
  std::map<std::string, Skipped> logged_;
  std::optional<ChangedNames> changed_;  ///< What was told of since the last look; none: anything.
  std::optional<base::MonotonicTime> first_event_;  ///< Of those that no scan has seen.
  loop::TimerHandle settle_timer_;
  loop::TimerHandle poll_timer_;
};

}  // namespace tenon::discovery
