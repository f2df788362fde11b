#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenon/kubelet/pod_environment.h"
#include "tenon/kubelet/pod_store.h"
#include "tenon/kubelet/pod_worker.h"

namespace tenon::kubelet {

/// All pods of this kubelet. Thread: loop only.
class Pods final {
 public:
  /// Namespace and name.
  using Key = std::pair<std::string, std::string>;
  using Created = std::function<void(const std::vector<Key>&)>;

  explicit Pods(const PodEnvironment& environment) : environment_(environment) {}
  Pods(const Pods&) = delete;
  Pods& operator=(const Pods&) = delete;

  /// Goes on with the pods of an earlier kubelet: containers that run are left running and are
  /// watched again, pods that ended are noted, all other devices are freed. Blocks; called first.
  /// Errors: kFailedPrecondition when there is no runtime to look at containers that may run.
  Result<void> Load();

  /// Admits new pods; `done` runs in a later turn, when each was admitted or refused.
  /// Errors: kFailedPrecondition, naming the pod, when its name or uid is taken; none is made then.
  Result<void> Create(std::vector<pod::Pod> pods, Created done);

  /// The pod, or null. Valid until the loop turns.
  const PodWorker* Find(const Key& key) const;
  /// `gone` runs in a later turn, when nothing of the pod is left. Requires: Find(key).
  void Delete(const Key& key, base::Duration grace, std::function<void()> gone);

  const std::map<Key, std::unique_ptr<PodWorker>>& all() const { return pods_; }

 private:
  /// Ends what may run of a pod whose record cannot be read.
  struct OrphanRemoval {
    Orphan orphan;
    runtime::ContainerRuntime::Call call;
  };

  /// One Create() whose pods are not all answered yet.
  struct Creation {
    std::vector<Key> keys;
    size_t unanswered = 0;
    Created done;
  };

  PodWorker& Add(PodRecord record);
  Result<void> CheckFree(const std::vector<pod::Pod>& pods) const;
  void RemoveOrphan(std::list<OrphanRemoval>::iterator removal);

  const PodEnvironment environment_;
  std::map<Key, std::unique_ptr<PodWorker>> pods_;
  std::list<Creation> creations_;
  std::list<OrphanRemoval> orphans_;
};

}  // namespace tenon::kubelet
