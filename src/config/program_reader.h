#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "config/strict_mapping.h"

namespace tenon::config {

/// Reads what stands behind keys that name a program: its argv, or a mapping with that as "run".
/// A program in a directory that the command line does not allow is a fault.
class ProgramReader final {
 public:
  /// `allowed` are the values of --allow-exec. All are borrowed.
  ProgramReader(const std::vector<std::string>& allowed, Faults& faults)
      : allowed_(allowed), faults_(faults) {}

  /// The program behind `key`; nullopt without it, or with at least one fault. `most_timeout` is
  /// in seconds.
  std::optional<ProgramRule> Read(const StrictMapping& parent, std::string_view key,
                                  int64_t most_timeout);
  /// A program that is started every so many seconds, if it is not said otherwise.
  std::optional<PeriodicProgramRule> ReadPeriodic(const StrictMapping& parent, std::string_view key,
                                                  int64_t every);

 private:
  std::optional<ProgramRule> ReadArguments(const Value& value, std::string_view key);
  std::optional<ProgramRule> ReadMapping(const StrictMapping& mapping, std::string_view key,
                                         int64_t most_timeout);
  void CheckPath(Mark mark, const std::string& path);

  const std::vector<std::string>& allowed_;
  Faults& faults_;
};

}  // namespace tenon::config
