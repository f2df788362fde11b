#include "tenond/held_book.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "checkpoint/checkpoint.h"
#include "discovery/resolve.h"
#include "plugin/allocate_plan.h"
#include "wire/messages.h"

namespace tenon::tenond {
namespace {

constexpr size_t kMostCheckpointBytes = size_t{64} << 20;
constexpr base::Duration kAskDeadline = std::chrono::seconds(2);

}  // namespace

HeldBook::HeldBook(loop::EventLoop& loop, host::Host& host, base::Log& log, Options options,
                   DeviceIdFn device_id, ChangedFn changed)
    : loop_(loop),
      host_(host),
      log_(log),
      options_(std::move(options)),
      device_id_(std::move(device_id)),
      changed_(std::move(changed)) {}

std::vector<discovery::Holding> HeldBook::holdings() const {
  std::vector<discovery::Holding> holdings;
  for (const auto& [key, entry] : entries_)
    holdings.push_back(entry.holding);
  return holdings;
}

/// See Holding::numbers.
std::set<std::string> HeldBook::NumbersOf(const checkpoint::Entry& entry) const {
  std::set<std::string> numbers;
  if (!entry.alloc_resp) return numbers;
  auto allocation = wire::DecodeContainerAllocation(*entry.alloc_resp);
  if (!allocation) return numbers;
  std::vector<std::string> paths;
  for (const DeviceNode& node : allocation->device_nodes)
    paths.push_back(node.host_path);
  auto by_cdi = allocation->annotations.find(plugin::NodesAnnotation(entry.resource_name));
  if (by_cdi != allocation->annotations.end())
    for (std::string& path : plugin::SplitPathList(by_cdi->second))
      paths.push_back(std::move(path));
  for (const std::string& path : paths) {
    auto file = host_.Stat(path);
    const bool is_there = file && file->is_device_node();
    numbers.insert(is_there ? discovery::DeviceNumber(
                                  {.kind = file->kind, .major = file->major, .minor = file->minor})
                            : path);
  }
  return numbers;
}

Result<HeldBook::Entries> HeldBook::LoadCheckpoint() const {
  TENON_TRY(auto machine, host::PosixHost::Open("/"));
  auto text = machine->Read(options_.checkpoint, kMostCheckpointBytes);
  if (!text && text.error().code() == Code::kNotFound) return Entries{};
  if (!text) return std::move(text).error();
  TENON_TRY(checkpoint::Checkpoint content, checkpoint::Decode(*text, options_.checkpoint));
  Entries entries;
  if (!content.entries) return entries;
  for (const checkpoint::Entry& entry : *content.entries) {
    discovery::Holding holding{.resource = entry.resource_name,
                               .numbers = NumbersOf(entry),
                               .holder = "pod " + base::EscapeForLine(entry.pod_uid)};
    if (entry.device_ids)
      for (const auto& [numa_node, ids] : *entry.device_ids)
        if (ids)
          for (const std::string& id : *ids)
            holding.ids.insert(device_id_(entry.resource_name, id));
    entries[{holding.resource, holding.ids}] = {holding, loop_.timers().now() - options_.grace};
  }
  return entries;
}

void HeldBook::ReadCheckpoint() {
  auto entries = LoadCheckpoint();
  if (!entries) {
    log_.Warning(
        "the kubelet's checkpoint cannot be read, so devices that are held under other "
        "ids are not known",
        {{"error", entries.error().message()}});
    return;
  }
  for (auto& [key, entry] : *entries)
    entries_.try_emplace(key, std::move(entry));
  changed_(holdings());
}

void HeldBook::OnAllocated(const discovery::Holding& holding) {
  entries_[{holding.resource, holding.ids}] = {holding, loop_.timers().now()};
}

void HeldBook::SetMatters(bool matters) {
  if (std::exchange(matters_, matters) == matters) return;
  timer_.Cancel();
  // A later turn: this may be called while devices are being published.
  if (matters_) timer_ = loop_.timers().After(base::Duration::zero(), [this] { Ask(); });
}

void HeldBook::Ask() {
  timer_ = loop_.timers().After(options_.period, [this] { Ask(); });
  call_ = plugin_service::ListPodResources(
      loop_, options_.pod_resources, kAskDeadline,
      [this](const Result<std::vector<PodResources>>& pods) { OnPods(pods); });
}

void HeldBook::OnPods(const Result<std::vector<PodResources>>& pods) {
  if (!pods) {
    auto entries = LoadCheckpoint();
    if (!entries) return;  // Nothing is known; what is held stays held.
    return KeepOnly([&](discovery::Holding& holding) {
      return std::ranges::any_of(*entries, [&](const auto& entry) {
        return entry.first.first == holding.resource &&
               std::ranges::includes(entry.first.second, holding.ids);
      });
    });
  }
  std::map<std::pair<std::string, std::string>, std::string> holders;  // By resource and device.
  for (const PodResources& pod : *pods)
    for (const ContainerResources& container : pod.containers)
      for (const ContainerDevices& devices : container.devices)
        for (const std::string& id : devices.device_ids)
          holders[{devices.resource_name, device_id_(devices.resource_name, id)}] =
              "pod " + base::EscapeForLine(pod.namespace_name + "/" + pod.name);
  KeepOnly([&](discovery::Holding& holding) {
    for (const std::string& id : holding.ids) {
      auto holder = holders.find({holding.resource, id});
      if (holder == holders.end()) continue;
      holding.holder = holder->second;
      return true;
    }
    return false;
  });
}

void HeldBook::KeepOnly(const std::function<bool(discovery::Holding&)>& is_held) {
  const Entries before = entries_;
  const base::MonotonicTime young = loop_.timers().now() - options_.grace;
  for (auto next = entries_.begin(); next != entries_.end();) {
    auto at = next++;
    if (!is_held(at->second.holding) && at->second.since <= young) entries_.erase(at);
  }
  if (entries_ != before) changed_(holdings());
}

}  // namespace tenon::tenond
