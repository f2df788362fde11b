#pragma once

#include <algorithm>
#include <chrono>

#include "base/clock.h"

namespace tenon::kubelet_service {

/// A rate limit that lets a burst pass: a token comes with each `interval`, up to `burst` of them
/// are kept. It starts full. Thread: one.
class TokenBucket final {
 public:
  TokenBucket(base::Duration interval, int burst) : interval_(interval), burst_(burst) {}

  /// Takes a token if there is one. Requires: `now` never goes back.
  bool Take(base::MonotonicTime now) {
    // The time up to which tokens have been used: never further back than a full bucket.
    used_until_ = std::max(used_until_, now - interval_ * burst_);
    if (used_until_ + interval_ > now) return false;
    used_until_ += interval_;
    return true;
  }

 private:
  const base::Duration interval_;
  const int burst_;
  base::MonotonicTime used_until_ = base::MonotonicTime::min();
};

}  // namespace tenon::kubelet_service
