#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "manager/admission.h"
#include "manager/checkpoint_store.h"
#include "manager/fit.h"
#include "manager/later_queue.h"
#include "manager/options.h"
#include "manager/pod_request.h"

namespace tenon::manager {

/// What became of a pod's admission; a pod that is refused is Failed for good.
struct AdmitResult {
  bool admitted = false;
  /// "UnexpectedAdmissionError", "TopologyAffinityError", "OutOf" + resource; empty if admitted.
  std::string reason;
  std::string message;  ///< As the kubelet words it; empty if admitted.
  bool operator==(const AdmitResult&) const = default;
};

/// The pod side of the manager: pods waiting for admission, pods whose devices are being written
/// to the checkpoint, admitted pods.
///
/// Devices are allocated for one pod at a time; the next one does not wait for the write, so all
/// pods that wait for the disk share one write. Nothing is answered before it is durable.
/// Thread: loop only.
class AdmissionQueue final {
 public:
  using Done = std::function<void(AdmitResult)>;

  AdmissionQueue(DeviceState state, base::Log& log, CheckpointStore& store, LaterQueue& later,
                 const ManagerOptions& options);
  AdmissionQueue(const AdmissionQueue&) = delete;
  AdmissionQueue& operator=(const AdmissionQueue&) = delete;

  /// See Manager::AdmitPod.
  void Admit(PodRequest pod, Done done);
  /// Allocates what an admitted pod's container still lacks, as when its resource was not there
  /// when the pod was admitted. Errors: as the kubelet words them; what the pod has it keeps.
  void AllocateMissing(const PodRequest& pod, const ContainerRequest& container,
                       std::function<void(Result<void>)> done);
  /// See Manager::RemovePod.
  void Remove(const std::string& uid);

  /// In the order of their admission; those being written are among them.
  const std::list<PodRequest>& admitted() const { return admitted_; }
  const PodRequest* FindAdmitted(const std::string& uid) const;

  /// Writes the checkpoint; a failure is only logged.
  void SaveLogged();

 private:
  /// An error is what becomes of it that is nobody's decision.
  using Ended = std::function<void(Result<AdmitResult>)>;
  struct Waiting {
    std::unique_ptr<Admission> admission;
    bool of_container = false;  ///< Of a pod that is admitted.
    Ended done;
  };
  struct Unsaved {
    uint64_t number = 0;
    std::string uid;
    std::vector<HoldKey> added;
    bool admitted_before = false;
    Ended done;
  };

  void StartNext();
  void OnAllocated(const Result<Admission::Outcome>& result);
  void Enqueue(PodRequest pod, bool of_container, Ended done);
  void Commit(Waiting waiting);
  /// Makes the pod an admitted one; returns whether it was. nullopt: it does not fit, `done` knows.
  std::optional<bool> TakeIn(const PodRequest& pod, Ended& done);
  void Save(Unsaved unsaved);
  void OnSaved(uint64_t number, const Result<void>& result);
  /// Returns whether it was there.
  bool DropAdmitted(const std::string& uid);
  void Answer(Ended done, Result<AdmitResult> result);
  void Refuse(Ended done, std::string why);

  const DeviceState state_;
  base::Log& log_;
  CheckpointStore& store_;
  LaterQueue& later_;
  const ManagerOptions options_;
  std::deque<Waiting> waiting_;
  bool allocating_ = false;  ///< For the first of waiting_.
  std::list<Unsaved> unsaved_;
  uint64_t next_number_ = 1;
  std::list<PodRequest> admitted_;
  std::unordered_map<std::string, std::list<PodRequest>::iterator> admitted_by_uid_;
  Requests requested_;  ///< Of all admitted pods.
};

}  // namespace tenon::manager
