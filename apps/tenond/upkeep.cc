#include "tenond/upkeep.h"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/strings.h"
#include "plugin/allocate_plan.h"

namespace tenon::tenond {
namespace {

constexpr base::Duration kAskDeadline = std::chrono::seconds(2);
constexpr base::Duration kRetryCleaning = std::chrono::seconds(30);

constexpr base::Duration kOpenDeadline = std::chrono::seconds(5);
/// Within this the kubelet has put a device that was allocated on its list.
constexpr base::Duration kListedAfter = std::chrono::minutes(2);

/// Whether a child of ours with this number is there that has not ended: one that not even
/// SIGKILL ends, as it waits in a driver.
bool IsOurChild(pid_t pid) {
  siginfo_t none{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &none, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         none.si_pid == 0;
}

Result<std::string> OpenOutcome(const process::ChildExit& exit) {
  if (exit.ok()) return std::string();
  if (exit.timed_out)
    return Error(Code::kDeadlineExceeded, "open check: its driver does not answer within 5 s");
  const std::string line = base::EscapeForLine(exit.errors.substr(0, exit.errors.find('\n')));
  return Error(Code::kFailedPrecondition, "open check: " + (line.empty() ? exit.Describe() : line));
}

/// Gathers so many outcomes for one answer, in which the first error counts.
Upkeep::DoneFn Gather(size_t count, const Upkeep::DoneFn& done) {
  struct Gathered {
    size_t left;
    Result<void> outcome;
    Upkeep::DoneFn done;
  };
  return [gathered = std::make_shared<Gathered>(Gathered{count, {}, done})](Result<void> one) {
    if (!one && gathered->outcome) gathered->outcome = std::move(one);
    if (--gathered->left == 0) gathered->done(std::move(gathered->outcome));
  };
}

}  // namespace

std::map<std::string, std::string> DeviceVariables(const std::string& event,
                                                   const std::string& resource,
                                                   const std::string& id,
                                                   const discovery::FoundDevice* found) {
  std::string paths;
  if (found != nullptr)
    for (const discovery::FoundPath& path : found->paths)
      plugin::AppendToPathList(paths, path.real_path);
  return {{"TENON_EVENT", event},
          {"TENON_RESOURCE", resource},
          {"TENON_DEVICE_ID", id},
          {"TENON_DEVICE_PATHS", paths}};
}

Upkeep::Upkeep(const plugin_service::ServiceContext& context, Ports ports, UpkeepRules rules)
    : context_(context), ports_(std::move(ports)), rules_(std::move(rules)) {
  if (rules_.health) health_ = MakeHealth();
  if (rules_.open_check) open_check_ = MakeOpenCheck();
}

std::unique_ptr<HealthRounds> Upkeep::MakeHealth() {
  return std::make_unique<HealthRounds>(
      HealthRounds::Ports{
          context_.loop, context_.clock, nullptr,
          [this](const std::string& id, HealthRounds::DoneFn done) {
            return ports_.runner.Start(
                rules_.health->program,
                DeviceVariables("health", ports_.resource, id, ports_.find(id)), std::move(done));
          },
          [this](const std::string& id, const std::string& text) { OnHealth(id, text); }},
      rules_.health->period);
}

std::unique_ptr<HealthRounds> Upkeep::MakeOpenCheck() {
  return std::make_unique<HealthRounds>(
      HealthRounds::Ports{
          context_.loop, context_.clock,
          [this](std::function<void()> go) { AskWhatIsHeld(std::move(go)); },
          [this](const std::string& id, HealthRounds::DoneFn done) {
            return StartOpenCheck(id, std::move(done));
          },
          [this](const std::string& id, const std::string& text) { OnHealth(id, text); }},
      rules_.open_check->period);
}

void Upkeep::AskWhatIsHeld(std::function<void()> go) {
  if (rules_.open_check->shared) return go();
  held_question_ = plugin_service::ListPodResources(
      context_.loop, ports_.pod_resources, kAskDeadline,
      [this, go = std::move(go)](const Result<std::vector<PodResources>>& pods) {
        // The call owns this function.
        const auto keep = std::move(held_question_);
        if (!pods) return;
        held_ = HeldIds(*pods);
        go();
      });
}

bool Upkeep::MayOpen(const std::string& id) {
  if (rules_.open_check->shared) return true;
  if (held_.contains(id)) return false;
  auto entry = entries_.find(id);
  if (entry != entries_.end() && !entry->second.jobs.empty()) return false;
  // The kubelet lists a device only some time after it was given away.
  auto allocated = allocated_.find(id);
  return allocated == allocated_.end() || context_.clock.Now() - allocated->second > kListedAfter;
}

Result<std::unique_ptr<process::Child>> Upkeep::StartOpenCheck(const std::string& id,
                                                               HealthRounds::DoneFn done) {
  std::unique_ptr<process::Child> none;
  const discovery::FoundDevice* found = ports_.find(id);
  if (found == nullptr || !MayOpen(id)) return none;
  if (auto stuck = stuck_.find(id); stuck != stuck_.end()) {
    if (IsOurChild(stuck->second)) return none;
    stuck_.erase(stuck);
  }
  std::vector<std::string> command = OpenCheckCommand(ports_.host, *found, *rules_.open_check);
  if (command.empty()) return none;
  const auto pid = std::make_shared<pid_t>(0);
  auto child = process::Child::Start(
      context_.loop,
      {.argv = std::move(command), .deadline = kOpenDeadline, .dies_with_parent = true},
      [this, id, pid, done = std::move(done)](const process::ChildExit& exit) {
        if (exit.timed_out) stuck_[id] = *pid;
        // The call may destroy this.
        const HealthRounds::DoneFn call = done;
        call(OpenOutcome(exit));
      });
  if (child) *pid = (*child)->pid();
  return child;
}

DeviceSetPtr Upkeep::Apply(const DeviceSetPtr& devices) {
  auto offered = std::make_shared<DeviceSet>(*devices);
  offered->revision += changes_;
  std::vector<std::string> healthy;
  for (Device& device : offered->devices) {
    if (!device.healthy()) continue;
    healthy.push_back(device.id.value);
    auto entry = entries_.find(device.id.value);
    const State state = entry == entries_.end() ? State::kUnknown : entry->second.state;
    if (state == State::kCleaning || state == State::kFailed) {
      device.health = Health::kUnhealthy;
      device.reason = state == State::kCleaning ? "being cleaned" : entry->second.reason;
      device.since = entry->second.since;
    } else if (const auto* sick = FindSick(device.id.value)) {
      device.health = Health::kUnhealthy;
      device.reason = sick->reason;
      device.since = sick->since;
    }
  }
  if (health_) health_->SetDevices(healthy);
  if (open_check_) open_check_->SetDevices(std::move(healthy));
  return offered;
}

const HealthRounds::Sick* Upkeep::FindSick(const std::string& id) const {
  const HealthRounds::Sick* sick = health_ ? health_->Find(id) : nullptr;
  return sick == nullptr && open_check_ ? open_check_->Find(id) : sick;
}

bool Upkeep::WaitsForRelease() const {
  return rules_.on_release && std::ranges::any_of(entries_, [](const auto& entry) {
           return entry.second.state == State::kHeld;
         });
}

void Upkeep::OnHoldings(const std::set<std::string>& held) {
  if (!rules_.on_release) return;
  for (const std::string& id : held)
    if (Entry& entry = entries_[id]; entry.state == State::kUnknown && entry.jobs.empty())
      entry.state = State::kHeld;
  std::vector<std::string> released;
  for (const auto& [id, entry] : entries_)
    if (entry.state == State::kHeld && entry.jobs.empty() && !held.contains(id))
      released.push_back(id);
  for (const std::string& id : released)
    CleanReleased(id);
}

void Upkeep::OnAllocated(const std::string& id) {
  if (rules_.on_release) SetState(id, State::kHeld);
  if (!open_check_ || rules_.open_check->shared) return;
  allocated_[id] = context_.clock.Now();
  open_check_->Stop(id);
}

void Upkeep::CleanReleased(const std::string& id) {
  SetState(id, State::kCleaning);
  Clean(id, [](const Result<void>&) {});
}

void Upkeep::Clean(const std::string& id, DoneFn done) {
  Enqueue(id, {"release", *rules_.on_release, [this, id, done = std::move(done)](Result<void> ok) {
                 if (ok) {
                   SetState(id, State::kClean);
                 } else {
                   SetState(id, State::kFailed, "not clean: " + ok.error().message());
                   entries_[id].retry = context_.loop.timers().After(
                       kRetryCleaning, [this, id] { CleanReleased(id); });
                 }
                 done(std::move(ok));
               }});
}

void Upkeep::BeforeAllocate(const std::vector<std::string>& ids, const DoneFn& done) {
  if (!rules_.on_allocate && !rules_.on_release) return done({});
  const uint64_t question = next_question_++;
  questions_[question] = plugin_service::ListPodResources(
      context_.loop, ports_.pod_resources, kAskDeadline,
      [this, question, ids, done](const Result<std::vector<PodResources>>& pods) {
        // The call owns this function.
        const auto keep = questions_.extract(question);
        if (!pods)
          return done(
              Error(Code::kUnavailable,
                    "whether the devices are still held is not known: " + pods.error().message()));
        Prepare(ids, HeldIds(*pods), done);
      });
}

std::set<std::string> Upkeep::HeldIds(const std::vector<PodResources>& pods) const {
  std::set<std::string> held;
  for (const PodResources& pod : pods)
    for (const ContainerResources& container : pod.containers)
      for (const ContainerDevices& devices : container.devices)
        if (devices.resource_name == ports_.resource)
          held.insert(devices.device_ids.begin(), devices.device_ids.end());
  return held;
}

void Upkeep::Prepare(const std::vector<std::string>& ids, const std::set<std::string>& held,
                     const DoneFn& done) {
  std::vector<std::string> dirty;
  for (const std::string& id : ids) {
    if (ports_.find(id) == nullptr) continue;  // Refused later, by name.
    Entry& entry = entries_[id];
    entry.fresh = !held.contains(id);
    if (entry.fresh && rules_.on_release && entry.state != State::kClean) dirty.push_back(id);
  }
  if (dirty.empty()) return done({});
  const DoneFn one_done = Gather(dirty.size(), done);
  for (const std::string& id : dirty)
    Clean(id, one_done);
}

void Upkeep::OnAllocate(const std::vector<std::string>& ids, const DoneFn& done) {
  std::vector<std::string> fresh;
  for (const std::string& id : ids)
    if (auto entry = entries_.find(id);
        entry != entries_.end() && std::exchange(entry->second.fresh, false))
      fresh.push_back(id);
  if (!rules_.on_allocate || fresh.empty()) return done({});
  for (const std::string& id : fresh)
    SetState(id, State::kUnknown);
  RunForEach(fresh, "allocate", *rules_.on_allocate, done);
}

void Upkeep::PreStart(const std::vector<std::string>& ids, const DoneFn& done) {
  if (!rules_.pre_start) return done({});
  RunForEach(ids, "prestart", *rules_.pre_start, done);
}

void Upkeep::RunForEach(const std::vector<std::string>& ids, const std::string& event,
                        const program::Program& program, const DoneFn& done) {
  if (ids.empty()) return done({});
  const DoneFn one_done = Gather(ids.size(), done);
  for (const std::string& id : ids)
    Enqueue(id, {event, program, one_done});
}

void Upkeep::Enqueue(const std::string& id, Job job) {
  Entry& entry = entries_[id];
  entry.retry.Cancel();
  entry.jobs.push_back(std::move(job));
  if (entry.jobs.size() == 1) StartNext(id);
}

void Upkeep::StartNext(const std::string& id) {
  Entry& entry = entries_[id];
  if (entry.jobs.empty() || entry.running) return;
  const Job& job = entry.jobs.front();
  // Somebody else's cleaning has just ended.
  if (job.event == "release" && entry.state == State::kClean) return OnJobDone(id, {});
  auto started = ports_.runner.Start(
      job.program, DeviceVariables(job.event, ports_.resource, id, ports_.find(id)),
      [this, id](Result<std::string> output) {
        entries_[id].running.reset();
        OnJobDone(id, output ? Result<void>() : std::move(output).error());
      });
  if (started)
    entry.running = *std::move(started);
  else
    OnJobDone(id, std::move(started).error());
}

void Upkeep::OnJobDone(const std::string& id, Result<void> outcome) {
  Entry& entry = entries_[id];
  const Job job = std::move(entry.jobs.front());
  entry.jobs.pop_front();
  if (!outcome)
    outcome =
        std::move(outcome).error().Wrap("device " + base::EscapeForLine(id) + ": " + job.event);
  ports_.tell(id, outcome ? job.event + ": done" : outcome.error().message());
  job.done(std::move(outcome));
  StartNext(id);
}

void Upkeep::SetState(const std::string& id, State state, std::string reason) {
  Entry& entry = entries_[id];
  const auto is_back = [](State s) { return s == State::kCleaning || s == State::kFailed; };
  const bool matters = is_back(entry.state) || is_back(state);
  if (is_back(state) && !is_back(entry.state)) entry.since = context_.clock.WallNow();
  entry.state = state;
  entry.reason = std::move(reason);
  if (!matters) return;
  ++changes_;
  ports_.changed();
}

void Upkeep::OnHealth(const std::string& id, const std::string& text) {
  ports_.tell(id, text);
  ++changes_;
  ports_.changed();
}

}  // namespace tenon::tenond
