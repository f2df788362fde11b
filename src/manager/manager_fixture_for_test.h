#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "manager/fakes_for_test.h"
#include "manager/manager.h"

namespace tenon::manager {

inline constexpr char kRes1[] = "domain1.com/resource1";
inline constexpr char kRes2[] = "domain2.com/resource2";

inline Result<ContainerAllocation> DecodeFake(std::string_view bytes) {
  if (!bytes.starts_with("encoded:")) return Error(Code::kInvalidArgument, "not encoded");
  return ContainerAllocation{.env = {{"DEVICES", std::string(bytes.substr(8))}}};
}

inline PodRequest Pod(const std::string& uid, std::vector<ContainerRequest> containers) {
  return {.uid = uid,
          .name = "name-" + uid,
          .namespace_name = "default",
          .containers = std::move(containers)};
}

inline PodRequest Pod(const std::string& uid, std::map<std::string, int64_t> limits) {
  return Pod(uid, {{"con", ContainerKind::kApp, std::move(limits)}});
}

/// A manager with two scripted plugins and all else that it needs.
class ManagerTest : public testing::Test {
 protected:
  ManagerTest() { Restart(); }

  /// A manager anew over the same file: what a restart finds.
  void Restart() {
    manager_.reset();
    Settle(timers_);
    manager_ = std::make_unique<Manager>(timers_, log_, dialer_, file_, DecodeFake, options_);
    restored_ = manager_->Restore();
  }
  std::string Register(const std::string& resource, FakePlugin& plugin,
                       const std::string& socket = "x.sock") {
    dialer_.sockets[socket] = &plugin;
    std::string answer;
    auto registration = manager_->Register(
        {"v1beta1", socket, resource, {}},
        [&](const Result<void>& result) { answer = result ? "ok" : result.error().message(); });
    if (!registration) return registration.error().message();
    Settle(timers_);
    return answer;
  }
  void Serve(const std::string& resource, FakePlugin& plugin,
             const std::vector<std::string>& healthy) {
    ASSERT_EQ(Register(resource, plugin), "ok");
    plugin.SendList(HealthyDevices(healthy));
    Settle(timers_);
  }
  /// "admitted", or "reason: message".
  std::string Admit(PodRequest pod) {
    std::string uid = pod.uid;
    BeginAdmit(std::move(pod));
    Settle(timers_);
    auto at = answers_.find(uid);
    return at == answers_.end() ? "no answer" : at->second;
  }
  void BeginAdmit(PodRequest pod) {
    std::string uid = pod.uid;
    answers_.erase(uid);
    manager_->AdmitPod(std::move(pod), [this, uid](const AdmitResult& result) {
      answers_[uid] = result.admitted ? "admitted" : result.reason + ": " + result.message;
    });
  }
  static std::string Refused(const std::string& why) {
    return "UnexpectedAdmissionError: Allocate failed due to " + why + ", which is unexpected";
  }
  /// The DEVICES variable that the container gets, or the error.
  std::string Start(const std::string& uid, const std::string& container = "con") {
    auto devices = std::make_shared<std::string>("no answer");
    manager_->PrepareStart(uid, container, [devices](const Result<ContainerAllocation>& options) {
      if (!options) {
        *devices = options.error().message();
      } else if (options->env.contains("DEVICES")) {
        *devices = options->env.at("DEVICES");
      } else {
        *devices = "none";
      }
    });
    Settle(timers_);
    return *devices;
  }
  std::vector<std::string> Held(const std::string& uid, const std::string& container) {
    std::vector<std::string> ids;
    for (const PodResources& pod : manager_->ListPodResources())
      for (const ContainerResources& c : pod.containers)
        if (pod.name == "name-" + uid && c.name == container)
          for (const ContainerDevices& devices : c.devices)
            ids.push_back(devices.device_ids.at(0));
    return ids;
  }

  loop::TimerQueue timers_{base::MonotonicTime(std::chrono::hours(1))};
  ManagerOptions options_;
  base::RecordingLog log_;
  FakeDialer dialer_{timers_};
  FakeCheckpointFile file_{timers_};
  FakePlugin plugin1_;
  FakePlugin plugin2_;
  std::map<std::string, std::string> answers_;
  Result<void> restored_;
  std::unique_ptr<Manager> manager_;
};

}  // namespace tenon::manager
