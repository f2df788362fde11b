#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/glob.h"
#include "base/log.h"
#include "discovery/directory_watches.h"
#include "discovery/glob_walk.h"
#include "discovery/source.h"
#include "discovery/trust.h"
#include "host/file_watch.h"
#include "host/host.h"
#include "loop/timer_queue.h"

namespace tenon::discovery {

/// What a source sees of the machine and of time. All are borrowed.
struct Surroundings {
  host::Host& host;
  host::FileWatch* files;  ///< Null where inotify is not to be had.
  loop::TimerQueue& timers;
  base::Log& log;
};

struct PathOptions {
  base::Glob path;
  /// In the container: a path, or a directory ending in "/" in which the device node keeps its
  /// name. Empty: the path on the host.
  std::string container_path;
  std::string permissions = "rw";
  Trust trust;
};

struct PathTiming {
  /// How long nothing must happen before a scan: a device node comes before its permissions and
  /// its links.
  base::Duration settle = std::chrono::milliseconds(50);
  /// The longest that events after one another put a scan off.
  base::Duration longest_settle = std::chrono::milliseconds(200);
  /// The safety net under the watches; all sources look in the same turn, for one wake-up.
  base::Duration slow_poll = std::chrono::seconds(60);
  /// While a watch could not be made.
  base::Duration poll_without_watches = std::chrono::seconds(5);
};

/// "serial/by-id/usb-X" for /dev/serial/by-id/usb-X, in the letters of an id; the whole path where
/// it is not below /dev. Part of the contract of docs/ids.md.
DeviceId PathDeviceId(const std::string& path);

/// Offers each device node that a path or a pattern leads to, by the path as it was written: links
/// in by-id keep their name while the numbers of the device nodes behind them change.
///
/// A literal path that is there but is no usable device node gives an unhealthy device that says
/// why; for a pattern such a match is skipped and logged once. Of several matches that lead to one
/// device node the first in natural order is offered.
/// The directories on the way are watched before they are looked at, so nothing that appears in
/// between is missed.
class PathSource final : public Source {
 public:
  PathSource(const Surroundings& surroundings, PathOptions options, const PathTiming& timing = {});

  void Start(ReportFn report) override;
  void Rescan() override;

 private:
  /// Why something that matched is not offered, and how loud to say so.
  struct Skipped {
    base::LogLevel level;
    std::string why;
    bool operator==(const Skipped&) const = default;
  };
  struct Scan {
    Snapshot devices;
    std::map<std::string, Skipped> skipped;
    std::set<std::string> directories;
  };

  void OnEvent();
  void SchedulePoll();
  Scan LookAround() const;
  void LookAtLiteral(Scan& scan) const;
  void LookAtMatches(Scan& scan) const;
  FoundDevice MakeDevice(FoundPath found) const;
  void LogSkipped(std::map<std::string, Skipped> skipped);

  const Surroundings surroundings_;
  const PathOptions options_;
  const PathTiming timing_;
  ReportFn report_;
  DirectoryWatches watches_;
  std::map<std::string, Skipped> logged_;
  std::optional<base::MonotonicTime> first_event_;  ///< Of those that no scan has seen.
  loop::TimerHandle settle_timer_;
  loop::TimerHandle poll_timer_;
};

}  // namespace tenon::discovery
