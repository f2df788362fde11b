// A real `tenon kubelet` with runc, killed again and again: while it writes and while it admits and
// deletes pods.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>

#include "checkpoint/checkpoint.h"
#include "kubelet_process_fixture.h"

namespace tenon {
namespace {

using ::testing::AnyOf;

constexpr int kDevices = 4;
constexpr const char* kDongle = "example.com/dongle";
using Ids = std::set<std::string>;

class KillTest : public KubeletProcessTest {
 protected:
  struct SeenPod {
    std::string uid;
    std::string phase;
    Ids ids;
  };

  void SetUp() override {
    if (const std::string why = UseRunc(); !why.empty()) GTEST_SKIP() << why;
    wrapper = {"/usr/bin/env", "LD_PRELOAD=" KILL_AT_WRITE_PATH,
               "TENON_KILL_FILE=" + tree.Real("/kill"), "ASAN_OPTIONS=verify_asan_link_order=0"};
    const char* long_run = std::getenv("TENON_LONG");
    const char* seed = std::getenv("TENON_SEED");
    rounds_ = long_run != nullptr && std::string(long_run) == "1" ? 1000 : 10;
    seed_ = seed != nullptr ? std::strtoull(seed, nullptr, 10) : std::random_device{}();
    random_.seed(seed_);
    std::printf("TENON_SEED=%llu, %d rounds\n", static_cast<unsigned long long>(seed_), rounds_);
    StartKubelet();
    StartTenond("  - name: dongle\n    devices: [{virtual: {count: " + std::to_string(kDevices) +
                "}}]\n");
  }
  void TearDown() override {
    if (!kubelet) return;
    DisarmWrites();
    DeleteAllPods();
    kubelet->Signal(SIGTERM);
    EXPECT_EQ(kubelet->WaitForExit().code, 0) << kubelet->output();
  }

  int Below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  /// The next start or the next pods: killed at one of the steps of their writes.
  void ArmWrites(int steps) { tree.File("/kill", std::to_string(steps)); }
  void DisarmWrites() { std::filesystem::remove(tree.Real("/kill")); }

