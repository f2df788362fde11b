#include "manager/container_start.h"

#include <fmt/format.h>

#include <utility>

#include "device/resource_name.h"

namespace tenon::manager {

ContainerStart::ContainerStart(DeviceState state, base::Log& log, std::string pod_uid,
                               ContainerRequest container, const ManagerOptions& options, Done done)
    : state_(state),
      log_(log),
      pod_uid_(std::move(pod_uid)),
      container_(std::move(container)),
      options_(options),
      done_(std::move(done)) {
  for (const auto& [resource, quantity] : container_.limits) {
    // Nothing starts without its devices; the kubelet starts what asks for resources unknown to it.
    const bool needed =
        state_.Knows(resource) || (!options_.compat && ResourceName::Parse(resource));
    if (quantity != 0 && needed) resources_.push_back(resource);
  }
}

void ContainerStart::Advance() {
  while (next_ < resources_.size()) {
    Result<bool> asked = PreStart(resources_[next_]);
    if (!asked) return End(std::move(asked).error());
    ++next_;
    if (*asked) return;
  }
  End(Options());
}

Result<bool> ContainerStart::PreStart(const std::string& resource) {
  const HeldDevices* held = state_.pods.Find({pod_uid_, container_.name, resource});
  if (held == nullptr)
    return Error(
        Code::kFailedPrecondition,
        fmt::format(
            "no devices found allocated in local cache for pod {}, container {}, resource {}",
            pod_uid_, container_.name, resource));
  Endpoint* endpoint = state_.endpoints.Find(resource);
  if (endpoint == nullptr)
    return Error(Code::kFailedPrecondition,
                 "endpoint not found in cache for a registered resource: " + resource);
  if (!endpoint->options().pre_start_required) return false;
  const std::string_view context = "device plugin PreStartContainer rpc failed with err";
  auto call = endpoint->PreStartContainer(held->AllIds(), options_.pre_start_deadline,
                                          [this, context](Result<void> result) {
                                            if (!result)
                                              return End(std::move(result).error().Wrap(context));
                                            Advance();
                                          });
  if (!call) return std::move(call).error().Wrap(context);
  call_ = *std::move(call);
  return true;
}

Result<ContainerAllocation> ContainerStart::Options() const {
  ContainerAllocation merged;
  const PodDevices::Resources* resources = state_.pods.Find(pod_uid_, container_.name);
  if (resources == nullptr) return merged;
  for (const auto& [resource, held] : *resources) {
    if (!held.allocation)
      return Error(Code::kDataLoss,
                   fmt::format("the recorded allocation of {} for pod {}, container {} cannot be "
                               "decoded: delete the pod and submit it again",
                               resource, pod_uid_, container_.name));
    for (const std::string& conflict : MergeAllocation(merged, *held.allocation))
      log_.Warning(conflict,
                   {{"pod", pod_uid_}, {"container", container_.name}, {"resource", resource}});
  }
  return merged;
}

void ContainerStart::End(Result<ContainerAllocation> result) {
  ending_ = state_.timers.After(base::Duration::zero(),
                                [done = done_, result = std::move(result)] { done(result); });
}

}  // namespace tenon::manager
