#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/kept_text.h"
#include "device/allocation.h"
#include "manager/device_table.h"
#include "manager/free_devices.h"

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
  /// The plugin's answer; nullopt when the checkpoint had bytes that cannot be decoded.
  std::optional<ContainerAllocation> allocation;
  /// Its entry in the checkpoint; PodDevices sets it.
  checkpoint::KeptText::Number entry = 0;

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
  using Resources = std::map<std::string, HeldDevices>;

  PodDevices() = default;
  PodDevices(const PodDevices&) = delete;
  PodDevices& operator=(const PodDevices&) = delete;

  /// Takes the ids out of what can be handed out, until the reservation is committed or
  /// destroyed. Errors: kFailedPrecondition, there is a reservation for this key already.
  Result<std::unique_ptr<Reservation>> Reserve(HoldKey key, std::vector<std::string> ids);

  /// `encoded`: the plugin's answer as it came, for the checkpoint.
  void Insert(const HoldKey& key, HeldDevices devices, std::string encoded);
  void Remove(const HoldKey& key);
  /// Returns whether the pod held anything. Its reservations stay.
  bool RemovePod(const std::string& pod_uid);

  /// Committed devices only; null when there are none.
  const HeldDevices* Find(const HoldKey& key) const;
  /// By resource; null when the container holds nothing.
  const Resources* Find(const std::string& pod_uid, const std::string& container) const;
  /// Pods with committed devices, in the order in which they came.
  std::vector<std::string> Pods() const;

  /// The pod that the device is committed to; null when there is none.
  const std::string* FindOwner(const std::string& resource, const std::string& id) const;

  /// Null when nothing of the resource is committed or reserved.
  const IdsInUse* InUse(const std::string& resource) const;

  /// The devices of `row`, the resource's, that can be handed out, as indices; the answer is good
  /// until something changes. `row` may be null.
  std::span<const uint32_t> Free(const std::string& resource, const DeviceRow* row);

  /// What is committed, as the checkpoint has it; the resources in it are the caller's.
  checkpoint::KeptText& text() { return text_; }
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

  void Insert(const HoldKey& key, HeldDevices devices, checkpoint::Entry entry);
  void Erase(const std::string& resource, const HeldDevices& held);
  void Hold(const std::string& resource, const std::vector<std::string>& ids);
  void Release(const std::string& resource, const std::vector<std::string>& ids);
  Pod* FindPod(const std::string& pod_uid);

  std::list<Pod> pods_;
  std::unordered_map<std::string, std::list<Pod>::iterator> by_uid_;
  std::unordered_map<std::string, IdsInUse> in_use_;
  std::unordered_map<std::string, FreeDevices> free_;
  /// Resource → id → uid of the pod that the device is committed to.
  std::unordered_map<std::string, std::unordered_map<std::string, std::string>> owners_;
  checkpoint::KeptText text_;
  std::map<HoldKey, const Reservation*> reservations_;
};

}  // namespace tenon::manager
