#include <algorithm>
#include <cstdlib>
#include <random>
#include <set>

#include "manager/manager_fixture_for_test.h"

namespace tenon::manager {
namespace {

using enum ContainerKind;
using Ids = std::set<std::string>;

constexpr int kResources = 3;
constexpr int kDevices = 7;
constexpr int kPods = 8;

std::string Resource(int number) {
  return "model.com/r" + std::to_string(number);
}

/// What the manager ought to know of one resource.
struct ModelResource {
  bool listed = false;  ///< Has a row: from its first list or its loss until it is removed.
  bool lost = false;
  bool served = false;  ///< Has an endpoint that is not stopped.
  bool removed = false;
  base::MonotonicTime lost_at{};
  std::map<std::string, bool> devices;  ///< Id → healthy.

  size_t healthy() const {
    if (lost) return 0;
    return static_cast<size_t>(
        std::ranges::count_if(devices, [](const auto& device) { return device.second; }));
  }
};

/// What the manager ought to know of one admitted pod.
struct ModelPod {
  PodRequest request;
  std::map<std::string, std::map<std::string, Ids>> held;  ///< Container → resource → ids.

  Ids All(const std::string& resource) const {
    Ids all;
    for (const auto& [container, resources] : held)
      if (auto at = resources.find(resource); at != resources.end())
        all.insert(at->second.begin(), at->second.end());
    return all;
  }
};

/// Plays random histories against a manager and a simple model of it.
///
/// While no plugin misbehaves the model says exactly what an admission gives. In an episode
/// plugins hang, fail and answer late while everything else goes on; what comes out of it is
/// checked for sense (nobody has a device of somebody else, nobody has more or less than it asked
/// for, all that were refused have nothing) and the model takes it over.
class ModelTest : public ManagerTest {
 protected:
  ModelTest() {
    const char* seed = std::getenv("TENON_SEED");
    seed_ = seed != nullptr ? std::strtoull(seed, nullptr, 10) : std::random_device{}();
    random_.seed(seed_);
    for (int i = 0; i < kResources; ++i) {
      resources_[Resource(i)];
      plugins_[Resource(i)] = NewPlugin();
    }
  }

  ~ModelTest() override { manager_.reset(); }  // Before the plugins.

  // ---- Chance
  int Below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }
  bool OneIn(int n) { return Below(n) == 0; }
  std::string AnyResource() { return Resource(Below(kResources)); }
  std::string AnyUid() { return "pod" + std::to_string(Below(kPods)); }
  PodRequest AnyPod() {
    PodRequest pod = Pod(AnyUid(), std::vector<ContainerRequest>());
    int containers = 1 + Below(4);
    for (int i = 0; i < containers; ++i) {
      ContainerRequest& container = pod.containers.emplace_back();
      container.name = "c" + std::to_string(i);
      container.kind = i == containers - 1 ? kApp : std::array{kInit, kSidecar, kApp}[Below(3)];
      if (i > 0 && pod.containers[i - 1].kind == kApp) container.kind = kApp;
      for (int r = Below(3); r > 0; --r)
        container.limits[AnyResource()] = Below(4);
    }
    return pod;
  }
  std::unique_ptr<FakePlugin> NewPlugin() {
    auto plugin = std::make_unique<FakePlugin>();
    plugin->options.preferred_allocation_available = OneIn(2);
    plugin->preference = [](api::PreferredRequest request) {
      std::ranges::reverse(request.available);
      request.available.insert(request.available.begin(), {"bogus", ""});
      return request.available;
    };
    return plugin;
  }

