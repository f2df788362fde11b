#include "manager/manager.h"

#include <algorithm>
#include <utility>

namespace tenon::manager {
namespace {

/// One entry per resource, device and NUMA node, as the kubelet answers; a device without NUMA
/// nodes has one entry, too.
void AddDevice(std::vector<ContainerDevices>& out, const std::string& resource,
               const std::string& id, const std::vector<int64_t>& numa_nodes) {
  if (numa_nodes.empty()) out.push_back({.resource_name = resource, .device_ids = {id}});
  for (int64_t numa_node : numa_nodes)
    out.push_back({.resource_name = resource, .device_ids = {id}, .numa_nodes = {numa_node}});
}

void AddDevices(ContainerResources& container, const std::string& resource,
                const HeldDevices& held) {
  for (const auto& [numa, ids] : held.ids)
    for (const std::string& id : ids)
      AddDevice(container.devices, resource, id,
                numa == kNoNuma ? std::vector<int64_t>() : std::vector<int64_t>{numa});
}

}  // namespace

Manager::Manager(loop::TimerQueue& timers, base::Log& log, PluginDialer& dialer,
                 CheckpointFile& file, AllocationDecoder decode, const ManagerOptions& options)
    : timers_(timers),
      log_(log),
      file_(file),
      decode_(std::move(decode)),
      options_(options),
      later_(timers),
      plugins_(
          timers, log, dialer, options,
          {.capacity =
               [this] {
                 later_.Add([this] {
                   if (on_capacity_) on_capacity_();
                 });
               },
           .resources = [this] { admissions_.SaveLogged(); },
           .health = [this](const std::string& resource,
                            const std::vector<std::string>& ids) { TellOfHealth(resource, ids); }}),
      store_(timers, file, [this] { return EncodeCheckpoint(); }),
      admissions_(state(), log, store_, later_, options) {}

Result<void> Manager::Restore() {
  TENON_TRY(std::optional<std::string> content, file_.Read());
  if (!content) return {};
  Result<checkpoint::Checkpoint> read = checkpoint::Decode(*content, checkpoint::kFileName);
  if (!read && options_.compat) {
    log_.Error(
        "Continue after failing to read checkpoint file. Device allocation info may NOT be "
        "up-to-date",
        {{"why", read.error().message()}});
    return {};
  }
  if (!read) {
    TENON_TRY(std::string aside, file_.SetAside());
    log_.Error(
        "checkpoint is corrupt and was set aside: which devices running pods hold is not known, "
        "stop them before their devices are handed out again",
        {{"file", aside}, {"why", read.error().message()}});
    return {};
  }
  if (read->entries)
    for (const HoldKey& key : pods_.Restore(*read->entries, decode_))
      log_.Error("checkpoint has an allocation that cannot be decoded, its devices stay in use",
                 {{"pod", key.pod_uid}, {"container", key.container}, {"resource", key.resource}});
  if (read->registered_devices)
    for (const auto& [resource, ids] : *read->registered_devices)
      plugins_.AddPlaceholder(resource);
  return {};
}

void Manager::AdmitPod(PodRequest pod, AdmissionQueue::Done done) {
  admissions_.Admit(std::move(pod), std::move(done));
}

void Manager::RemovePod(const std::string& uid) {
  for (auto at = starting_.begin(); at != starting_.end();) {
    if (at->start->pod_uid() == uid) {
      later_.Add([uid, done = std::move(at->done)] {
        done(Error(Code::kFailedPrecondition,
                   "pod " + uid + " was removed while a container was being started"));
      });
      at = starting_.erase(at);
    } else {
      ++at;
    }
  }
  admissions_.Remove(uid);
}

void Manager::RetainPods(const std::set<std::string>& uids) {
  std::vector<std::string> known = pods_.Pods();
  for (const PodRequest& pod : admissions_.admitted())
    known.push_back(pod.uid);
  for (const std::string& uid : known)
    if (!uids.contains(uid)) RemovePod(uid);
}

void Manager::PrepareStart(const std::string& pod_uid, const std::string& container,
                           ContainerStart::Done done) {
  const PodRequest* pod = admissions_.FindAdmitted(pod_uid);
  const ContainerRequest* request = nullptr;
  if (pod != nullptr) {
    auto at = std::ranges::find(pod->containers, container, &ContainerRequest::name);
    if (at != pod->containers.end()) request = &*at;
  }
  if (request == nullptr) {
    later_.Add([done = std::move(done),
                error = Error(Code::kNotFound, "no container " + container + " of pod " + pod_uid +
                                                   " is admitted")] { done(error); });
    return;
  }
  const bool lacks = std::ranges::any_of(request->limits, [&](const auto& limit) {
    return limit.second != 0 && state().Knows(limit.first) &&
           pods_.Find({pod_uid, container, limit.first}) == nullptr;
  });
  if (!lacks) return Start(pod_uid, *request, std::move(done));
  admissions_.AllocateMissing(
      *pod, *request,
      [this, pod_uid, request = *request, done = std::move(done)](const Result<void>& allocated) {
        if (!allocated) return done(allocated.error());
        Start(pod_uid, request, done);
      });
}

void Manager::Start(const std::string& pod_uid, const ContainerRequest& request,
                    ContainerStart::Done done) {
  Starting& starting = starting_.emplace_back();
  starting.done = std::move(done);
  auto id = std::prev(starting_.end());
  starting.start = std::make_unique<ContainerStart>(
      state(), log_, pod_uid, request, options_,
      [this, id](const Result<ContainerAllocation>& result) {
        later_.Add([done = std::move(id->done), result] { done(result); });
        starting_.erase(id);
      });
  starting.start->Start();
}

std::map<std::string, std::map<std::string, bool>> Manager::DeviceHealth(
    const std::string& pod_uid, const std::string& container) const {
  std::map<std::string, std::map<std::string, bool>> health;
  const PodDevices::Resources* resources = pods_.Find(pod_uid, container);
  if (resources == nullptr) return health;
  for (const auto& [resource, held] : *resources) {
    const DeviceRow* row = plugins_.table().Find(resource);
    for (std::string& id : held.AllIds()) {
      const TableDevice* device = row != nullptr ? row->Find(id) : nullptr;
      health[resource][std::move(id)] = device == nullptr || device->healthy;
    }
  }
  return health;
}

void Manager::TellOfHealth(const std::string& resource, const std::vector<std::string>& ids) {
  if (!on_health_) return;
  std::set<std::string> uids;
  for (const std::string& id : ids)
    if (const std::string* uid = pods_.FindOwner(resource, id)) uids.insert(*uid);
  if (uids.empty()) return;
  later_.Add([this, uids = std::move(uids)] {
    if (on_health_) on_health_(uids);
  });
}

PodResources Manager::ResourcesOf(const PodRequest& pod, bool sidecars) const {
  PodResources out{.name = pod.name, .namespace_name = pod.namespace_name};
  for (const ContainerRequest& request : pod.containers) {
    if (request.kind == ContainerKind::kInit) continue;
    if (request.kind == ContainerKind::kSidecar && !sidecars) continue;
    ContainerResources& container = out.containers.emplace_back();
    container.name = request.name;
    const PodDevices::Resources* resources = pods_.Find(pod.uid, request.name);
    if (resources == nullptr) continue;
    for (const auto& [resource, held] : *resources)
      AddDevices(container, resource, held);
  }
  return out;
}

std::vector<PodResources> Manager::ListPodResources() const {
  std::vector<PodResources> list;
  for (const PodRequest& pod : admissions_.admitted())
    list.push_back(ResourcesOf(pod, /*sidecars=*/true));
  return list;
}

std::vector<PodResources> Manager::ListAppResources() const {
  std::vector<PodResources> list;
  for (const PodRequest& pod : admissions_.admitted())
    list.push_back(ResourcesOf(pod, /*sidecars=*/false));
  return list;
}

std::vector<ContainerDevices> Manager::AllocatableDevices() const {
  std::vector<ContainerDevices> out;
  for (const auto& [resource, row] : plugins_.table().rows())
    for (const TableDevice& device : row.devices)
      if (row.IsHealthy(device)) AddDevice(out, resource, device.id, device.numa_nodes);
  return out;
}

DeviceState Manager::state() {
  return {timers_, plugins_.table(), plugins_.endpoints(), pods_};
}

/// The resources are brought up to date here and not when they change: plugins send lists far more
/// often than anything is written.
std::string Manager::EncodeCheckpoint() {
  const std::map<std::string, DeviceRow>& rows = plugins_.table().rows();
  std::erase_if(encoded_revisions_, [&](const auto& encoded) {
    if (rows.contains(encoded.first)) return false;
    pods_.text().RemoveRegistered(encoded.first);
    return true;
  });
  for (const auto& [resource, row] : rows) {
    if (std::exchange(encoded_revisions_[resource], row.revision) == row.revision) continue;
    std::vector<std::string> healthy;
    for (const TableDevice& device : row.devices)
      if (row.IsHealthy(device)) healthy.push_back(device.id);
    pods_.text().SetRegistered(resource, std::move(healthy));
  }
  return pods_.text().Encode();
}

}  // namespace tenon::manager
