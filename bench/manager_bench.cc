// The device manager of `tenon kubelet` on the workload that the kubelet's own was measured with:
// pods admitted one after the other, a plugin in a process of its own, the checkpoint on disk. The
// kubelet's figures stand beside ours; they are of another run on another machine, so only ratios
// say something. bench/README.md says how to run it.

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/strings.h"
#include "checkpoint/checkpoint.h"
#include "kubelet_service/kubelet_service.h"
#include "loop/event_loop.h"
#include "manager/topology.h"
#include "manager/topology_hints.h"
#include "rpc/channel.h"
#include "rpc/server.h"
#include "wire/messages.h"

namespace tenon {
namespace {

constexpr char kResource[] = "bench.example.com/gpu";
constexpr base::Duration kPatience = std::chrono::seconds(60);

double Millis(base::Duration d) {
  return std::chrono::duration<double, std::milli>(d).count();
}

/// The value below which `part` of the samples lie. Requires: samples.
base::Duration Percentile(std::vector<base::Duration> samples, double part) {
  std::ranges::sort(samples);
  auto at = static_cast<size_t>(part * static_cast<double>(samples.size()));
  return samples[std::min(at, samples.size() - 1)];
}

base::Duration CpuOfThisProcess() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& t) {
    return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec);
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

std::string DeviceId(int i) {
  return fmt::format("GPU-{:08x}-0000-4000-8000-{:012x}", i, i);
}

std::vector<Device> Devices(int count, bool healthy = true) {
  std::vector<Device> devices;
  for (int i = 0; i < count; ++i)
    devices.push_back({.id = {DeviceId(i)},
                       .health = healthy ? Health::kHealthy : Health::kUnhealthy,
                       .numa_nodes = {i < count / 2 ? 0 : 1}});
  return devices;
}

// ---- The plugin

/// Serves the resource in a process of its own until the parent ends.
class PluginProcess final {
 public:
  PluginProcess(const std::string& directory, int devices, bool preferred) {
    pid_ = ::fork();
    TENON_CHECK(pid_ >= 0);
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      Serve(directory, devices, preferred);
      ::_exit(0);
    }
  }
  PluginProcess(const PluginProcess&) = delete;
  PluginProcess& operator=(const PluginProcess&) = delete;
  ~PluginProcess() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

 private:
  static std::string Allocated(std::string_view bytes) {
    std::vector<ContainerAllocation> answers;
    const auto containers = *wire::DecodeAllocateRequest(bytes);
    for (const api::AllocateRequest& container : containers) {
      ContainerAllocation& answer = answers.emplace_back();
      answer.env["BENCH_DEVICES"] = base::Join(container.device_ids, ",");
      answer.device_nodes.push_back({"/dev/bench0", "/dev/null", "rw"});
    }
    return wire::EncodeAllocateResponse(answers);
  }
  static void Serve(const std::string& directory, int devices, bool preferred) {
    base::SystemClock clock;
    auto loop = *loop::EventLoop::Create(clock);
    base::RecordingLog log;
    auto server = *rpc::Server::Listen(*loop, log, base::JoinPath(directory, "plugin.sock"), {});
    server->AddUnary(
        std::string(wire::kGetDevicePluginOptions),
        [preferred](std::string_view, std::unique_ptr<rpc::UnaryCall> call) {
          call->Reply(wire::EncodePluginOptions({.preferred_allocation_available = preferred}));
        });
    server->AddUnary(std::string(wire::kAllocate),
                     [](std::string_view bytes, std::unique_ptr<rpc::UnaryCall> call) {
                       call->Reply(Allocated(bytes));
                     });
    server->AddUnary(std::string(wire::kGetPreferredAllocation),
                     [](std::string_view bytes, std::unique_ptr<rpc::UnaryCall> call) {
                       std::vector<std::vector<std::string>> answers;
                       auto containers = *wire::DecodePreferredRequest(bytes);
                       for (api::PreferredRequest& container : containers) {
                         container.available.resize(static_cast<size_t>(container.size));
                         answers.push_back(std::move(container.available));
                       }
                       call->Reply(wire::EncodePreferredResponse(answers));
                     });
    const auto list = std::make_shared<const std::string>(wire::EncodeDeviceList(Devices(devices)));
    std::vector<std::unique_ptr<rpc::ServerStream>> streams;
    server->AddStream(
        std::string(wire::kListAndWatch),
        [&streams, &list](std::string_view, std::unique_ptr<rpc::ServerStream> stream) {
          stream->Write(list, [] {});
          streams.push_back(std::move(stream));
        });
    auto kubelet = rpc::Channel::Connect(*loop, base::JoinPath(directory, "kubelet.sock"), {});
    auto registered = kubelet->Unary(
        wire::kRegister,
        wire::EncodeRegisterRequest({std::string(api::kVersion), "plugin.sock", kResource, {}}),
        kPatience, [](const rpc::Status& status, const std::string&) { TENON_CHECK(status.ok()); });
    loop->Run();
  }

