#pragma once

#include <deque>
#include <string>

#include "base/clock.h"

namespace tenon {

/// One thing that happened, for whoever asks later.
struct DeviceEvent {
  base::WallTime time{};
  std::string resource;
  std::string device;  ///< Empty when it concerns the whole resource.
  std::string text;    ///< "healthy", "unhealthy: no such file", "registered with the kubelet".
};

/// Keeps the last events, oldest first; what is older is forgotten. Thread: loop only.
class EventRing final {
 public:
  explicit EventRing(size_t capacity) : capacity_(capacity) {}

  void Add(DeviceEvent event) {
    if (events_.size() == capacity_) events_.pop_front();
    events_.push_back(std::move(event));
  }
  const std::deque<DeviceEvent>& events() const { return events_; }

 private:
  const size_t capacity_;
  std::deque<DeviceEvent> events_;
};

}  // namespace tenon
