#pragma once

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/unique_fd.h"
#include "host/temp_tree.h"
#include "runtime/container_runtime.h"
#include "tenon/kubelet/pod_environment.h"

namespace tenon::kubelet {

/// A runtime whose containers are children of the test that end when the test says so. It records
/// what it is asked.
class FakeRuntime final : public runtime::ContainerRuntime {
 public:
  explicit FakeRuntime(loop::EventLoop& loop) : loop_(loop) {}
  ~FakeRuntime() override {
    for (auto& [id, container] : containers_)
      Kill(container);
  }

  std::vector<std::string> asked;
  std::vector<std::string> removed_pods;
  std::string create_error;
  Code create_code = Code::kInternal;
  std::string start_error;
  std::optional<int> end_at_start;  ///< The program ends at once, before Start is answered.
  bool ignore_sigterm = false;
  bool hold_starts = false;   ///< Start does nothing and is never answered.
  bool hold_deletes = false;  ///< Delete waits for ReleaseDeletes().

  bool Knows(const std::string& id) const { return containers_.contains(id); }
  bool Runs(const std::string& id) const { return Knows(id) && containers_.at(id).started; }
  std::set<std::string> known() const {
    std::set<std::string> out;
    for (const auto& [id, container] : containers_)
      out.insert(id);
    return out;
  }
  /// The program ends by itself.
  void End(const std::string& id, int code) {
    Container& container = containers_.at(id);
    container.stopped = true;
    const auto byte = static_cast<char>(code);
    EXPECT_EQ(::write(container.stop.get(), &byte, 1), 1);
  }
  void ReleaseDeletes() {
    hold_deletes = false;
    for (const auto& release : std::exchange(held_deletes_, {}))
      release();
  }

  Call Create(const runtime::NewContainer& container, CreateDone done) override {
    asked.push_back("create " + container.id);
    if (!create_error.empty()) {
      return Later([this, done] { done(Error(create_code, create_error)); });
    }
    return Later([this, id = container.id, done] {
      auto process = Spawn(id);
      if (!process) return done(std::move(process).error());
      done(runtime::ContainerIdentity{.name = "fake://" + id, .process = *process});
    });
  }
  Call Start(const runtime::ContainerIdentity& container, Done done) override {
    const std::string id = runtime::RuntimeId(container);
    asked.push_back("start " + id);
    if (hold_starts) return Later([] {});
    if (!start_error.empty()) return Later([this, done] { done(Wrong(start_error)); });
    if (end_at_start) {
      End(id, *end_at_start);
      siginfo_t info;  // Waits for its end without reaping it.
      ::waitid(P_PID, static_cast<id_t>(containers_.at(id).pid), &info, WEXITED | WNOWAIT);
    }
    return Later([this, id, done] {
      containers_.at(id).started = true;
      done({});
    });
  }
  Call Delete(const std::string& id, Done done) override {
    asked.push_back("delete " + id);
    if (!hold_deletes)
      return Later([this, id, done] {
        Remove(id);
        done({});
      });
    // As a command of runc it goes on when the kubelet that began it is gone.
    auto call = std::make_unique<HeldCall>();
    held_deletes_.push_back([this, id, done, waits = std::weak_ptr<bool>(call->waits)] {
      Remove(id);
      if (!waits.expired()) done({});
    });
    return call;
  }
  Call RemovePod(const std::string& uid, Done done) override {
    removed_pods.push_back(uid);
    return Later([done] { done({}); });
  }
  Result<std::unique_ptr<runtime::ContainerWatch>> Watch(
      const runtime::ContainerIdentity& container, ExitFn exited) override {
    // As runc: of one that has ended nothing more can be learnt.
    for (const auto& [id, known] : containers_)
      if (known.pid == container.process.pid && known.stopped)
        return Error(Code::kNotFound, "it has ended");
    TENON_TRY(auto watch, runtime::ProcessWatch::Open(
                              loop_, container.process, [exited](const runtime::ProcessExit& exit) {
                                exited({.exit_code = exit.exit_code, .signal = exit.signal});
                              }));
    return std::unique_ptr<runtime::ContainerWatch>(std::make_unique<FakeWatch>(std::move(watch)));
  }
  Call Query(const runtime::ContainerIdentity& container, QueryDone done) override {
    const std::string id = runtime::RuntimeId(container);
    asked.push_back("query " + id);
    return Later([this, id, done] { done(Presence(id)); });
  }

 private:
  struct Container {
    pid_t pid = 0;
    base::UniqueFd stop;
    bool started = false;
    bool stopped = false;
  };
  class FakeWatch final : public runtime::ContainerWatch {
   public:
    explicit FakeWatch(std::unique_ptr<runtime::ProcessWatch> watch) : watch_(std::move(watch)) {}
    void Terminate() override { watch_->Kill(SIGTERM); }
    void Kill() override { watch_->Kill(SIGKILL); }

   private:
    const std::unique_ptr<runtime::ProcessWatch> watch_;
  };
  class LaterCall final : public runtime::RuntimeCall {
   public:
    LaterCall(loop::EventLoop& loop, std::function<void()> act)
        : timer_(loop.timers().After(base::Duration::zero(), std::move(act))) {}

   private:
    loop::TimerHandle timer_;
  };

  struct HeldCall final : runtime::RuntimeCall {
    const std::shared_ptr<bool> waits = std::make_shared<bool>(true);
  };