  pid_t pid_;
};

// ---- Admission

struct Workload {
  int devices = 1000;
  int pods = 500;
  int per_pod = 1;
  int at_once = 1;
  bool affinity = false;
  bool preferred = false;
};

struct Figures {
  std::vector<base::Duration> times;
  double per_second = 0;
  double cpu_ms = 0;
  size_t file_bytes = 0;
};

manager::PodRequest PodOf(int i, int devices) {
  return {.uid = fmt::format("{:08x}-1111-4000-8000-{:012x}", i, i),
          .name = fmt::format("pod-{}", i),
          .namespace_name = "default",
          .containers = {{.name = "c0", .limits = {{kResource, devices}}}}};
}

kubelet_service::KubeletService::Options OptionsFor(const Workload& work) {
  kubelet_service::KubeletService::Options options;
  options.manager.numa.distances = {{0, {{0, 10}, {1, 20}}}, {1, {{0, 20}, {1, 10}}}};
  if (work.affinity) options.manager.topology.policy = manager::TopologyPolicy::kBestEffort;
  return options;
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream content;
  content << in.rdbuf();
  return std::move(content).str();
}

/// That each pod is in the file with its devices and no device twice.
void CheckFile(const std::string& content, const Workload& work) {
  auto file = checkpoint::Decode(content, "checkpoint");
  TENON_CHECK(file && file->entries);
  TENON_CHECK(file->entries->size() == static_cast<size_t>(work.pods));
  std::set<std::string> seen;
  for (const checkpoint::Entry& entry : *file->entries)
    for (const auto& [numa, ids] : *entry.device_ids)
      for (const std::string& id : *ids)
        TENON_CHECK(seen.insert(id).second);
  TENON_CHECK(seen.size() == static_cast<size_t>(work.pods * work.per_pod));
}

Figures Run(const std::string& root, const Workload& work) {
  std::filesystem::remove_all(root);
  base::SystemClock clock;
  auto loop = *loop::EventLoop::Create(clock);
  base::RecordingLog log;
  auto directory = kubelet_service::KubeletDirectory::Open(root, false);
  if (!directory) {
    fmt::print(stderr, "manager_bench: {}\n", directory.error().message());
    std::exit(1);
  }
  const std::string plugins = (*directory)->plugin_directory();
  auto service =
      *kubelet_service::KubeletService::Start(*loop, log, *std::move(directory), OptionsFor(work));
  PluginProcess plugin(plugins, work.devices, work.preferred);
  manager::Manager& manager = service->manager();
  TENON_CHECK(loop->RunUntil([&] { return !manager.Capacity().empty(); }, kPatience));

  Figures figures;
  int next = 0;
  int answered = 0;
  std::function<void()> admit = [&] {
    if (next == work.pods) return;
    manager.AdmitPod(PodOf(next++, work.per_pod),
                     [&, begun = clock.Now()](const manager::AdmitResult& result) {
                       TENON_CHECK(result.admitted);
                       figures.times.push_back(clock.Now() - begun);
                       ++answered;
                       admit();
                     });
  };
  const base::Duration cpu = CpuOfThisProcess();
  const auto begun = clock.Now();
  for (int i = 0; i < work.at_once; ++i)
    admit();
  TENON_CHECK(loop->RunUntil([&] { return answered == work.pods; }, kPatience * 10));
  const base::Duration took = clock.Now() - begun;
  figures.cpu_ms = Millis(CpuOfThisProcess() - cpu) / work.pods;
  figures.per_second = work.pods * 1000.0 / Millis(took);
  const std::string content = ReadFile(base::JoinPath(plugins, checkpoint::kFileName));
  figures.file_bytes = content.size();
  CheckFile(content, work);
  return figures;
}

