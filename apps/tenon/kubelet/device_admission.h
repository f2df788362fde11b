#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/allocation.h"
#include "device/pod_resources.h"
#include "manager/manager.h"
#include "pod/pod.h"

namespace tenon::kubelet {

/// What pods need of the device manager. Callbacks run once and in later turns, and may come after
/// whoever asked is gone: they must be made to bear that. Thread: loop only.
class DeviceAdmission {
 public:
  using AdmitDone = std::function<void(manager::AdmitResult)>;
  using StartDone = std::function<void(Result<ContainerAllocation>)>;

  DeviceAdmission() = default;
  DeviceAdmission(const DeviceAdmission&) = delete;
  DeviceAdmission& operator=(const DeviceAdmission&) = delete;
  virtual ~DeviceAdmission() = default;

  /// `running`: names of the containers that already run, as after a restart.
  virtual void Admit(const pod::Pod& pod, const std::vector<std::string>& running,
                     AdmitDone done) = 0;
  /// Frees the pod's devices.
  virtual void Remove(const std::string& uid) = 0;
  /// Frees the devices of all pods but these.
  virtual void Retain(const std::set<std::string>& uids) = 0;
  virtual void PrepareStart(const std::string& uid, const std::string& container,
                            StartDone done) = 0;
  /// What the pod's containers hold; init containers left out, but for sidecars.
  virtual std::vector<ContainerResources> Held(const pod::Pod& pod) const = 0;
  /// What the container holds: by resource, id → whether its plugin calls it healthy.
  virtual std::map<std::string, std::map<std::string, bool>> Health(
      const std::string& uid, const std::string& container) const = 0;
  virtual std::vector<manager::ResourceCapacity> Capacity() const = 0;
  /// Whether the resource's plugin is there.
  virtual bool IsConnected(const std::string& resource) const = 0;
};

/// The real one.
class ManagerAdmission final : public DeviceAdmission {
 public:
  explicit ManagerAdmission(manager::Manager& manager) : manager_(manager) {}

  void Admit(const pod::Pod& pod, const std::vector<std::string>& running, AdmitDone done) override;
  void Remove(const std::string& uid) override { manager_.RemovePod(uid); }
  void Retain(const std::set<std::string>& uids) override { manager_.RetainPods(uids); }
  void PrepareStart(const std::string& uid, const std::string& container, StartDone done) override {
    manager_.PrepareStart(uid, container, std::move(done));
  }
  std::vector<ContainerResources> Held(const pod::Pod& pod) const override;
  std::map<std::string, std::map<std::string, bool>> Health(
      const std::string& uid, const std::string& container) const override {
    return manager_.DeviceHealth(uid, container);
  }
  std::vector<manager::ResourceCapacity> Capacity() const override { return manager_.Capacity(); }
  bool IsConnected(const std::string& resource) const override {
    return manager_.IsConnected(resource);
  }

 private:
  manager::Manager& manager_;
};

}  // namespace tenon::kubelet