  // ---- Events of plugins
  void RegisterPlugin(const std::string& resource) {
    auto plugin = NewPlugin();
    if (OneIn(4)) {
      plugin->on_options = OneIn(2) ? Reply::kFail : Reply::kHang;
      EXPECT_NE(Register(resource, *plugin), "ok");
      ASSERT_FALSE(plugin->connected()) << "a failed registration leaves nothing";
      return;
    }
    ASSERT_EQ(Register(resource, *plugin), "ok");
    old_plugins_.push_back(std::exchange(plugins_[resource], std::move(plugin)));
    ModelResource& model = resources_[resource];
    model.served = true;
  }
  void SendList(const std::string& resource) {
    ModelResource& model = resources_[resource];
    if (!model.served) return;
    std::vector<api::ListedDevice> list;
    model.devices.clear();
    for (int i = 0; i < kDevices; ++i) {
      if (OneIn(5)) continue;
      bool healthy = !OneIn(5);
      std::string id = "d" + std::to_string(i);
      list.push_back({.id = id, .health = healthy ? "Healthy" : "Unhealthy"});
      model.devices[id] = healthy;
    }
    std::ranges::shuffle(list, random_);
    plugins_[resource]->SendList(list);
    model.listed = true;
    model.lost = model.removed = false;
  }
  void EndStream(const std::string& resource) {
    // Old plugins may end whenever they like.
    for (const auto& old : old_plugins_)
      old->EndStreams();
    ModelResource& model = resources_[resource];
    if (!model.served) return;
    plugins_[resource]->EndStreams();
    model.listed = model.lost = true;
    model.served = model.removed = false;
    model.lost_at = timers_.now();
  }
  void LetTimePass(base::Duration duration) {
    timers_.Advance(duration);
    Settle(timers_);
    for (auto& [resource, model] : resources_) {
      if (model.listed && model.lost && !model.served &&
          timers_.now() - model.lost_at >= std::chrono::minutes(5)) {
        model = ModelResource();
        model.removed = true;
      }
    }
  }

  // ---- Events of pods
  void AdmitOne() {
    PodRequest pod = AnyPod();
    std::optional<ModelPod> expected;
    std::string expected_answer = ModelAdmit(pod, expected);
    ASSERT_EQ(Admit(pod), expected_answer) << pod.uid;
    if (expected) pods_[pod.uid] = *expected;
  }
  void RemoveOne() {
    std::string uid = AnyUid();
    manager_->RemovePod(uid);
    pods_.erase(uid);
    Settle(timers_);
  }
  void RetainSome() {
    std::set<std::string> uids;
    for (int i = 0; i < kPods; ++i)
      if (!OneIn(4)) uids.insert("pod" + std::to_string(i));
    manager_->RetainPods(uids);
    std::erase_if(pods_, [&](const auto& pod) { return !uids.contains(pod.first); });
    Settle(timers_);
  }

