#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tenon::config {

/// Whether this is a device node that gives whoever opens it the whole machine: its memory or its
/// I/O ports. Only a first sieve: a link can lead there too, which is seen when it is followed.
bool IsUnsafePath(std::string_view path);

/// What the command line lets rules reach: /dev, and what --allow-path adds.
///
/// A prefix covers itself and what is below it, by whole components: /dev/net covers
/// /dev/net/tun and not /dev/network.
class AllowedPaths final {
 public:
  /// Errors: kInvalidArgument for a prefix that is not absolute or contains "..".
  static Result<AllowedPaths> Parse(const std::vector<std::string>& prefixes);

  bool Covers(std::string_view path) const;
  /// Whether a prefix covers it that says more than "/" or "/dev": what an unsafe rule needs.
  bool CoversByName(std::string_view path) const;

 private:
  std::vector<std::string> prefixes_;  ///< Normalised; "/" is the empty text.
};

}  // namespace tenon::config
