#pragma once

#include <sys/types.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/device.h"
#include "discovery/source.h"
#include "plugin_service/pod_resources_client.h"
#include "plugin_service/service_context.h"
#include "program/runner.h"
#include "tenond/health_rounds.h"
#include "tenond/open_check.h"

namespace tenon::tenond {

struct HealthRule {
  program::Program program;
  base::Duration period = std::chrono::seconds(60);
  bool operator==(const HealthRule&) const = default;
};

/// What is run for each device of a resource, and when.
struct UpkeepRules {
  std::optional<program::Program> on_allocate;
  std::optional<program::Program> on_release;
  std::optional<program::Program> pre_start;
  std::optional<HealthRule> health;
  std::optional<OpenCheckRule> open_check;
  bool operator==(const UpkeepRules&) const = default;
};

/// The programs around the devices of one resource: they initialise a device when a container gets
/// it, clean it when the container has ended, and say whether it is healthy.
///
/// The kubelet says nothing when it takes a device back. So whether one is still held is asked of
/// PodResources when it is allocated, and a device that is not known to be clean is cleaned then,
/// before anybody gets it: also one of which nothing is known, as after a start. One whose end was
/// seen is unhealthy until its cleaning has ended. docs/bookkeeping.md. Thread: loop only.
class Upkeep final {
 public:
  using DoneFn = std::function<void(Result<void>)>;
  struct Ports {
    host::Host& host;
    program::Runner& runner;
    std::string resource;
    std::string pod_resources;  ///< The kubelet's socket.
    /// What a device is made of; null for one that is not there.
    std::function<const discovery::FoundDevice*(const std::string& id)> find;
    /// Apply() would give something else now. Must not destroy this.
    std::function<void()> changed;
    /// What has happened to a device, for the log and the events.
    std::function<void(const std::string& id, const std::string& text)> tell;
  };

  Upkeep(const plugin_service::ServiceContext& context, Ports ports, UpkeepRules rules);
  Upkeep(const Upkeep&) = delete;
  Upkeep& operator=(const Upkeep&) = delete;

  const UpkeepRules& rules() const { return rules_; }
  /// The devices as they are offered: those that are being cleaned or failed a check are unhealthy.
  DeviceSetPtr Apply(const DeviceSetPtr& devices);
  /// What containers hold now, by the books.
  void OnHoldings(const std::set<std::string>& held);
  /// A container is being given the device.
  void OnAllocated(const std::string& id);
  /// Whether the end of an allocation has to be noticed.
  bool WaitsForRelease() const;

  /// The three moments of plugin::PluginHooks. Errors name the device and the program. `done`
  /// never runs after this was destroyed, which kills what is running.
  void BeforeAllocate(const std::vector<std::string>& ids, const DoneFn& done);
  void OnAllocate(const std::vector<std::string>& ids, const DoneFn& done);
  void PreStart(const std::vector<std::string>& ids, const DoneFn& done);

 private:
  enum class State {
    kUnknown,  ///< Maybe somebody's traces are on it.
    kClean,    ///< Cleaned, and not given away since.
    kHeld,     ///< A container has it.
    kCleaning,
    kFailed,  ///< The container is gone, and it could not be cleaned.
  };
  /// One program for one device; they run one after the other.
  struct Job {
    std::string event;
    program::Program program;
    DoneFn done;
  };
  struct Entry {
    State state = State::kUnknown;
    std::string reason;    ///< Of kFailed.
    base::WallTime since;  ///< Of kCleaning and kFailed.
    bool fresh = false;    ///< Not held when the Allocate in progress came in.
    std::unique_ptr<process::Child> running;
    std::deque<Job> jobs;  ///< The first one is running.
    loop::TimerHandle retry;
  };

  /// Runs `program` for each of these devices; `done` has the first error.
  void RunForEach(const std::vector<std::string>& ids, const std::string& event,
                  const program::Program& program, const DoneFn& done);
  void Enqueue(const std::string& id, Job job);
  void StartNext(const std::string& id);
  void OnJobDone(const std::string& id, Result<void> outcome);
  void Clean(const std::string& id, DoneFn done);
  /// Cleans a device whose container has ended; tries again until it works.
  void CleanReleased(const std::string& id);
  void Prepare(const std::vector<std::string>& ids, const std::set<std::string>& held,
               const DoneFn& done);
  std::set<std::string> HeldIds(const std::vector<PodResources>& pods) const;
  void SetState(const std::string& id, State state, std::string reason = {});
  void OnHealth(const std::string& id, const std::string& text);
  std::unique_ptr<HealthRounds> MakeHealth();
  std::unique_ptr<HealthRounds> MakeOpenCheck();
  /// Calls `go` when it is known which devices are held.
  void AskWhatIsHeld(std::function<void()> go);
  Result<std::unique_ptr<process::Child>> StartOpenCheck(const std::string& id,
                                                         HealthRounds::DoneFn done);
  bool MayOpen(const std::string& id);
  const HealthRounds::Sick* FindSick(const std::string& id) const;

  const plugin_service::ServiceContext context_;
  const Ports ports_;
  const UpkeepRules rules_;
  std::map<std::string, Entry> entries_;
  std::map<uint64_t, std::unique_ptr<plugin_service::PodResourcesCall>> questions_;
  uint64_t next_question_ = 1;
  uint64_t changes_ = 0;
  std::unique_ptr<plugin_service::PodResourcesCall> held_question_;
  std::set<std::string> held_;  ///< As the open check was told before its round.
  std::map<std::string, base::MonotonicTime> allocated_;  ///< The last time; for the open check.
  std::map<std::string, pid_t> stuck_;        ///< Open checks that were killed; they may live on.
  std::unique_ptr<HealthRounds> health_;      ///< Null without a rule.
  std::unique_ptr<HealthRounds> open_check_;  ///< Null without a rule.
};

/// The variables that a program gets about a device.
std::map<std::string, std::string> DeviceVariables(const std::string& event,
                                                   const std::string& resource,
                                                   const std::string& id,
                                                   const discovery::FoundDevice* found);

}  // namespace tenon::tenond
