#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "checkpoint/checkpoint.h"
#include "device/allocation.h"
#include "manager/device_table.h"

namespace tenon::manager {

class Reservation;

/// Whose devices of which resource.
struct HoldKey {
  std::string pod_uid;
  std::string container;
  std::string resource;
  auto operator<=>(const HoldKey&) const = default;
};

/// NUMA node → ids; a device with several NUMA nodes stands under each of them, one without any
/// under kNoNuma.
using IdsByNuma = std::map<int64_t, std::vector<std::string>>;
inline constexpr int64_t kNoNuma = -1;

/// What one container holds of one resource.
struct HeldDevices {
  IdsByNuma ids;
  std::string encoded;  ///< The plugin's answer, as it came.
  /// The same decoded; nullopt when the checkpoint had bytes that cannot be.
  std::optional<ContainerAllocation> allocation;

  /// The ids, in natural order, each once.
  std::vector<std::string> AllIds() const;
};

/// `ids` under their NUMA nodes as `row` has them; `row` may be null.
IdsByNuma GroupByNuma(const std::vector<std::string>& ids, const DeviceRow* row);

/// Turns the bytes of a plugin's answer that the checkpoint kept into what they say.
using AllocationDecoder = std::function<Result<ContainerAllocation>(std::string_view)>;

/// Who holds which devices: what is committed, and so goes into the checkpoint, and what is
/// reserved for an admission that is under way. A device in use is one that is in either.
/// Thread: loop only.
class PodDevices final {
 public:
  /// Ids in use → how many containers hold them; several of one pod may, as an init container's
  /// devices pass to those that follow it.
  using IdsInUse = std::unordered_map<std::string, int>;
  using Resources = std::map<std::string, HeldDevices>;

  PodDevices() = default;
  PodDevices(const PodDevices&) = delete;
  PodDevices& operator=(const PodDevices&) = delete;

  /// Takes the ids out of what can be handed out, until the reservation is committed or
  /// destroyed. Errors: kFailedPrecondition, there is a reservation for this key already.
  Result<std::unique_ptr<Reservation>> Reserve(HoldKey key, std::vector<std::string> ids);

  void Insert(const HoldKey& key, HeldDevices devices);
  void Remove(const HoldKey& key);
  /// Returns whether the pod held anything. Its reservations stay.
  bool RemovePod(const std::string& pod_uid);

  /// Committed devices only; null when there are none.
  const HeldDevices* Find(const HoldKey& key) const;
  /// By resource; null when the container holds nothing.
  const Resources* Find(const std::string& pod_uid, const std::string& container) const;
  /// Pods with committed devices, in the order in which they came.
  std::vector<std::string> Pods() const;

  /// Null when nothing of the resource is committed or reserved.
  const IdsInUse* InUse(const std::string& resource) const;

  /// The checkpoint's entries, in the order in which the pods came.
  std::vector<checkpoint::Entry> ToEntries() const;
  /// Adds what a checkpoint has. Returns the entries whose answer `decode` refuses; their devices
  /// are held all the same, since a container may be using them.
  std::vector<HoldKey> Restore(const std::vector<checkpoint::Entry>& entries,
                               const AllocationDecoder& decode);

 private:
  friend class Reservation;
  struct Pod {
    std::string uid;
    std::map<std::string, Resources> containers;
  };

  void Hold(const std::string& resource, const std::vector<std::string>& ids);
  void Release(const std::string& resource, const std::vector<std::string>& ids);
  Pod* FindPod(const std::string& pod_uid);

  std::list<Pod> pods_;
  std::unordered_map<std::string, std::list<Pod>::iterator> by_uid_;
  std::unordered_map<std::string, IdsInUse> in_use_;
  std::map<HoldKey, const Reservation*> reservations_;
};

}  // namespace tenon::manager