/// What the kubelet's manager took: the medians of its runs, and its best run.
struct GoRow {
  std::string name;
  Workload work;
  double p50, p50_best, per_second, per_second_best, cpu, cpu_best;
};

std::vector<GoRow> GoRows() {
  return {
      {"100 × 100", {100, 100}, 2.75, 2.19, 287, 434, 2.12, 1.90},
      {"1000 × 100", {1000, 100}, 4.18, 2.43, 160, 363, 3.59, 2.57},
      {"1000 × 500", {1000, 500}, 8.71, 5.84, 91, 153, 8.22, 6.17},
      {"1000 × 1000", {1000, 1000}, 13.2, 9.3, 71, 89, 14.0, 10.0},
      {"10000 × 100", {10000, 100}, 20.6, 15.7, 44, 56, 17.8, 15.0},
      {"10000 × 500", {10000, 500}, 25.5, 18.3, 36, 45, 23.6, 17.1},
      {"10000 × 1000", {10000, 1000}, 36.0, 25.6, 26, 38, 30.5, 28.3},
      {"100 × 100 affinity", {100, 100, 1, 1, true}, 2.54, 1.81, 306, 521, 2.26, 1.48},
      {"1000 × 500 affinity", {1000, 500, 1, 1, true}, 8.7, 5.8, 98, 164, 8.5, 6.4},
      {"1000 × 1000 affinity", {1000, 1000, 1, 1, true}, 15.9, 11.0, 55, 85, 13.9, 10.9},
      {"10000 × 1000 affinity", {10000, 1000, 1, 1, true}, 43.6, 33.8, 21, 27, 39.1, 37.4},
      {"1000 × 250", {1000, 250}, 6.12, 3.98, 152, 224, 5.67, 4.68},
      {"1000 × 250, 4 each", {1000, 250, 4}, 7.33, 6.32, 128, 153, 7.70, 5.46},
      {"1000 × 500 preferred", {1000, 500, 1, 1, false, true}, 8.89, 7.46, 102, 125, 8.20, 6.94},
      {"1000 × 500 both", {1000, 500, 1, 1, true, true}, 11.2, 8.1, 81, 123, 9.9, 8.4},
      {"1000 × 500, 16 at once", {1000, 500, 1, 16}, 164, 119, 102, 140, 8.8, 7.8},
  };
}

