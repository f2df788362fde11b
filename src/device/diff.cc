#include "device/diff.h"

namespace tenon {

DeviceSetDiff Diff(const std::vector<Device>& before, const std::vector<Device>& after) {
  DeviceSetDiff diff;
  auto was = before.begin();
  auto is = after.begin();
  while (was != before.end() || is != after.end()) {
    if (is == after.end() || (was != before.end() && was->id < is->id)) {
      diff.removed.push_back((was++)->id);
    } else if (was == before.end() || is->id < was->id) {
      diff.added.push_back((is++)->id);
    } else {
      if (was->health != is->health || was->reason != is->reason)
        diff.health_changed.push_back(*is);
      ++was;
      ++is;
    }
  }
  return diff;
}

}  // namespace tenon
