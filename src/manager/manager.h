#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "device/pod_resources.h"
#include "loop/timer_queue.h"
#include "manager/admission_queue.h"
#include "manager/checkpoint_store.h"
#include "manager/container_start.h"
#include "manager/later_queue.h"
#include "manager/options.h"
#include "manager/plugin_client.h"
#include "manager/plugins.h"
#include "manager/pod_devices.h"
#include "manager/pod_request.h"

namespace tenon::manager {

/// The kubelet's device manager: which plugins serve which resources, which devices there are,
/// and which pod's container holds which of them. docs/kubelet.md says what it does.
///
/// It knows no transport and no clock of its own: plugins come through PluginDialer, the file
/// through CheckpointFile, time through the queue. Callbacks given to it run in later turns and
/// may do anything, also destroy it. Thread: loop only.
class Manager final {
 public:
  Manager(loop::TimerQueue& timers, base::Log& log, PluginDialer& dialer, CheckpointFile& file,
          AllocationDecoder decode, const ManagerOptions& options);
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  /// Takes over what the checkpoint has: pods keep their devices, and each resource that had a
  /// plugin is there with capacity 0 until the plugin returns or the grace period ends. A corrupt
  /// file is set aside; its resources are unknown then, and pods that ask for them are refused.
  /// Requires: called before anything else. Errors: the file cannot be read or set aside.
  Result<void> Restore();

  /// Runs a plugin's Register call; destroying what is returned gives up. `done` runs once.
  /// Errors: the request is refused at once. Owner: must not outlive the manager.
  Result<std::unique_ptr<Registration>> Register(const api::RegisterRequest& request,
                                                 Registration::Done done) {
    return plugins_.Register(request, std::move(done));
  }

  /// The same for a plugin that was found at its socket, which `dialer` connects to.
  Result<std::unique_ptr<Registration>> RegisterFound(const FoundPlugin& plugin,
                                                      PluginDialer& dialer,
                                                      Registration::Done done) {
    return plugins_.RegisterFound(plugin, dialer, std::move(done));
  }
  /// The socket is gone: so is the plugin that was registered with it, if it still is.
  void Disconnect(const std::string& resource, const std::string& socket) {
    plugins_.Disconnect(resource, socket);
  }

  /// Allocates a pod's devices and answers when they are on disk, or says why not. Pods are
  /// admitted one after the other, as they come; a plugin that hangs costs its deadline. A pod
  /// that is refused holds what it held before: nothing, unless it was admitted earlier.
  /// Admitting an admitted pod again, as after a restart, checks that its devices are still good.
  void AdmitPod(PodRequest pod, AdmissionQueue::Done done);
  /// The pod is gone: frees its devices; refuses its admission and its starts under way.
  void RemovePod(const std::string& uid);
  /// RemovePod for all but these: after a restart, forgets pods that went away meanwhile.
  void RetainPods(const std::set<std::string>& uids);

  /// Answers with what the container gets, before each of its starts; the devices stay the same
  /// for the pod's life. Those that it lacks, as its resource was not there when the pod was
  /// admitted, are allocated now. Errors: as the kubelet words them; another try may succeed.
  void PrepareStart(const std::string& pod_uid, const std::string& container,
                    ContainerStart::Done done);

  /// By resource, as a Node object's status has it.
  std::vector<ResourceCapacity> Capacity() const { return plugins_.table().Capacity(); }
  /// Whether the resource's plugin is connected; not so once it is lost, and not for a resource
  /// that only the checkpoint remembers.
  bool IsConnected(const std::string& resource) const {
    const Endpoint* endpoint = plugins_.endpoints().Find(resource);
    return endpoint != nullptr && !endpoint->stopped();
  }
  /// What the container's status says of its devices: by resource, id → whether it is healthy, as
  /// its plugin said last, also if that is lost. A device that the plugin no longer lists counts as
  /// healthy, as the kubelet has it.
  std::map<std::string, std::map<std::string, bool>> DeviceHealth(
      const std::string& pod_uid, const std::string& container) const;
  /// `callback` gets, in a later turn, the pods that hold devices whose health has changed.
  void OnHealthChange(std::function<void(const std::set<std::string>& pod_uids)> callback) {
    on_health_ = std::move(callback);
  }
  /// `callback` runs, in a later turn, when Capacity() may have changed.
  void OnCapacityChange(std::function<void()> callback) { on_capacity_ = std::move(callback); }
  /// Admitted pods and what their containers hold, regular init containers left out: the answer
  /// to PodResources List.
  std::vector<PodResources> ListPodResources() const;
  /// The same without sidecars: what PodResources v1alpha1 knows of.
  std::vector<PodResources> ListAppResources() const;
  /// Healthy devices, whether in use or not, in the shape of the above: the answer to PodResources
  /// GetAllocatableResources.
  std::vector<ContainerDevices> AllocatableDevices() const;

 private:
  PodResources ResourcesOf(const PodRequest& pod, bool sidecars) const;
  DeviceState state();
  std::string EncodeCheckpoint();
  void Start(const std::string& pod_uid, const ContainerRequest& request,
             ContainerStart::Done done);
  void TellOfHealth(const std::string& resource, const std::vector<std::string>& ids);

  loop::TimerQueue& timers_;
  base::Log& log_;
  CheckpointFile& file_;
  const AllocationDecoder decode_;
  const ManagerOptions options_;
  std::function<void()> on_capacity_;
  std::function<void(const std::set<std::string>&)> on_health_;
  // Each leans on those before it.
  LaterQueue later_;
  PodDevices pods_;
  Plugins plugins_;
  /// Resource → revision of its row when it went into the checkpoint's text.
  std::map<std::string, uint64_t> encoded_revisions_;
  CheckpointStore store_;
  AdmissionQueue admissions_;
  struct Starting {
    std::unique_ptr<ContainerStart> start;
    ContainerStart::Done done;
  };
  std::list<Starting> starting_;
};

}  // namespace tenon::manager
