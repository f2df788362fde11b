#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/device.h"
#include "device/plugin_api.h"
#include "device/resource_name.h"
#include "plugin/allocate_plan.h"
#include "plugin/watch_session.h"

namespace tenon::plugin {

/// Work that has to be done before an answer. `done` runs once, in this call or later, with the
/// error that the caller is given instead; never if the resource ends first.
using PrepareFn = std::function<void(const std::vector<std::string>& ids,
                                     std::function<void(Result<void>)> done)>;

/// What a plugin does for its resource. Capabilities are derived from which hooks are there, so
/// that they cannot drift from them.
struct PluginHooks {
  ResolveFn resolve;  ///< Required.
  /// Picks `size` of the available ids, the must-include ones among them. Empty: the kubelet is
  /// told not to ask.
  std::function<Result<std::vector<std::string>>(const DeviceSet&, const api::PreferredRequest&)>
      preferred;
  /// Before the ids of an Allocate are looked at. Optional.
  PrepareFn before_allocate;
  /// Once they were found to be offered and healthy, and before they are resolved. Optional.
  PrepareFn on_allocate;
  /// Before PreStartContainer is answered. Empty: the kubelet is told not to call it.
  PrepareFn pre_start;
};

/// Larger lists are refused: a kubelet drops the stream and the resource stays at 0.
/// Source: grpc-go defaultServerMaxReceiveMessageSize, which the kubelet's client keeps.
inline constexpr size_t kMaxListBytes = size_t{4} << 20;

/// One resource as a plugin offers it: one immutable device list, encoded once per change and
/// shared by all streams, and the answers to the kubelet's questions about it. Knows no transport.
/// Thread: loop only.
class PluginCore final {
 public:
  using EncodeFn = std::function<std::string(const std::vector<Device>&)>;

  /// Starts with an empty list. `encode` makes the ListAndWatch message.
  PluginCore(ResourceName resource, PluginHooks hooks, EncodeFn encode);
  PluginCore(const PluginCore&) = delete;
  PluginCore& operator=(const PluginCore&) = delete;
  ~PluginCore();

  /// Replaces the devices and offers the list to all open streams. Errors: kResourceExhausted
  /// when the list is larger than a kubelet accepts; the former one then stays.
  Result<void> Publish(DeviceSetPtr devices);

  /// One open ListAndWatch stream; it starts with the present list. Owner: must not outlive the
  /// core; destroying it ends the supply.
  class Subscription;
  std::unique_ptr<Subscription> Watch(WatchSession::WriteFn write);

  /// See PlanAllocation().
  Result<std::vector<ContainerAllocation>> Allocate(
      const std::vector<api::AllocateRequest>& requests) const;
  /// Works without the hook, too, see policy::PreferInOrder(). Errors: kInvalidArgument for a
  /// request that cannot be met.
  Result<std::vector<std::vector<std::string>>> Prefer(
      const std::vector<api::PreferredRequest>& requests) const;
  /// Whether these ids could be allocated. Errors: kNotFound, kFailedPrecondition.
  Result<void> CheckIds(const std::vector<std::string>& ids) const;

  api::PluginOptions options() const;
  const PluginHooks& hooks() const { return hooks_; }
  const ResourceName& resource() const { return resource_; }
  const DeviceSetPtr& devices() const { return devices_; }
  size_t list_bytes() const { return list_->size(); }

 private:
  const ResourceName resource_;
  const PluginHooks hooks_;
  const EncodeFn encode_;
  DeviceSetPtr devices_;
  ListBytes list_;
  std::vector<Subscription*> subscriptions_;
};

class PluginCore::Subscription final {
 public:
  Subscription(PluginCore& core, WatchSession::WriteFn write);
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;
  ~Subscription();

  /// See WatchSession.
  void OnWritten() { session_.OnWritten(); }
  bool idle() const { return session_.idle(); }

 private:
  friend class PluginCore;

  PluginCore& core_;
  WatchSession session_;
};

}  // namespace tenon::plugin