/// `quick`: only those that take no time.
void Admissions(const std::string& root, bool quick) {
  fmt::print("\nAdmission; in brackets the kubelet's: median of its runs / best run\n");
  fmt::print(
      "| devices × pods | p50 ms | p99 ms | first → last 10 % ms | per second | CPU ms | file kB "
      "|\n"
      "|---|---|---|---|---|---|---|\n");
  for (const GoRow& row : GoRows()) {
    if (quick && row.work.devices > 100 && row.work.pods > 250) continue;
    Figures figures = Run(root, row.work);
    const auto tenth = static_cast<std::ptrdiff_t>(std::max<size_t>(figures.times.size() / 10, 1));
    const std::vector<base::Duration> first(figures.times.begin(), figures.times.begin() + tenth);
    const std::vector<base::Duration> last(figures.times.end() - tenth, figures.times.end());
    fmt::print(
        "| {} | {:.2f} ({} / {}) | {:.2f} | {:.2f} → {:.2f} | {:.0f} ({} / {}) | {:.3f} ({} / {}) "
        "| {} |\n",
        row.name, Millis(Percentile(figures.times, 0.5)), row.p50, row.p50_best,
        Millis(Percentile(figures.times, 0.99)), Millis(Percentile(first, 0.5)),
        Millis(Percentile(last, 0.5)), figures.per_second, row.per_second, row.per_second_best,
        figures.cpu_ms, row.cpu, row.cpu_best, figures.file_bytes / 1000);
    std::fflush(stdout);
  }
}

// ---- A full kube node

/// A plugin without a process or a socket: what it says reaches the manager at once.
class DirectPlugin final : public manager::PluginDialer {
 public:
  explicit DirectPlugin(loop::TimerQueue& timers) : timers_(timers) {}
  manager::PluginClient::ListFn on_list;

  std::unique_ptr<manager::PluginCall> Dial(const std::string&, base::Duration,
                                            Done done) override {
    return Later([this, done = std::move(done)] {
      done(std::unique_ptr<manager::PluginClient>(std::make_unique<Client>(*this)));
    });
  }

 private:
  struct Call final : manager::PluginCall {
    loop::TimerHandle timer;
  };
  class Client final : public manager::PluginClient {
   public:
    explicit Client(DirectPlugin& plugin) : plugin_(plugin) {}
    manager::PluginClient::Call GetOptions(base::Duration, OptionsDone done) override {
      return plugin_.Later([done = std::move(done)] { done(api::PluginOptions()); });
    }
    manager::PluginClient::Call ListAndWatch(ListFn on_list, EndFn) override {
      plugin_.on_list = std::move(on_list);
      return std::make_unique<DirectPlugin::Call>();
    }
    manager::PluginClient::Call Allocate(api::AllocateRequest request, base::Duration,
                                         AllocateDone done) override {
      ContainerAllocation answer{.env = {{"BENCH_DEVICES", base::Join(request.device_ids, ",")}},
                                 .device_nodes = {{"/dev/bench0", "/dev/null", "rw"}}};
      auto bytes = wire::SplitAllocateResponse(wire::EncodeAllocateResponse({answer}));
      return plugin_.Later([done = std::move(done), encoded = (*bytes)[0], answer] {
        done(std::optional(manager::AllocateAnswer{encoded, answer}));
      });
    }
    manager::PluginClient::Call GetPreferredAllocation(api::PreferredRequest, base::Duration,
                                                       PreferredDone) override {
      return nullptr;
    }
    manager::PluginClient::Call PreStartContainer(std::vector<std::string>, base::Duration,
                                                  PreStartDone) override {
      return nullptr;
    }

   private:
    DirectPlugin& plugin_;
  };

  std::unique_ptr<manager::PluginCall> Later(std::function<void()> run) {
    auto call = std::make_unique<Call>();
    call->timer = timers_.After({}, std::move(run));
    return call;
  }
  loop::TimerQueue& timers_;
};

/// A manager over a file in `directory`, with a DirectPlugin that has registered.
class DirectManager final {
 public:
  DirectManager(const std::string& directory, const base::Clock& clock)
      : clock_(clock),
        loop_(*loop::EventLoop::Create(clock)),
        worker_(loop_->handle()),
        file_(worker_, directory),
        plugin_(loop_->timers()),
        manager_(std::make_unique<manager::Manager>(loop_->timers(), log_, plugin_, file_,
                                                    wire::DecodeContainerAllocation,
                                                    manager::ManagerOptions{})) {}