  /// What admission ought to answer, and what the pod then has.
  std::string ModelAdmit(const PodRequest& pod, std::optional<ModelPod>& admitted) {
    auto before = pods_.find(pod.uid);
    ModelPod result{.request = pod, .held = {}};
    if (before != pods_.end()) result.held = before->second.held;
    std::map<std::string, Ids> reusable;
    for (const ContainerRequest& container : pod.containers) {
      for (const auto& [resource, quantity] : container.limits) {
        auto why = ModelAllocate(result, container, resource, static_cast<size_t>(quantity),
                                 reusable[resource]);
        if (!why.empty()) return Refused(why);
        auto held = result.held[container.name].find(resource);
        if (held == result.held[container.name].end()) continue;
        for (const std::string& id : held->second) {
          if (container.kind == kInit)
            reusable[resource].insert(id);
          else
            reusable[resource].erase(id);
        }
      }
    }
    for (const auto& [resource, quantity] : TotalRequests(pod))
      if (auto why = ModelOutOf(result, resource, quantity); !why.empty()) return why;
    admitted = result;
    return "admitted";
  }
  /// Counts alone refuse a pod whose resource is gone, and one that comes again with more
  /// containers that may not share what they have: app containers now that were init containers.
  std::string ModelOutOf(const ModelPod& pod, const std::string& resource, int64_t quantity) {
    const ModelResource& model = resources_[resource];
    if (quantity == 0 || (!model.listed && !model.removed)) return "";
    const auto offered =
        static_cast<int64_t>(std::max(model.healthy(), InUse(resource, pod).size()));
    int64_t used = 0;
    for (const auto& [uid, other] : pods_)
      if (uid != pod.request.uid) used += TotalRequests(other.request)[resource];
    if (quantity <= offered - used) return "";
    return "OutOf" + resource + ": Node didn't have enough resource: " + resource +
           ", requested: " + std::to_string(quantity) + ", used: " + std::to_string(used) +
           ", capacity: " + std::to_string(offered);
  }
  std::string ModelAllocate(ModelPod& pod, const ContainerRequest& container,
                            const std::string& resource, size_t quantity, const Ids& reusable) {
    const ModelResource& model = resources_[resource];
    if (quantity == 0) return "";
    Ids in_use = InUse(resource, pod);
    if (!model.listed && !model.served && in_use.empty()) {
      if (model.removed) return "";
      std::string known;
      for (const auto& [name, other] : resources_)
        if (other.listed) known += (known.empty() ? "" : ", ") + name;
      return "unknown resource " + resource + ": no device plugin has registered it (registered: " +
             (known.empty() ? "none" : known) + ")";
    }
    auto held = pod.held[container.name].find(resource);
    bool has = held != pod.held[container.name].end();
    if (has && held->second.size() != quantity)
      return "pod \"" + pod.request.uid + "\" container \"" + container.name +
             "\" changed request for resource \"" + resource + "\" from " +
             std::to_string(held->second.size()) + " to " + std::to_string(quantity);
    if (!model.listed) return "cannot allocate unregistered device " + resource;
    if (model.healthy() == 0)
      return "no healthy devices present; cannot allocate unhealthy devices " + resource;
    if (has) {
      for (const std::string& id : held->second)
        if (!model.devices.contains(id) || !model.devices.at(id))
          return "previously allocated devices are no longer healthy; cannot allocate unhealthy "
                 "devices " +
                 resource;
      return "";
    }
    Ids chosen;
    for (const std::string& id : reusable)
      if (chosen.size() < quantity) chosen.insert(id);
    size_t needed = quantity - chosen.size();
    Ids free;
    for (const auto& [id, healthy] : model.devices)
      if (healthy && !in_use.contains(id)) free.insert(id);
    if (free.size() < needed)
      return "requested number of devices unavailable for " + resource +
             ". Requested: " + std::to_string(needed) +
             ", Available: " + std::to_string(free.size());
    std::vector<std::string> order(free.begin(), free.end());
    if (plugins_[resource]->options.preferred_allocation_available) std::ranges::reverse(order);
    for (const std::string& id : order)
      if (chosen.size() < quantity) chosen.insert(id);
    if (!model.served) return "endpoint " + resource + " has been stopped";
    pod.held[container.name][resource] = chosen;
    return "";
  }
  /// By all pods; `pod` as it is given.
  Ids InUse(const std::string& resource, const ModelPod& pod) {
    Ids in_use = pod.All(resource);
    for (const auto& [uid, other] : pods_)
      if (uid != pod.request.uid) in_use.merge(other.All(resource));
    return in_use;
  }

