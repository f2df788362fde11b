#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/glob.h"
#include "base/strings.h"
#include "discovery/node_options.h"
#include "discovery/scanner.h"

namespace tenon::discovery {

struct PathOptions {
  base::Glob path;
  NodeOptions nodes;
};

/// "serial/by-id/usb-X" for /dev/serial/by-id/usb-X, in the letters of an id; the whole path where
/// it is not below /dev. Part of the contract of docs/ids.md.
DeviceId PathDeviceId(const std::string& path);

/// Finds each device node that a path or a pattern leads to, by the path as it was written: links
/// in by-id keep their name while the numbers of the device nodes behind them change.
///
/// A literal path that leads to a directory is one device of all device nodes below it. One that
/// is there but is nothing usable gives an unhealthy device that says why; for a pattern such a
/// match is skipped. Of several matches that lead to one device node the first in natural order is
/// offered.
class PathScanner final : public Scanner {
 public:
  explicit PathScanner(PathOptions options) : options_(std::move(options)) {}

  Scan Look(host::Host& host) override;
  /// Looks only at what has changed where all matches are in one directory.
  Scan LookAgain(host::Host& host, const ChangedNames& changed) override;

 private:
  /// What a path turned out to be that the pattern matches.
  struct Match {
    FoundDevicePtr device;           ///< Null if it is not offered.
    std::optional<Skipped> skipped;  ///< Why not.
    bool is_link = true;             ///< Changes elsewhere may concern it.
  };
  struct NaturalOrder {
    bool operator()(const std::string& a, const std::string& b) const {
      return base::NaturalLess(a, b);
    }
  };

  Scan LookAtLiteral(host::Host& host) const;
  Scan LookAtMatches(host::Host& host);
  void LookAtMatch(host::Host& host, const std::string& path);
  Scan Offer() const;
  FoundDevice LookAtDirectory(host::Host& host, const std::string& path, Scan& scan) const;
  void AddNodesBelow(host::Host& host, const std::string& path, int depth, FoundDevice& device,
                     Scan& scan) const;

  const PathOptions options_;
  // Of a pattern, as they were at the last look.
  std::map<std::string, Match, NaturalOrder> matches_;
  std::set<std::string> directories_;
  std::map<std::string, std::string> unreadable_;
  std::string listed_;  // The real path of the directory that all matches are in; or empty.
};

}  // namespace tenon::discovery