  base::Duration Restore() {
    const auto begun = clock_.Now();
    TENON_CHECK(manager_->Restore());
    return clock_.Now() - begun;
  }
  void Register() {
    registration_ = *manager_->Register({std::string(api::kVersion), "x", kResource, {}},
                                        [](const Result<void>&) {});
    TENON_CHECK(loop_->RunUntil([this] { return plugin_.on_list != nullptr; }, kPatience));
  }
  /// From the list's arrival until Capacity() has it.
  base::Duration List(const std::vector<Device>& devices) {
    auto list = *wire::DecodeDeviceList(wire::EncodeDeviceList(devices));
    const auto begun = clock_.Now();
    plugin_.on_list(std::move(list));
    const auto capacity = manager_->Capacity();
    const base::Duration took = clock_.Now() - begun;
    TENON_CHECK(capacity.at(0).capacity == devices.size());
    loop_->RunUntil([] { return true; }, {});
    return took;
  }
  void Admit(int pods) {
    int answered = 0;
    for (int i = 0; i < pods; ++i)
      manager_->AdmitPod(PodOf(i, 1), [&answered](const manager::AdmitResult& result) {
        TENON_CHECK(result.admitted);
        ++answered;
      });
    TENON_CHECK(loop_->RunUntil([&] { return answered == pods; }, kPatience));
  }
  base::Duration TimeOf(const std::function<void(manager::Manager&)>& action) {
    const auto begun = clock_.Now();
    action(*manager_);
    return clock_.Now() - begun;
  }

 private:
  const base::Clock& clock_;
  std::unique_ptr<loop::EventLoop> loop_;
  base::RecordingLog log_;
  loop::Worker worker_;
  manager::DiskCheckpointFile file_;
  DirectPlugin plugin_;
  std::unique_ptr<manager::Manager> manager_;
  std::unique_ptr<manager::Registration> registration_;
};

void FullNode(const std::string& root, int devices, int pods, const std::vector<std::string>& go) {
  std::filesystem::remove_all(root);
  std::filesystem::create_directories(root);
  base::SystemClock clock;
  std::vector<double> ours;
  {
    DirectManager node(root, clock);
    TENON_CHECK(node.Restore() >= base::Duration());
    node.Register();
    node.List(Devices(devices));
    node.Admit(pods);
    std::vector<Device> changed = Devices(devices);
    changed[0].health = Health::kUnhealthy;
    ours.push_back(Millis(node.List(changed)));
    ours.push_back(Millis(node.List(Devices(devices, false))));
    node.List(Devices(devices));
    ours.push_back(Millis(node.TimeOf([](manager::Manager& m) { m.RemovePod(PodOf(0, 1).uid); })));
    ours.push_back(Millis(node.TimeOf([](manager::Manager& m) { m.ListPodResources(); })));
  }
  DirectManager node(root, clock);
  ours.push_back(Millis(node.Restore()));
  node.Register();
  ours.push_back(Millis(node.List(Devices(devices))));
  fmt::print("| {} × {} |", devices, pods);
  for (size_t i = 0; i < ours.size(); ++i)
    fmt::print(" {:.3f} ({}) |", ours[i], go[i]);
  fmt::print("\n");
  std::fflush(stdout);
}

void FullNodes(const std::string& root, bool quick) {
  fmt::print(
      "\nA kube node with its pods, ms; in brackets the kubelet's best run\n"
      "| devices × pods | one device changes → capacity | every device changes → capacity | "
      "one pod gone | PodResources List | restore | first list after it |\n"
      "|---|---|---|---|---|---|---|\n");
  FullNode(root, 100, 100, {"0.41", "1.3", "0.26", "0.09", "1.7", "3.2 to disk"});
  if (quick) return;
  FullNode(root, 1000, 500, {"1.6", "118", "8.3", "0.29", "17", "156 to disk"});
  FullNode(root, 1000, 1000, {"2.9", "138", "30", "0.7", "61", "175 to disk"});
  FullNode(root, 10000, 1000, {"9.6", "2780", "42", "1.5", "83", "2910 to disk"});
}

