#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/allowed_paths.h"
#include "config/config.h"
#include "config/offered.h"
#include "config/program_reader.h"
#include "config/strict_mapping.h"
#include "value/value.h"

namespace tenon::config {

/// Reads the items of "devices" one after the other.
class RuleReader final {
 public:
  /// All are borrowed.
  RuleReader(const AllowedPaths& allowed, ProgramReader& programs, Offered& offered, Faults& faults)
      : allowed_(allowed), programs_(programs), offered_(offered), faults_(faults) {}

  /// Returns nullopt, with at least one fault added, for what is no rule. A rule returned may
  /// have faults too: what counts is whether any were added at the end.
  std::optional<DeviceRule> Read(const Value& value);

 private:
  std::optional<DeviceRule> ReadGroup(const StrictMapping& rule);
  std::optional<Member> ReadMember(const StrictMapping& rule, bool in_group);
  bool ReadSource(const StrictMapping& rule, std::string_view selector, Member& member);
  void CheckKeys(const StrictMapping& rule, std::string_view selector);
  NodeRule ReadNodes(const StrictMapping& rule);
  std::vector<std::string> ReadSubsystems(const StrictMapping& rule);
  void ReadMountPaths(const StrictMapping& rule, NodeRule& nodes);
  void ReadPermissions(const StrictMapping& rule, NodeRule& nodes);
  void ReadType(const StrictMapping& rule, NodeRule& nodes);
  std::optional<PathRule> ReadPath(const StrictMapping& rule, const NodeRule& nodes);
  void CheckReach(Mark mark, const PathRule& path, bool unsafe);
  void CheckUnsafeSelector(const StrictMapping& rule, const Member& member);
  void CheckOnce(Mark mark, const PathRule& path, bool shared);

  const AllowedPaths& allowed_;
  ProgramReader& programs_;
  Offered& offered_;
  Faults& faults_;
};

}  // namespace tenon::config
