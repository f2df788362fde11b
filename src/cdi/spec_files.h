#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cdi/spec.h"

namespace tenon::cdi {

/// The specs that this program writes into one directory: "tenon-VENDOR_CLASS.json", one for each
/// kind. No other file is read, replaced or removed. They are written as a whole or not at all, and
/// outlive the process: see Kinds(). Thread: one; each call blocks on the file system, which is a
/// tmpfs as a rule.
class SpecFiles final {
 public:
  /// A directory of the real file system; it is made, if only it is missing, with the first spec.
  explicit SpecFiles(std::string directory) : directory_(std::move(directory)) {}
  SpecFiles(const SpecFiles&) = delete;
  SpecFiles& operator=(const SpecFiles&) = delete;

  /// The kinds that there is a file of ours for, whoever wrote it.
  std::vector<std::string> Kinds() const;
  /// Errors: kNotFound; or why there is no spec of this kind in its file.
  Result<Spec> Read(const std::string& kind) const;
  /// Has the file hold `spec`; writes only if it does not, or is not the file that was written
  /// last. One without devices, which CDI does not allow, is removed. Errors name the path.
  Result<void> Put(const Spec& spec);
  Result<void> Remove(const std::string& kind);

  std::string PathOf(const std::string& kind) const;

 private:
  /// Tells one file from its successor.
  struct Identity {
    uint64_t device = 0;
    uint64_t inode = 0;
    int64_t written_ns = 0;
    bool operator==(const Identity&) const = default;
  };
  struct Written {
    Spec spec;
    Identity identity;
  };

  static std::optional<Identity> Look(const std::string& path);
  /// What a writer that was killed left of this kind.
  void RemoveTemporary(const std::string& kind) const;

  const std::string directory_;
  std::map<std::string, Written> written_;  // By kind.
};

}  // namespace tenon::cdi