// ---- Topology

void Topology() {
  struct Row {
    int resources;
    int numa_nodes;
    int64_t quantity;
    const char* go_hints;
    const char* go_merge;
  };
  constexpr int kDevices = 16;
  fmt::print(
      "\nTopology, 16 devices of each resource; in brackets the kubelet's\n"
      "| resources × NUMA nodes | asked of each | hints each | hints, ms | merge, ms |\n"
      "|---|---|---|---|---|\n");
  for (const Row& row :
       {Row{4, 2, 1, "0.07", "0.03"}, Row{4, 4, 1, "0.25", "13"}, Row{2, 8, 1, "1.3", "16"},
        Row{3, 8, 1, "2.7", "8460"}, Row{4, 8, 14, "4.3", "1.5"}, Row{4, 8, 12, "4.1", "685"},
        Row{4, 8, 10, "2.5", "27700"}, Row{4, 8, 8, "5.9", "252000"},
        Row{4, 8, 1, "-", "1500000"}}) {
    manager::DeviceTable table;
    std::vector<api::ListedDevice> list;
    for (int i = 0; i < kDevices; ++i)
      list.push_back({.id = fmt::format("d{}", i),
                      .health = std::string(api::kHealthy),
                      .numa_nodes = {i * row.numa_nodes / kDevices}});
    table.SetList(kResource, list);
    manager::NumaMachine machine;
    for (int from = 0; from < row.numa_nodes; ++from)
      for (int to = 0; to < row.numa_nodes; ++to)
        machine.distances[from][to] = from == to ? 10 : 20;
    manager::PodDevices pods;
    base::SystemClock clock;
    const auto begun = clock.Now();
    const manager::DeviceRow* devices = table.Find(kResource);
    std::vector<manager::TopologyHints> hints;
    for (int i = 0; i < row.resources; ++i)
      hints.push_back(manager::DeviceHints({.quantity = row.quantity}, devices,
                                           pods.Free(kResource, devices), machine));
    const auto merging = clock.Now();
    const manager::TopologyDecision decision =
        manager::MergeHints(hints, {.policy = manager::TopologyPolicy::kBestEffort}, machine);
    const auto ended = clock.Now();
    TENON_CHECK(decision.admit);
    fmt::print("| {} × {} | {} | {} | {:.3f} ({}) | {:.3f} ({}) |\n", row.resources, row.numa_nodes,
               row.quantity, hints[0]->size(), Millis(merging - begun), row.go_hints,
               Millis(ended - merging), row.go_merge);
  }
}

std::string FileSystemOf(const std::string& path) {
  struct statfs fs {};
  if (::statfs(path.c_str(), &fs) != 0) return "unknown";
  switch (fs.f_type) {
    case 0xEF53:
      return "ext4";
    case 0x01021994:
      return "tmpfs";
    case 0x794c7630:
      return "overlayfs";
    case 0x58465342:
      return "xfs";
    default:
      return fmt::format("type {:#x}", fs.f_type);
  }
}

}  // namespace
}  // namespace tenon

int main(int argc, char** argv) {
  const bool quick = argc > 1 && std::string_view(argv[1]) == "--quick";
  if (argc != (quick ? 3 : 2) || std::filesystem::exists(argv[argc - 1])) {
    fmt::print(stderr, "usage: manager_bench [--quick] DIRECTORY, one that does not exist\n");
    return 2;
  }
  const std::string root = argv[argc - 1];
  std::filesystem::create_directories(root);
  fmt::print("checkpoint on {}; file and directory are synced at each write\n",
             tenon::FileSystemOf(root));
  tenon::Topology();
  tenon::FullNodes(root + "/node", quick);
  tenon::Admissions(root + "/kubelet", quick);
  std::filesystem::remove_all(root);
  return 0;
}