  std::map<std::string, SeenPod> SeePods() {
    std::map<std::string, SeenPod> pods;
    const Value list = GetJson("/api/v1/pods");
    const Value* items = list.Find("items");
    if (items == nullptr) return pods;
    for (const Value& pod : items->items()) {
      SeenPod& seen = pods[TextAt(pod, {"metadata", "name"})];
      seen = {TextAt(pod, {"metadata", "uid"}), TextAt(pod, {"status", "phase"}), {}};
      const Value* statuses = pod.At({"status", "containerStatuses"});
      if (statuses == nullptr || statuses->items().empty()) continue;
      const Value* held = statuses->items()[0].Find("allocatedDevices");
      if (held == nullptr) continue;
      for (const Value& resource : held->items())
        for (const Value& id : resource.Find("deviceIDs")->items())
          EXPECT_TRUE(seen.ids.insert(id.text()).second);
    }
    return pods;
  }
  /// By pod uid, of the checkpoint. Fails if a device is there twice.
  std::map<std::string, Ids> OnDisk() {
    const std::string path = Directory() + "/device-plugins/" + std::string(checkpoint::kFileName);
    std::ifstream in(path, std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    auto file = checkpoint::Decode(text, path);
    EXPECT_TRUE(file) << (file ? "" : file.error().message());
    std::map<std::string, Ids> held;
    Ids all;
    if (!file || !file->entries) return held;
    for (const checkpoint::Entry& entry : *file->entries)
      for (const auto& [numa, ids] : *entry.device_ids)
        for (const std::string& id : *ids) {
          EXPECT_TRUE(all.insert(id).second) << id << " is held twice";
          held[entry.pod_uid].insert(id);
        }
    return held;
  }
  bool CouldHave(int devices) {
    const std::string manifest =
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"trial"},"spec":{"containers":[)"
        R"({"name":"main","image":"busybox","resources":{"limits":{"example.com/dongle":)" +
        std::to_string(devices) + "}}}]}}";
    const Value answer = *ParseJson(Call({.method = "POST",
                                          .path = "/api/v1/trials",
                                          .query = {{"format", "oci"}},
                                          .body = manifest})
                                        .body,
                                    "answer");
    return TextAt(answer, {"admitted"}) == "true";
  }

  void Submit(const std::string& name, int devices) {
    Send({.method = "POST",
          .path = "/api/v1/pods",
          .body = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
                  R"("},"spec":{"restartPolicy":"Never","containers":[{"name":"main",)"
                  R"("image":"busybox","command":["/bin/busybox","sleep","1000"],)"
                  R"("resources":{"limits":{"example.com/dongle":)" +
                  std::to_string(devices) + "}}}]}}"});
  }
  void AskToDelete(const std::string& name) {
    asked_to_end_.insert(name);
    Send({.method = "DELETE", .path = "/api/v1/pods/default/" + name, .query = {{"grace", "0"}}});
  }
  void Send(const admin::HttpRequest& request) {
    fetches_.push_back(admin::HttpFetch::Start(
        *loop, base::JoinPath(Directory(), "tenon-kubelet.sock"), request, {.deadline = kPatience},
        [](const Result<admin::HttpResponse>&) {}));
  }

  /// Submits and deletes some pods at once, and kills the kubelet at some point of that.
  void ActAndKill() {
    base::Duration delay = std::chrono::microseconds(Below(60'000));
    if (Below(2) == 0) {
      ArmWrites(Below(25));
      delay = std::chrono::milliseconds(500);  // In case there are fewer steps.
    }
    for (const auto& [name, ids] : running_)
      if (Below(3) == 0) AskToDelete(name);
    for (int pods = 1 + Below(2); pods > 0; --pods)
      Submit("pod-" + std::to_string(next_pod_++), 1 + Below(2));
    const loop::TimerHandle kill =
        loop->timers().After(delay, [this] { kubelet->Signal(SIGKILL); });
    EXPECT_EQ(kubelet->WaitForExit().signal, SIGKILL) << kubelet->output();
    if (kill.pending()) ++killed_at_a_step_;
    fetches_.clear();
  }
  void StartAndKill() {
    ArmWrites(Below(12));
    LaunchKubelet();
    Await([this] { return !kubelet->running() || AllocatableIsThere(); });
    kubelet->Signal(SIGKILL);
    EXPECT_EQ(kubelet->WaitForExit().signal, SIGKILL) << kubelet->output();
  }
  bool AllocatableIsThere() {
    return TextAt(GetJson("/api/v1/node"), {"status", "allocatable", kDongle}) ==
           std::to_string(kDevices);
  }

  /// Pods that were killed before they ran may have failed; those that ran may not.
  void DeleteFailed(const std::map<std::string, SeenPod>& pods) {
    for (const auto& [name, pod] : pods) {
      if (pod.phase != "Failed") continue;
      EXPECT_FALSE(running_.contains(name))
          << name << " ran and failed: " << ToJson(*Pod(name).Find("status"));
      EXPECT_THAT(Delete(name), AnyOf(200, 404));
    }
  }
  /// Starts the kubelet and looks at what there is, once all pods run or are deleted.
  void StartAndCheck() {
    DisarmWrites();
    StartKubelet();
    ASSERT_TRUE(AwaitAllocatable(kDongle, std::to_string(kDevices))) << kubelet->output();
    for (const auto& [name, pod] : SeePods())
      if (asked_to_end_.contains(name)) {
        EXPECT_THAT(Delete(name), AnyOf(200, 404));
      }
    for (const std::string& name : std::exchange(asked_to_end_, {}))
      running_.erase(name);
    std::map<std::string, SeenPod> pods;
    ASSERT_TRUE(Await([&] {
      pods = SeePods();
      DeleteFailed(pods);
      return std::ranges::all_of(pods, [](const auto& p) { return p.second.phase == "Running"; });
    })) << kubelet->output();

    for (const auto& [name, ids] : running_)
      EXPECT_EQ(pods[name].ids, ids) << name << " has lost what it had";
    kept_ += running_.size();
    running_.clear();
    std::map<std::string, Ids> held;
    int free = kDevices;
    for (const auto& [name, pod] : pods) {
      running_[name] = held[pod.uid] = pod.ids;
      free -= static_cast<int>(pod.ids.size());
    }
    EXPECT_TRUE(free == 0 || CouldHave(free)) << "a device is lost";
    EXPECT_FALSE(CouldHave(free + 1)) << "a device is held twice";
    Await([&] { return OnDisk() == held; });
    EXPECT_EQ(OnDisk(), held) << "the checkpoint is of other pods\n" << kubelet->output();
  }

  int rounds_ = 0;
  uint64_t seed_ = 0;
  std::mt19937_64 random_;
  std::map<std::string, Ids> running_;  ///< By name; as it was when it was last looked at.
  std::set<std::string> asked_to_end_;
  int next_pod_ = 0;
  int killed_at_a_step_ = 0;
  size_t kept_ = 0;
  std::vector<std::unique_ptr<admin::HttpFetch>> fetches_;
};

TEST_F(KillTest, KilledAnywhereNoDeviceIsHeldTwiceNoneIsLostAndRunningPodsKeepTheirs) {
  ASSERT_TRUE(AwaitAllocatable(kDongle, std::to_string(kDevices))) << tenond->output();
  for (int round = 0; round < rounds_ && !HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round) + " of seed " + std::to_string(seed_));
    ActAndKill();
    if (Below(4) == 0) StartAndKill();
    StartAndCheck();
  }
  std::printf("killed while writing: %d times; pods that went on with their devices: %zu\n",
              killed_at_a_step_, kept_);
}

}  // namespace
}  // namespace tenon
