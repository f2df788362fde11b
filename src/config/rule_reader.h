#pragma once

#include <map>
#include <optional>
#include <string>

#include "config/allowed_paths.h"
#include "config/config.h"
#include "config/strict_mapping.h"
#include "value/value.h"

namespace tenon::config {

/// Reads the items of "devices" one after the other; it remembers the literal paths of all of
/// them, because each device node belongs to one rule only.
class RuleReader final {
 public:
  /// Both are borrowed.
  RuleReader(const AllowedPaths& allowed, Faults& faults) : allowed_(allowed), faults_(faults) {}

  /// Returns nullopt, with at least one fault added, for what is no rule. A rule returned may
  /// have faults too: what counts is whether any were added at the end.
  std::optional<DeviceRule> Read(const Value& value);

 private:
  std::optional<PathRule> ReadPath(const StrictMapping& rule);
  void ReadMountPath(const StrictMapping& rule, PathRule& path);
  void ReadPermissions(const StrictMapping& rule, PathRule& path);
  void ReadUnsafe(const StrictMapping& rule, PathRule& path);
  void CheckReach(Mark mark, const PathRule& path);
  void CheckOnce(Mark mark, const PathRule& path);
  std::optional<VirtualRule> ReadVirtual(const StrictMapping& rule);

  const AllowedPaths& allowed_;
  Faults& faults_;
  std::map<std::string, Mark> literal_paths_;
};

}  // namespace tenon::config