  // ---- An episode
  void Episode() {
    std::map<std::string, PodRequest> asked;
    answers_.clear();
    for (int event = 0; event < 12; ++event) {
      switch (Below(9)) {
        case 0:
        case 1: {
          PodRequest pod = AnyPod();
          if (pods_.contains(pod.uid) || asked.contains(pod.uid)) break;
          asked[pod.uid] = pod;
          BeginAdmit(pod);
          break;
        }
        case 2: {
          FakePlugin& plugin = *plugins_[AnyResource()];
          plugin.on_allocate = AnyReply();
          plugin.on_preferred = AnyReply();
          break;
        }
        case 3:
          EpisodeRemoval(asked);
          break;
        case 4:
          OneIn(3) ? EndStream(AnyResource()) : SendList(AnyResource());
          break;
        case 5:
          RegisterPlugin(AnyResource());
          break;
        case 6:
          ReleaseAll();
          break;
        case 7:
          LetTimePass(std::chrono::seconds(OneIn(3) ? 30 : 1));
          break;
        default:
          SetDisk();
      }
      if (OneIn(2)) Settle(timers_);
    }
    EndEpisode(asked);
  }
  Reply AnyReply() {
    return std::array{Reply::kAnswer, Reply::kFail, Reply::kHang, Reply::kHold}[Below(4)];
  }
  void SetDisk() {
    file_.hold = OneIn(2);
    file_.write_error = std::nullopt;
    if (OneIn(3)) file_.write_error = Error(Code::kInternal, "EIO");
  }
  void EpisodeRemoval(std::map<std::string, PodRequest>& asked) {
    std::string uid = AnyUid();
    manager_->RemovePod(uid);
    pods_.erase(uid);
    asked.erase(uid);  // Whatever is answered, it is gone.
    Settle(timers_);
  }
  void ReleaseAll() {
    for (auto& [resource, plugin] : plugins_)
      plugin->Release();
    for (const auto& old : old_plugins_)
      old->Release();
    file_.Release();
  }
  void EndEpisode(const std::map<std::string, PodRequest>& asked) {
    file_.hold = false;
    file_.write_error.reset();
    for (auto& [resource, plugin] : plugins_)
      plugin->on_allocate = plugin->on_preferred = Reply::kAnswer;
    for (const auto& old : old_plugins_)
      old->on_allocate = old->on_preferred = Reply::kAnswer;
    // Each pod costs at most a deadline for each of two calls of each limit.
    for (int i = 0; i < 200; ++i) {
      ReleaseAll();
      Settle(timers_);
      if (std::ranges::all_of(asked, [&](const auto& a) { return answers_.contains(a.first); }))
        break;
      LetTimePass(std::chrono::seconds(30));
    }
    ReleaseAll();
    Settle(timers_);
    LetTimePass(std::chrono::seconds(10));  // A failed write is tried again.
    for (const auto& old : old_plugins_)
      ASSERT_FALSE(old->connected()) << "a replaced plugin is let go";
    old_plugins_.clear();
    auto held = HeldByManager();
    for (const auto& [uid, pod] : asked) {
      ASSERT_TRUE(answers_.contains(uid)) << uid << " was never answered";
      if (answers_[uid] != "admitted") continue;
      pods_[uid] = {.request = pod, .held = held[uid]};
      CheckShares(pods_[uid]);
    }
  }
  /// That each container has as many as it asked for, and shares only what it may.
  void CheckShares(const ModelPod& pod) {
    std::map<std::string, size_t> kept;
    std::map<std::string, Ids> all_kept;
    for (const ContainerRequest& container : pod.request.containers) {
      for (const auto& [resource, quantity] : container.limits) {
        Ids held;
        if (auto at = pod.held.find(container.name); at != pod.held.end())
          if (auto ids = at->second.find(resource); ids != at->second.end()) held = ids->second;
        ASSERT_EQ(held.size(), static_cast<size_t>(quantity))
            << pod.request.uid << " " << container.name;
        if (container.kind == kInit) continue;
        kept[resource] += held.size();
        all_kept[resource].merge(held);
        ASSERT_EQ(all_kept[resource].size(), kept[resource]) << "two containers share a device";
      }
    }
  }

  // ---- Restart
  void RestartManager() {
    // What lists and losses did since the last write is not in the file, but every change of its
    // resources is, as is every pod.
    ReleaseAll();
    Restart();
    ASSERT_TRUE(restored_);
    for (auto& [resource, model] : resources_) {
      bool known = model.listed;
      model = ModelResource();
      if (known) {
        model.listed = model.lost = true;
        model.lost_at = timers_.now();
      }
    }
    std::set<std::string> uids;
    for (auto& [uid, pod] : pods_) {
      uids.insert(uid);
      PodRequest running = pod.request;
      for (ContainerRequest& container : running.containers)
        container.running = true;
      ASSERT_EQ(Admit(running), "admitted");
    }
    manager_->RetainPods(uids);
    Settle(timers_);
  }

