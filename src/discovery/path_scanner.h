#pragma once

#include <string>

#include "base/glob.h"
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

 private:
  void LookAtLiteral(host::Host& host, Scan& scan) const;
  void LookAtMatches(host::Host& host, Scan& scan) const;
  FoundDevice LookAtDirectory(host::Host& host, const std::string& path, Scan& scan) const;
  void AddNodesBelow(host::Host& host, const std::string& path, int depth, FoundDevice& device,
                     Scan& scan) const;

  const PathOptions options_;
};

}  // namespace tenon::discovery
