#include "plugin/plugin_core.h"

#include <utility>

#include "base/check.h"
#include "policy/preferred.h"

namespace tenon::plugin {
PluginCore::PluginCore(ResourceName resource, PluginHooks hooks, EncodeFn encode)
    : resource_(std::move(resource)),
      hooks_(std::move(hooks)),
      encode_(std::move(encode)),
      devices_(std::make_shared<const DeviceSet>()),
      list_(std::make_shared<const std::string>(encode_({}))) {
  TENON_CHECK(hooks_.resolve);
}

PluginCore::~PluginCore() {
  TENON_CHECK(subscriptions_.empty());
}

Result<void> PluginCore::Publish(DeviceSetPtr devices) {
  TENON_CHECK(devices);
  auto list = std::make_shared<const std::string>(encode_(devices->devices));
  if (list->size() > kMaxListBytes)
    return Error(Code::kResourceExhausted,
                 "the list of " + std::to_string(devices->devices.size()) + " devices takes " +
                     std::to_string(list->size()) + " bytes and a kubelet accepts " +
                     std::to_string(kMaxListBytes) + ": offer fewer devices or shorter ids");
  devices_ = std::move(devices);
  list_ = std::move(list);
  for (Subscription* subscription : subscriptions_)
    subscription->session_.Offer(list_);
  return {};
}

std::unique_ptr<PluginCore::Subscription> PluginCore::Watch(WatchSession::WriteFn write) {
  return std::make_unique<Subscription>(*this, std::move(write));
}

PluginCore::Subscription::Subscription(PluginCore& core, WatchSession::WriteFn write)
    : core_(core), session_(std::move(write)) {
  core_.subscriptions_.push_back(this);
  session_.Offer(core_.list_);
}

PluginCore::Subscription::~Subscription() {
  std::erase(core_.subscriptions_, this);
}

Result<std::vector<ContainerAllocation>> PluginCore::Allocate(
    const std::vector<api::AllocateRequest>& requests) const {
  return PlanAllocation(resource_, *devices_, requests, hooks_.resolve);
}

Result<std::vector<std::vector<std::string>>> PluginCore::Prefer(
    const std::vector<api::PreferredRequest>& requests) const {
  std::vector<std::vector<std::string>> answers;
  answers.reserve(requests.size());
  for (const api::PreferredRequest& request : requests) {
    TENON_TRY(answers.emplace_back(), hooks_.preferred ? hooks_.preferred(*devices_, request)
                                                       : policy::PreferInOrder(request));
  }
  return answers;
}

Result<void> PluginCore::CheckIds(const std::vector<std::string>& ids) const {
  TENON_TRY([[maybe_unused]] auto plan,
            PlanAllocation(resource_, *devices_, {api::AllocateRequest{ids}},
                           [](const Device&) { return DeviceParts{}; }));
  return {};
}

api::PluginOptions PluginCore::options() const {
  return {.pre_start_required = static_cast<bool>(hooks_.pre_start),
          .preferred_allocation_available = static_cast<bool>(hooks_.preferred)};
}

}  // namespace tenon::plugin
