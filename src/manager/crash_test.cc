#include <random>

#include "manager/manager_fixture_for_test.h"

namespace tenon::manager {
namespace {

using testing::IsEmpty;

using enum ContainerKind;

/// How often, and from which seed; the long run is that of `./check --long`.
class Rounds {
 public:
  explicit Rounds(int full) {
    const char* long_run = std::getenv("TENON_LONG");
    const char* seed = std::getenv("TENON_SEED");
    count_ = long_run != nullptr && std::string(long_run) == "1" ? full : full / 100;
    seed_ = seed != nullptr ? std::strtoull(seed, nullptr, 10) : std::random_device{}();
    random_.seed(seed_);
    std::printf("TENON_SEED=%llu, %d rounds\n", static_cast<unsigned long long>(seed_), count_);
  }
  int count() const { return count_; }
  uint64_t seed() const { return seed_; }
  size_t Below(size_t n) { return random_() % n; }

 private:
  int count_;
  uint64_t seed_;
  std::mt19937_64 random_;
};

class CrashTest : public ManagerTest {
 protected:
  static constexpr int kDevices = 6;

  static std::vector<std::string> Ids() {
    std::vector<std::string> ids;
    for (int i = 0; i < kDevices; ++i)
      ids.push_back("d" + std::to_string(i));
    return ids;
  }
  /// Pod → container → ids, of the file.
  std::map<std::string, std::map<std::string, std::set<std::string>>> OnDisk() {
    std::map<std::string, std::map<std::string, std::set<std::string>>> held;
    if (!file_.content) return held;
    auto file = checkpoint::Decode(*file_.content, "file");
    EXPECT_TRUE(file);
    if (file->entries)
      for (const checkpoint::Entry& entry : *file->entries)
        for (const auto& [numa, ids] : *entry.device_ids)
          held[entry.pod_uid][entry.container_name].insert(ids->begin(), ids->end());
    return held;
  }
  /// What kill -9 does: nothing that had not happened happens any more, except that a write that
  /// the disk already had may still have ended.
  void Kill(bool write_ends) {
    if (write_ends) file_.Release();
    const std::optional<std::string> left = file_.content;
    manager_.reset();
    file_.Drop();
    file_.content = left;
    plugin_ = std::make_unique<FakePlugin>();
    answers_before_ = std::exchange(answers_, {});
    Restart();
    ASSERT_TRUE(restored_);
  }

