#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "loop/timer_queue.h"
#include "manager/allocator.h"
#include "manager/device_table.h"
#include "manager/endpoint.h"
#include "manager/options.h"
#include "manager/pod_devices.h"
#include "manager/pod_request.h"
#include "manager/reservation.h"
#include "manager/topology_hints.h"

namespace tenon::manager {

/// What an admission and a container start read and change; all of it is the manager's.
struct DeviceState {
  loop::TimerQueue& timers;
  const DeviceTable& table;
  const EndpointTable& endpoints;
  PodDevices& pods;

  /// Whether a device plugin serves the resource, did so lately, or pods still hold some of it.
  bool Knows(const std::string& resource) const {
    return table.Find(resource) != nullptr || endpoints.Find(resource) != nullptr ||
           pods.InUse(resource) != nullptr;
  }
};

/// Allocates the devices of one pod: its containers in order; for each the topology policy's NUMA
/// nodes, then its resources by name, for each choose → reserve → Allocate. All reservations are
/// kept to the end and committed together, so a pod that fails half-way leaves nothing behind, and
/// destroying the admission undoes it. Thread: loop only.
class Admission final {
 public:
  /// How an admission ends that no error ended.
  enum class Outcome {
    kAllocated,
    kNotAligned,  ///< The topology policy refuses the pod.
  };
  /// Runs once, from a turn of its own, so that it may destroy the admission.
  using Done = std::function<void(Result<Outcome>)>;

  /// Owner: `options` outlive the admission.
  Admission(DeviceState state, PodRequest pod, const ManagerOptions& options, Done done);
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;

  /// Begins, and may already end (`done` then runs in the next turn). Requires: called once.
  void Start() { Advance(); }

  const PodRequest& pod() const { return pod_; }

  /// A resource that was passed over as removed, of which there is some again: its plugin came back
  /// while another was being asked, and the pod would start without.
  std::optional<std::string> Missed() const;

  /// Commits all that was allocated; returns what was added. Requires: ended with kAllocated.
  std::vector<HoldKey> Commit();

 private:
  struct Allocated {
    std::unique_ptr<Reservation> reservation;
    AllocateAnswer answer;
  };
  /// Where one step leaves the admission.
  enum class Step {
    kDone,     ///< The next limit may follow.
    kWaiting,  ///< A plugin was asked; its answer goes on.
  };

  /// Sets the affinity of the containers that it decides for. Returns whether to go on.
  bool Align();
  TopologyHints Hints(const std::string& resource, int64_t quantity) const;
  std::optional<std::set<std::string>> HeldInScope(const std::string& resource) const;
  void Advance();
  Result<Step> AllocateLimit();
  Result<Step> AskPreference();
  Result<Step> FinishSelection(const std::vector<std::string>& preferred);
  void OnPreferred(Result<std::vector<std::string>> preferred);
  void OnAllocated(Result<std::optional<AllocateAnswer>> answer);
  void GoOn(Result<Step> step);
  void EndContainer();
  void End(Result<Outcome> result);

  const ContainerRequest& container() const { return pod_.containers[container_]; }
  HoldKey Key() const;
  bool IsRunning() const;
  Result<Step> SkipUnknown(const std::string& resource);
  std::vector<std::string> HeldHere(const std::string& resource) const;

  const DeviceState state_;
  const PodRequest pod_;
  const ManagerOptions& options_;
  const Done done_;

  size_t container_ = 0;
  /// nullopt: the container has not begun.
  std::optional<std::map<std::string, int64_t>::const_iterator> limit_;
  std::optional<NumaMask> affinity_;  ///< Of this container.
  /// Resource → devices that the containers that follow may take over.
  std::map<std::string, std::set<std::string>> reusable_;
  std::vector<Allocated> allocated_;
  std::set<std::string> passed_over_;  ///< Resources that were removed when their turn came.
  /// What the plugin is being asked about, one or the other.
  std::optional<Selection> selection_;
  std::unique_ptr<Reservation> reservation_;
  PluginClient::Call call_;
  loop::TimerHandle ending_;
};

}  // namespace tenon::manager
