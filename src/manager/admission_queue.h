#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>
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
  std::string reason;   ///< "UnexpectedAdmissionError", "OutOf" + resource; empty if admitted.
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
  /// See Manager::RemovePod.
  void Remove(const std::string& uid);

  /// In the order of their admission; those being written are among them.
  const std::list<PodRequest>& admitted() const { return admitted_; }
  const PodRequest* FindAdmitted(const std::string& uid) const;

  /// Writes the checkpoint; a failure is only logged.
  void SaveLogged();

 private:
  struct Waiting {
    std::unique_ptr<Admission> admission;
    Done done;
  };
  struct Unsaved {
    uint64_t number = 0;
    std::string uid;
    std::vector<HoldKey> added;
    bool admitted_before = false;
    Done done;
  };

  void StartNext();
  void OnAllocated(const Result<void>& result);
  void Commit(Waiting waiting);
  void OnSaved(uint64_t number, const Result<void>& result);
  /// Returns whether it was there.
  bool DropAdmitted(const std::string& uid);
  void Answer(Done done, AdmitResult result);
  void Refuse(Done done, const std::string& why);

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
  Requests requested_;  ///< Of all admitted pods.
};

}  // namespace tenon::manager
