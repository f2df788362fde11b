#pragma once

#include "base/clock.h"

namespace tenon::base {

/// The real time, from which a test skips what it does not want to wait for.
class SkippingClock final : public Clock {
 public:
  MonotonicTime Now() const override { return system_.Now() + skipped_; }
  WallTime WallNow() const override { return system_.WallNow() + skipped_; }
  void Skip(Duration duration) { skipped_ += duration; }

 private:
  SystemClock system_;
  Duration skipped_{};
};

}  // namespace tenon::base
