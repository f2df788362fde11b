#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "manager/device_table.h"

namespace tenon::manager {

/// Ids in use → how many containers hold them; several of one pod may, as an init container's
/// devices pass to those that follow it.
using IdsInUse = std::unordered_map<std::string, int>;

/// Which devices of one resource can be handed out: those that are healthy and not in use.
///
/// It is a cache: a new list makes it look at every device once, a device that is taken or given
/// back costs a search. So an admission costs what it takes, not what there is.
/// Thread: loop only.
class FreeDevices final {
 public:
  /// `id` is in use, or no longer.
  void OnChange(const std::string& id);

  /// Indices into row.devices, ascending. `in_use` may be null.
  /// Requires: OnChange was told of all changes of `in_use`.
  std::span<const uint32_t> Of(const DeviceRow& row, const IdsInUse* in_use);

 private:
  void Rebuild(const DeviceRow& row, const IdsInUse* in_use);
  void Update(const DeviceRow& row, const IdsInUse* in_use, const std::string& id);

  uint64_t revision_ = 0;  ///< Of the row that free_ was made from; 0: make it anew.
  std::vector<uint32_t> free_;
  std::vector<std::string> changed_;
};

}  // namespace tenon::manager
