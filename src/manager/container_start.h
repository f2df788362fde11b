#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "device/allocation.h"
#include "loop/timer_queue.h"
#include "manager/admission.h"
#include "manager/endpoint.h"
#include "manager/options.h"
#include "manager/pod_devices.h"
#include "manager/pod_request.h"

namespace tenon::manager {

/// One start of one container of an admitted pod: PreStartContainer to each plugin that asks for
/// it, resources by name, and then the options of all of them merged. Thread: loop only.
/// Source: kubernetes pkg/kubelet/cm/devicemanager/manager.go, GetDeviceRunContainerOptions.
class ContainerStart final {
 public:
  /// Runs once, from a turn of its own, so that it may destroy the start.
  using Done = std::function<void(Result<ContainerAllocation>)>;

  /// Owner: `options` outlive the start.
  ContainerStart(DeviceState state, base::Log& log, std::string pod_uid, ContainerRequest container,
                 const ManagerOptions& options, Done done);
  ContainerStart(const ContainerStart&) = delete;
  ContainerStart& operator=(const ContainerStart&) = delete;

  /// Begins, and may already end (`done` then runs in the next turn). Requires: called once.
  void Start() { Advance(); }
  const std::string& pod_uid() const { return pod_uid_; }

 private:
  void Advance();
  /// Returns whether a plugin was asked.
  Result<bool> PreStart(const std::string& resource);
  Result<ContainerAllocation> Options() const;
  void End(Result<ContainerAllocation> result);

  const DeviceState state_;
  base::Log& log_;
  const std::string pod_uid_;
  const ContainerRequest container_;
  const ManagerOptions& options_;
  const Done done_;

  std::vector<std::string> resources_;  ///< Of the container's limits, those with devices.
  size_t next_ = 0;
  PluginClient::Call call_;
  loop::TimerHandle ending_;
};

}  // namespace tenon::manager
