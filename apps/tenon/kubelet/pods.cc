#include "tenon/kubelet/pods.h"

#include <algorithm>
#include <set>

#include "base/check.h"

namespace tenon::kubelet {
namespace {

Pods::Key KeyOf(const pod::Pod& pod) {
  return {pod.namespace_name, pod.name};
}

}  // namespace

PodWorker& Pods::Add(PodRecord record) {
  const Key key = KeyOf(record.pod);
  auto& worker = pods_[key];
  worker = std::make_unique<PodWorker>(environment_, std::move(record));
  return *worker;
}

Result<void> Pods::Load() {
  TENON_TRY(PodStore::Loaded loaded, environment_.store.Load());
  std::set<std::string> holding;
  for (const PodRecord& record : loaded.records) {
    if (record.status.terminal()) continue;
    holding.insert(record.pod.uid);
    if (environment_.runtime || record.processes.empty()) continue;
    return Error(Code::kFailedPrecondition,
                 "containers of pod " + record.pod.FullName() +
                     " may be running: start with the --runtime that started them, or delete it");
  }
  for (const Orphan& orphan : loaded.orphans)
    holding.insert(orphan.uid);
  environment_.devices.Retain(holding);
  for (Orphan& orphan : loaded.orphans) {
    environment_.log.Error("pod record cannot be read, the pod is removed",
                           {{"uid", orphan.uid}, {"why", orphan.why}});
    RemoveOrphan(orphans_.insert(orphans_.end(), {std::move(orphan), nullptr}));
  }
  for (PodRecord& record : loaded.records) {
    PodWorker& worker = Add(std::move(record));
    worker.Recover();
    if (worker.record().deleting) {
      Delete(KeyOf(worker.pod()), worker.pod().termination_grace, [] {});
    }
  }
  return {};
}

void Pods::RemoveOrphan(std::list<OrphanRemoval>::iterator removal) {
  Orphan& orphan = removal->orphan;
  const auto forget = [this, removal] {
    environment_.devices.Remove(removal->orphan.uid);
    environment_.store.Remove(removal->orphan.uid, [](const Result<void>&) {});
    orphans_.erase(removal);
  };
  if (!environment_.runtime) return forget();
  if (orphan.containers.empty()) {
    removal->call =
        environment_.runtime->RemovePod(orphan.uid, [forget](const Result<void>&) { forget(); });
    return;
  }
  const std::string id = orphan.uid + "." + orphan.containers.back();
  removal->call = environment_.runtime->Delete(id, [this, removal, id](const Result<void>& done) {
    if (!done) {
      environment_.log.Error("container cannot be removed",
                             {{"container", id}, {"why", done.error().message()}});
    }
    removal->orphan.containers.pop_back();
    RemoveOrphan(removal);
  });
}

Result<void> Pods::CheckFree(const std::vector<pod::Pod>& pods) const {
  std::set<std::string> uids;
  for (const auto& [key, worker] : pods_)
    uids.insert(worker->pod().uid);
  for (const pod::Pod& pod : pods) {
    if (pods_.contains(KeyOf(pod))) {
      return Error(Code::kFailedPrecondition, "pod " + pod.FullName() + " already exists");
    }
    if (!uids.insert(pod.uid).second) {
      return Error(Code::kFailedPrecondition,
                   "pod " + pod.FullName() + ": another pod has the uid " + pod.uid);
    }
  }
  return {};
}

Result<void> Pods::Create(std::vector<pod::Pod> pods, Created done) {
  TENON_TRY_VOID(CheckFree(pods));
  const auto creation = creations_.insert(creations_.end(), {{}, pods.size(), std::move(done)});
  for (const pod::Pod& pod : pods)
    creation->keys.push_back(KeyOf(pod));
  for (pod::Pod& pod : pods) {
    PodRecord record{.pod = std::move(pod), .created = environment_.clock.WallNow()};
    Add(std::move(record)).Admit([this, creation] {
      if (--creation->unanswered > 0) return;
      const Creation ended = std::move(*creation);
      creations_.erase(creation);
      ended.done(ended.keys);
    });
  }
  return {};
}

const PodWorker* Pods::Find(const Key& key) const {
  const auto found = pods_.find(key);
  return found == pods_.end() ? nullptr : found->second.get();
}

void Pods::Delete(const Key& key, base::Duration grace, std::function<void()> gone) {
  const auto found = pods_.find(key);
  TENON_CHECK(found != pods_.end());
  found->second->Delete(grace, [this, key, gone = std::move(gone)] {
    // Others may wait for the same end, and by now a new pod may have the name.
    const auto pod = pods_.find(key);
    if (pod != pods_.end() && pod->second->removed()) pods_.erase(pod);
    gone();
  });
}

}  // namespace tenon::kubelet
