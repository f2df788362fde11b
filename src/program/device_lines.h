#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tenon::program {

/// The version of the protocol that is spoken here.
inline constexpr int kDeviceLinesVersion = 1;

struct ToldPath {
  std::string path;         ///< On the host; absolute and plain.
  std::string mount_path;   ///< In the container; empty: as the rule says.
  std::string permissions;  ///< Empty: as the rule says.
  bool operator==(const ToldPath&) const = default;
};

/// One device as a helper program tells of it.
struct ToldDevice {
  std::string id;  ///< Not empty; else any text.
  bool healthy = true;
  std::string reason;
  std::vector<ToldPath> paths;
  std::vector<int> numa_nodes;  ///< Sorted.
  std::map<std::string, std::string> env;
  std::map<std::string, std::string> annotations;
  bool operator==(const ToldDevice&) const = default;
};

struct ToldDevices {
  std::vector<ToldDevice> devices;  ///< In the order of the lines; no id twice.
  /// "line 3: …" for each line that is left out: one bad device removes no other.
  std::vector<std::string> faults;
};

/// Reads what a helper program prints: one JSON object a line, the first of which is {"tenon": 1},
/// each other one a device. docs/programs.md is the page for who writes one. Errors:
/// kInvalidArgument where the first line is not that: then nothing after it can be relied upon.
Result<ToldDevices> ReadDeviceLines(std::string_view text);

}  // namespace tenon::program
