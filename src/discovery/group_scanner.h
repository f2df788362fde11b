#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "discovery/scanner.h"

namespace tenon::discovery {

/// One part of each device of a group.
struct GroupMember {
  std::unique_ptr<Scanner> scanner;
  bool optional = false;
  /// Of how many devices each match may be part, one after the other.
  size_t limit = 1;
};

/// Makes one device of several: the n-th of each member, in their order, are the n-th device. There
/// are as many as the shortest of the mandatory members has; an optional one is added while it
/// lasts. The id is that of the mandatory ones, so it does not depend on the others.
class GroupScanner final : public Scanner {
 public:
  explicit GroupScanner(std::vector<GroupMember> members) : members_(std::move(members)) {}

  Scan Look(host::Host& host) override;
  bool needs_uevents() const override;
  bool Concerns(const host::Uevent& event) const override;

 private:
  /// The n-th device. `parts` are what the members found.
  FoundDevice Assemble(const std::vector<Snapshot>& parts, size_t n) const;

  const std::vector<GroupMember> members_;
};

}  // namespace tenon::discovery