  Call Later(std::function<void()> act) {
    return std::make_unique<LaterCall>(loop_, std::move(act));
  }
  void Remove(const std::string& id) {
    const auto found = containers_.find(id);
    if (found == containers_.end()) return;
    Kill(found->second);
    containers_.erase(found);
  }
  static Error Wrong(const std::string& text) { return {Code::kInternal, text}; }
  static void Kill(const Container& container) {
    ::kill(container.pid, SIGKILL);
    ::waitpid(container.pid, nullptr, 0);  // Or a ProcessWatch has reaped it.
  }

  runtime::ContainerPresence Presence(const std::string& id) const {
    if (!Knows(id)) return runtime::ContainerPresence::kAbsent;
    const Container& container = containers_.at(id);
    if (container.stopped) return runtime::ContainerPresence::kStopped;
    return container.started ? runtime::ContainerPresence::kRunning
                             : runtime::ContainerPresence::kCreated;
  }

  Result<runtime::ProcessIdentity> Spawn(const std::string& id) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (ignore_sigterm) ::signal(SIGTERM, SIG_IGN);
      char code = 0;
      while (::read(ends[0], &code, 1) != 1)
        continue;
      ::_exit(code);
    }
    ::close(ends[0]);
    containers_.emplace(id, Container{pid, base::UniqueFd(ends[1])});
    return runtime::IdentifyProcess(pid);
  }

  loop::EventLoop& loop_;
  std::map<std::string, Container> containers_;
  std::vector<std::function<void()>> held_deletes_;
};

/// A device manager that gives each container "dev-NAME", or refuses. It records what it is asked.
class FakeDevices final : public DeviceAdmission {
 public:
  explicit FakeDevices(loop::EventLoop& loop) : loop_(loop) {}

  std::vector<std::string> asked;
  manager::AdmitResult refusal;  ///< Every pod's, once it has a reason.
  std::string prepare_error;
  std::vector<manager::ResourceCapacity> capacity;
  bool healthy = true;
  std::string lost;  ///< The resource whose plugin is gone.

  void Admit(const pod::Pod& pod, const std::vector<std::string>& running,
             AdmitDone done) override {
    std::string line = "admit " + pod.uid;
    for (const std::string& name : running)
      line += " running " + name;
    asked.push_back(line);
    Later([this, done] {
      done(refusal.reason.empty() ? manager::AdmitResult{.admitted = true} : refusal);
    });
  }
  void Remove(const std::string& uid) override { asked.push_back("remove " + uid); }
  void Retain(const std::set<std::string>& uids) override {
    std::string line = "retain";
    for (const std::string& uid : uids)
      line += " " + uid;
    asked.push_back(line);
  }
  void PrepareStart(const std::string& uid, const std::string& container, StartDone done) override {
    asked.push_back("prepare " + uid + " " + container);
    Later([this, done] {
      if (prepare_error.empty()) return done(ContainerAllocation{});
      done(Error(Code::kNotFound, prepare_error));
    });
  }
  std::vector<ContainerResources> Held(const pod::Pod& pod) const override {
    std::vector<ContainerResources> out;
    for (const pod::Container& container : pod.containers) {
      out.push_back({container.name, {{"example.com/x", {"dev-" + container.name}, {}}}});
    }
    return out;
  }
  std::map<std::string, std::map<std::string, bool>> Health(
      const std::string&, const std::string& container) const override {
    return {{"example.com/x", {{"dev-" + container, healthy}}}};
  }
  std::vector<manager::ResourceCapacity> Capacity() const override { return capacity; }
  bool IsConnected(const std::string& resource) const override { return resource != lost; }

 private:
  /// Unlike a call to the runtime it cannot be cancelled: answers come even if nobody waits.
  void Later(std::function<void()> act) { loop_.handle().Post(std::move(act)); }

  loop::EventLoop& loop_;
};

/// What pods live in, with fakes for the runtime and the device manager, and a real disk.
struct FakePodWorld : ::testing::Test {
  base::SystemClock clock;
  base::RecordingLog log;
  std::unique_ptr<loop::EventLoop> loop = *loop::EventLoop::Create(clock);
  host::TempTree tree;
  std::unique_ptr<loop::Worker> worker = std::make_unique<loop::Worker>(loop->handle());
  std::unique_ptr<PodStore> store = std::make_unique<PodStore>(*worker, tree.Real("/pods"));
  FakeRuntime runtime{*loop};
  FakeDevices devices{*loop};

  FakePodWorld() { tree.Directory("/pods"); }

  std::string pods_directory() const { return tree.Real("/pods"); }
  PodEnvironment Environment(bool with_runtime = true) {
    return {.loop = *loop,
            .clock = clock,
            .log = log,
            .devices = devices,
            .store = *store,
            .runtime = with_runtime ? &runtime : nullptr};
  }
  bool Await(const std::function<bool()>& done) {
    return loop->RunUntil(done, std::chrono::seconds(20));
  }
  void Turn() {
    bool again = false;
    loop->RunUntil([&again] { return std::exchange(again, true); }, std::chrono::milliseconds(1));
  }
  /// Until the worker has done all that it was given, and the loop what came of it.
  void Settle() {
    for (int i = 0; i < 3; ++i) {
      bool done = false;
      worker->Submit([&done]() -> std::function<void()> { return [&done] { done = true; }; });
      EXPECT_TRUE(Await([&done] { return done; }));
    }
  }
};

}  // namespace tenon::kubelet
