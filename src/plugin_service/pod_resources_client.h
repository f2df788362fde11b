#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/pod_resources.h"
#include "loop/event_loop.h"

namespace tenon::plugin_service {

/// Owns one List call; destroying it gives the call up, and then nothing is reported.
class PodResourcesCall {
 public:
  PodResourcesCall() = default;
  PodResourcesCall(const PodResourcesCall&) = delete;
  PodResourcesCall& operator=(const PodResourcesCall&) = delete;
  virtual ~PodResourcesCall() = default;
};

/// Asks the kubelet which pod holds which devices. `done` runs exactly once, in a later turn; the
/// call may be destroyed in it. Errors: kUnavailable, kDeadlineExceeded, what the kubelet says.
[[nodiscard]] std::unique_ptr<PodResourcesCall> ListPodResources(
    loop::EventLoop& loop, const std::string& socket, base::Duration deadline,
    std::function<void(Result<std::vector<PodResources>>)> done);

}  // namespace tenon::plugin_service
