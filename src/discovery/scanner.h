#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/log.h"
#include "discovery/source.h"
#include "host/host.h"
#include "host/uevent.h"

namespace tenon::discovery {

/// Why something that matched is not offered, and how loud to say so.
struct Skipped {
  base::LogLevel level;
  std::string why;
  bool operator==(const Skipped&) const = default;
};

/// Names that came, went or changed, each with the real path of its directory.
using ChangedNames = std::set<std::pair<std::string, std::string>>;

/// What one look at the machine gives.
struct Scan {
  void Add(FoundDevice device) {
    devices.push_back(std::make_shared<const FoundDevice>(std::move(device)));
  }

  Snapshot devices;
  std::map<std::string, Skipped> skipped;  ///< By the path or name of what matched.
  /// Real paths of those that a change of any of this would show in.
  std::set<std::string> directories;
};

/// Looks for the devices of one rule. Knows nothing of time and events, see ScanningSource.
class Scanner {
 public:
  Scanner() = default;
  Scanner(const Scanner&) = delete;
  Scanner& operator=(const Scanner&) = delete;
  virtual ~Scanner() = default;

  virtual Scan Look(host::Host& host) = 0;
  /// Look(), for which the scanner may rely on nothing but `changed` having happened in the
  /// directories of its last scan since then. Requires: it looked before.
  virtual Scan LookAgain(host::Host& host, const ChangedNames& /*changed*/) { return Look(host); }
  /// Whether directories alone do not tell of all changes: /sys sends no inotify events.
  virtual bool needs_uevents() const { return false; }
  /// Whether after this event it has to look again.
  virtual bool Concerns(const host::Uevent& /*event*/) const { return false; }
};

}  // namespace tenon::discovery
