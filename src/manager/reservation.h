#pragma once

#include <string>
#include <utility>
#include <vector>

#include "manager/pod_devices.h"

namespace tenon::manager {

/// Devices that an admission has taken but not yet got: in use for everybody else, and invisible
/// to the checkpoint, to container start and to PodResources. Destroying it gives them back,
/// unless it was committed. Made by PodDevices::Reserve. Owner: must not outlive PodDevices.
class Reservation final {
 public:
  Reservation(PodDevices& owner, HoldKey key, std::vector<std::string> ids);
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;
  ~Reservation();

  const HoldKey& key() const { return key_; }
  const std::vector<std::string>& ids() const { return ids_; }

  /// Turns the reservation into committed devices, see PodDevices::Insert.
  /// Requires: not committed; `devices` are ids().
  void Commit(HeldDevices devices, std::string encoded);

 private:
  void End();

  PodDevices& owner_;
  const HoldKey key_;
  const std::vector<std::string> ids_;
  bool ended_ = false;
};

}  // namespace tenon::manager