  std::unique_ptr<FakePlugin> plugin_ = std::make_unique<FakePlugin>();
  std::map<std::string, std::string> answers_before_;
};

// At any step of any admission or removal, and with the write under way done or not.
TEST_F(CrashTest, AfterKillNoDeviceIsHeldTwiceNoneIsLostAndRunningPodsKeepTheirs) {
  Rounds rounds(1000);
  std::map<std::string, std::map<std::string, std::set<std::string>>> running;
  int next_pod = 0;
  for (int round = 0; round < rounds.count(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round) + " of seed " + std::to_string(rounds.seed()));
    plugin_->options.preferred_allocation_available = rounds.Below(2) == 0;
    Serve(kRes1, *plugin_, Ids());
    file_.hold = true;
    std::set<std::string> removed;
    std::vector<std::string> asked;
    for (size_t n = rounds.Below(4); n > 0; --n) {
      asked.push_back("pod" + std::to_string(next_pod++));
      const auto quantity = static_cast<int64_t>(1 + rounds.Below(2));
      BeginAdmit(
          Pod(asked.back(), {{"init", kInit, {{kRes1, quantity}}}, {"con", kApp, {{kRes1, 1}}}}));
    }
    if (!running.empty() && rounds.Below(2) == 0) {
      removed.insert(running.begin()->first);
      manager_->RemovePod(running.begin()->first);
    }
    for (size_t turns = rounds.Below(30); turns > 0; --turns) {
      timers_.Advance({});
      if (rounds.Below(4) == 0) file_.Release();
    }

    Kill(rounds.Below(2) == 0);

    const auto held = OnDisk();
    std::map<std::string, std::string> owner;
    for (const auto& [uid, containers] : held)
      for (const auto& [container, ids] : containers)
        for (const std::string& id : ids) {
          auto [at, first] = owner.emplace(id, uid);
          ASSERT_EQ(at->second, uid) << id << " is held twice";
        }
    for (const auto& [uid, containers] : running) {
      if (removed.contains(uid)) continue;
      ASSERT_TRUE(held.contains(uid)) << uid << " lost its devices";
      ASSERT_EQ(held.at(uid), containers);
    }
    for (const std::string& uid : asked)
      if (answers_before_[uid] == "admitted") {
        ASSERT_TRUE(held.contains(uid)) << uid << " was admitted and is not on disk";
        running[uid] = held.at(uid);
      }
    for (const std::string& uid : removed)
      running.erase(uid);

    // Whoever starts again says which pods there are: those that were admitted.
    std::set<std::string> uids;
    for (const auto& [uid, containers] : running)
      uids.insert(uid);
    file_.hold = false;
    manager_->RetainPods(uids);
    Serve(kRes1, *plugin_, Ids());
    std::set<std::string> in_use;
    for (const auto& [uid, containers] : running)
      for (const auto& [container, ids] : containers)
        in_use.insert(ids.begin(), ids.end());
    const auto free = static_cast<int64_t>(kDevices - in_use.size());
    ASSERT_EQ(Admit(Pod("all", {{kRes1, free}})), "admitted") << "a device is lost";
    ASSERT_NE(Admit(Pod("more", {{kRes1, 1}})), "admitted") << "a device is there twice";
    manager_->RemovePod("all");
    Settle(timers_);
    if (running.size() > 2) {
      manager_->RemovePod(running.begin()->first);
      running.erase(running.begin());
      Settle(timers_);
    }
  }
}

// DM-33, TestDeviceAllocateParallel, and DM-34.
TEST_F(CrashTest, OfTwoPodsThatRaceForTheLastDeviceExactlyOneWins) {
  Rounds rounds(10'000);
  plugin1_.options.preferred_allocation_available = true;
  Serve(kRes1, plugin1_, {"other", "last"});
  ASSERT_EQ(Admit(Pod("holder", {{kRes1, 1}})), "admitted");
  for (int round = 0; round < rounds.count(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round) + " of seed " + std::to_string(rounds.seed()));
    const auto any_reply = [&rounds] {
      return rounds.Below(2) == 0 ? Reply::kAnswer : Reply::kHold;
    };
    plugin1_.on_allocate = any_reply();
    plugin1_.on_preferred = any_reply();
    file_.hold = rounds.Below(2) == 0;
    BeginAdmit(Pod("a", {{kRes1, 1}}));
    for (size_t turns = rounds.Below(5); turns > 0; --turns)
      timers_.Advance({});
    BeginAdmit(Pod("b", {{kRes1, 1}}));
    // What makes the kubelet look at its pods again while a plugin is asked.
    if (rounds.Below(2) == 0) manager_->RetainPods({"holder", "a", "b"});
    if (rounds.Below(4) == 0) plugin1_.SendList(HealthyDevices({"last", "other"}));
    while (answers_.size() < 3) {
      plugin1_.Release();
      file_.Release();
      Settle(timers_);
    }
    ASSERT_EQ((answers_["a"] == "admitted") + (answers_["b"] == "admitted"), 1)
        << answers_["a"] << " / " << answers_["b"];
    file_.hold = false;
    manager_->RemovePod("a");
    manager_->RemovePod("b");
    Settle(timers_);
    answers_.erase("a");
    answers_.erase("b");
  }
  EXPECT_THAT(Held("a", "con"), IsEmpty());
}

}  // namespace
}  // namespace tenon::manager