  // ---- What must always hold
  /// Uid → container → resource → ids, as the checkpoint has it.
  std::map<std::string, std::map<std::string, std::map<std::string, Ids>>> HeldByManager() {
    std::map<std::string, std::map<std::string, std::map<std::string, Ids>>> held;
    if (!file_.content) return held;
    auto checkpoint = checkpoint::Decode(*file_.content, "model");
    EXPECT_TRUE(checkpoint);
    if (checkpoint->entries)
      for (const checkpoint::Entry& entry : *checkpoint->entries)
        for (const auto& [numa, ids] : *entry.device_ids)
          held[entry.pod_uid][entry.container_name][entry.resource_name].insert(ids->begin(),
                                                                                ids->end());
    return held;
  }
  void CheckState() {
    std::map<std::string, std::map<std::string, std::map<std::string, Ids>>> expected;
    std::map<std::string, std::map<std::string, std::string>> owner;
    for (const auto& [uid, pod] : pods_) {
      for (const auto& [container, resources] : pod.held)
        for (const auto& [resource, ids] : resources)
          if (!ids.empty()) expected[uid][container][resource] = ids;
      for (const auto& [resource, model] : resources_)
        for (const std::string& id : pod.All(resource))
          ASSERT_TRUE(owner[resource].emplace(id, uid).second)
              << resource << " " << id << " is held by " << uid << " and " << owner[resource][id];
    }
    ASSERT_EQ(HeldByManager(), expected);
    std::vector<ResourceCapacity> capacity;
    for (const auto& [resource, model] : resources_) {
      if (model.listed)
        capacity.push_back({resource, model.devices.size(), model.healthy()});
      else if (model.removed)
        capacity.push_back({resource, 0, 0});
    }
    ASSERT_EQ(manager_->Capacity(), capacity);
  }
  /// That nothing is in use but what pods hold: a pod that asks for all that is free gets it.
  void CheckNothingLeaked(const std::string& resource) {
    const ModelResource& model = resources_[resource];
    if (!model.served || !model.listed || model.healthy() == 0) return;
    Ids in_use = InUse(resource, {});
    int64_t free = std::ranges::count_if(model.devices, [&](const auto& device) {
      return device.second && !in_use.contains(device.first);
    });
    ASSERT_EQ(Admit(Pod("probe", {{resource, free}})), "admitted");
    ASSERT_EQ(Admit(Pod("probe2", {{resource, 1}})),
              Refused("requested number of devices unavailable for " + resource +
                      ". Requested: 1, Available: 0"));
    manager_->RemovePod("probe");
    Settle(timers_);
  }

  void Step() {
    switch (Below(16)) {
      case 0:
        return RegisterPlugin(AnyResource());
      case 1:
      case 2:
        return SendList(AnyResource());
      case 3:
        if (OneIn(3)) EndStream(AnyResource());
        return Settle(timers_);
      case 4:
        return LetTimePass(OneIn(8) ? std::chrono::seconds(301) : std::chrono::seconds(7));
      case 5:
      case 6:
      case 7:
        return RemoveOne();
      case 8:
        if (OneIn(10)) RetainSome();
        return;
      case 9:
        if (OneIn(20)) RestartManager();
        return;
      case 10:
        return Episode();
      case 11:
        return CheckNothingLeaked(AnyResource());
      default:
        return AdmitOne();
    }
  }

  uint64_t seed_ = 0;
  std::mt19937_64 random_;
  std::map<std::string, ModelResource> resources_;
  std::map<std::string, ModelPod> pods_;
  std::map<std::string, std::unique_ptr<FakePlugin>> plugins_;
  std::vector<std::unique_ptr<FakePlugin>> old_plugins_;
};

TEST_F(ModelTest, AManagerDoesAsTheModelInRandomHistories) {
  const char* long_run = std::getenv("TENON_LONG");
  const int steps = long_run != nullptr && std::string(long_run) == "1" ? 1'000'000 : 10'000;
  std::printf("TENON_SEED=%llu, %d steps\n", static_cast<unsigned long long>(seed_), steps);
  for (int step = 0; step < steps; ++step) {
    SCOPED_TRACE("step " + std::to_string(step) + " of seed " + std::to_string(seed_));
    Step();
    if (HasFatalFailure() || HasFailure()) return;
    CheckState();
    if (HasFatalFailure() || HasFailure()) return;
  }
}

}  // namespace
}  // namespace tenon::manager
