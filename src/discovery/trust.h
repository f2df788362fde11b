#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/host.h"

namespace tenon::discovery {

/// What a rule may hand out, whatever its path says: judged by where the path leads and by what is
/// there, since a name or a symlink can be anything. docs/security.md has the reasons.
struct Trust {
  /// What rules may reach beside /dev: each covers itself and what is below it.
  std::vector<std::string> allowed_prefixes;
  /// The rule may hand out memory, I/O ports and block devices: all of the machine, that is.
  bool unsafe = false;

  bool Covers(std::string_view real_path) const;
  /// Errors: kPermissionDenied, saying what it is and what would allow it.
  Result<void> Check(std::string_view real_path, const host::FileStat& file) const;
};

}  // namespace tenon::discovery
