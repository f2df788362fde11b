#pragma once

#include <string>
#include <utility>
#include <vector>

#include "discovery/node_options.h"
#include "discovery/scanner.h"

namespace tenon::discovery {

/// Which devices of a subsystem; what is empty does not matter.
struct SysfsSelector {
  std::string subsystem;  ///< "drm"
  std::string name;       ///< "renderD*", may contain "*".
  /// Files below the device's directory, "device/name", and what stands in them; "*" as above.
  std::vector<std::pair<std::string, std::string>> attributes;
  bool operator==(const SysfsSelector&) const = default;
};

struct SysfsOptions {
  SysfsSelector selector;
  /// All that belong to one piece of hardware are one device: a camera with its device nodes.
  bool together = false;
  NodeOptions nodes;
};

/// Finds whatever has a place in /sys by its subsystem, name and attributes. The id is the
/// subsystem and the address on the nearest bus above, "drm-0000:01:00.0"; ".1" and so on for
/// further ones at one address; the path of the device node for what is on no bus.
class SysfsScanner final : public Scanner {
 public:
  explicit SysfsScanner(SysfsOptions options) : options_(std::move(options)) {}

  Scan Look(host::Host& host) override;
  bool needs_uevents() const override { return true; }
  bool Concerns(const host::Uevent& event) const override {
    return event.subsystem == options_.selector.subsystem;
  }

 private:
  struct Entry {
    std::string name;
    std::string directory;  ///< Real path.
    std::string path;       ///< Of the device node.
    std::string address;    ///< On its bus, or empty.
  };

  std::vector<Entry> FindEntries(host::Host& host, Scan& scan) const;
  bool Fits(host::Host& host, const std::string& directory) const;

  const SysfsOptions options_;
};

}  // namespace tenon::discovery
