#include "manager/reservation.h"

#include "base/check.h"

namespace tenon::manager {

Reservation::Reservation(PodDevices& owner, HoldKey key, std::vector<std::string> ids)
    : owner_(owner), key_(std::move(key)), ids_(std::move(ids)) {
  TENON_CHECK(owner_.reservations_.emplace(key_, this).second);
  owner_.Hold(key_.resource, ids_);
}

Reservation::~Reservation() {
  if (!ended_) End();
}

void Reservation::Commit(HeldDevices devices, std::string encoded) {
  TENON_CHECK(!ended_);
  owner_.Insert(key_, std::move(devices), std::move(encoded));
  End();
}

void Reservation::End() {
  ended_ = true;
  owner_.reservations_.erase(key_);
  owner_.Release(key_.resource, ids_);
}

}  // namespace tenon::manager
