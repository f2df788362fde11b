#pragma once

#include <algorithm>
#include <chrono>

#include "base/clock.h"

namespace tenon::kubelet {

/// How long a container that ended waits for its next start: not at all after its first end, then
/// 10 s, doubling to 5 min; a container that ran for 10 min is taken for mended.
/// Source: kubernetes pkg/kubelet/kuberuntime doBackOff, client-go util/flowcontrol Backoff.
class CrashBackoff final {
 public:
  static constexpr base::Duration kFirst = std::chrono::seconds(10);
  static constexpr base::Duration kMost = std::chrono::minutes(5);

  /// For a container that ended now and was last started at `started`.
  base::Duration Next(base::MonotonicTime started, base::MonotonicTime now) {
    if (now - started > 2 * kMost) next_ = base::Duration::zero();
    const base::Duration delay = next_;
    next_ = delay == base::Duration::zero() ? kFirst : std::min(2 * delay, kMost);
    return delay;
  }

 private:
  base::Duration next_ = base::Duration::zero();
};

}  // namespace tenon::kubelet
