// Measures a device plugin from where the kubelet sits: a kubelet of its own starts the plugin,
// is restarted, allocates, and looks at the plugin's process. bench/README.md says how to run it
// and holds the last table.

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/strings.h"
#include "loop/event_loop.h"
#include "process/child.h"
#include "rpc/channel.h"
#include "rpc/server.h"
#include "wire/messages.h"

namespace tenon {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr base::Duration kPatience = seconds(60);

double Micros(base::Duration d) {
  return static_cast<double>(d.count()) / 1000.0;
}

/// The value below which `part` of the samples lie. Requires: samples.
base::Duration Percentile(std::vector<base::Duration> samples, double part) {
  std::ranges::sort(samples);
  auto at = static_cast<size_t>(part * static_cast<double>(samples.size()));
  return samples[std::min(at, samples.size() - 1)];
}

void Row(std::string_view what, std::string_view value) {
  fmt::print("| {:<44} | {:<40} |\n", what, value);
  std::fflush(stdout);
}

void RowTimes(std::string_view what, const std::vector<base::Duration>& samples) {
  Row(what, fmt::format("p50 {:.0f} µs, p99 {:.0f} µs ({} times)", Micros(Percentile(samples, 0.5)),
                        Micros(Percentile(samples, 0.99)), samples.size()));
}

/// One field of /proc/PID/status, as text.
std::string ProcStatus(pid_t pid, std::string_view field) {
  std::ifstream in(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(field))
      return line.substr(line.find_first_not_of(" \t", field.size() + 1));
  return "?";
}

int64_t ContextSwitches(pid_t pid) {
  int64_t sum = 0;
  for (std::string_view field : {"voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"})
    sum += base::ParseInt64(ProcStatus(pid, field)).value_or(0);
  return sum;
}

/// CPU time that the process has used.
base::Duration CpuTime(pid_t pid) {
  base::Duration sum{};
  for (const auto& task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid))) {
    std::ifstream in(task.path() / "schedstat");
    int64_t ns = 0;
    in >> ns;
    sum += base::Duration(ns);
  }
  return sum;
}

/// The kubelet's end, as far as a plugin can see it: it takes registrations, dials back, and keeps
/// the last list of each resource.
class BenchKubelet {
 public:
  struct Plugin {
    std::unique_ptr<rpc::Channel> channel;
    std::unique_ptr<rpc::ClientCall> watch;
    std::vector<api::ListedDevice> devices;
    int lists = 0;
  };

  BenchKubelet(loop::EventLoop& loop, std::string directory)
      : loop_(loop), directory_(std::move(directory)) {}

  void Start() {
    auto server = rpc::Server::Listen(loop_, log_, Path(), {});
    if (!server) {
      fmt::print(stderr, "plugin_bench: {}\n", server.error().message());
      std::exit(1);
    }
    server_ = *std::move(server);
    server_->AddUnary(std::string(wire::kRegister),
                      [this](std::string_view request, std::unique_ptr<rpc::UnaryCall> call) {
                        OnRegister(request, std::move(call));
                      });
  }

  /// What a restart of the kubelet does: every socket of the directory goes.
  void StopAndWipe() {
    plugins.clear();
    server_.reset();
    for (const auto& entry : std::filesystem::directory_iterator(directory_))
      if (entry.is_socket()) std::filesystem::remove(entry.path());
  }

  bool Listed(size_t resources) const {
    return plugins.size() >= resources &&
           std::ranges::all_of(plugins, [](const auto& p) { return p.second.lists > 0; });
  }

  std::map<std::string, Plugin> plugins;
  int registrations = 0;

 private:
  std::string Path() const { return base::JoinPath(directory_, api::kKubeletSocketName); }

  void OnRegister(std::string_view bytes, std::unique_ptr<rpc::UnaryCall> call) {
    auto request = wire::DecodeRegisterRequest(bytes);
    TENON_CHECK(request);
    ++registrations;
    Plugin& plugin = plugins[request->resource_name];
    plugin = {};
    plugin.channel =
        rpc::Channel::Connect(loop_, base::JoinPath(directory_, request->endpoint), {});
    plugin.watch = plugin.channel->Stream(
        wire::kListAndWatch, "",
        [&plugin](std::string_view message) {
          auto devices = wire::DecodeDeviceList(message);
          TENON_CHECK(devices);
          plugin.devices = *std::move(devices);
          ++plugin.lists;
        },
        [](const rpc::Status&) {});
    call->Reply("");
  }

  loop::EventLoop& loop_;
  const std::string directory_;
  base::NullLog log_;
  std::unique_ptr<rpc::Server> server_;
};

struct Options {
  std::string plugin_dir;  ///< Where kubelet.sock is made.
  std::string device_dir;  ///< A device appears here; empty: not measured.
  size_t resources = 4;    ///< How many the plugin registers.
  int rounds = 50;
  std::vector<std::string> argv;
};

class Bench {
 public:
  Bench(loop::EventLoop& loop, const base::Clock& clock, Options options)
      : loop_(loop),
        clock_(clock),
        options_(std::move(options)),
        kubelet_(loop, options_.plugin_dir) {}

  void Run() {
    Row("binary, stripped", BinarySize());
    StartToRegister();
    Idle();
    KubeletRestarts();
    DeviceAppears();
    AllocateOneByOne();
    AllocateInFlight(16);
  }

 private:
  void StartPlugin() {
    auto child =
        process::Child::Start(loop_, {.argv = options_.argv, .deadline = std::nullopt},
                              [](const process::ChildExit& exit) {
                                fmt::print(stderr, "plugin_bench: the plugin ended: {}\n{}\n",
                                           exit.Describe(), exit.errors);
                                std::exit(1);
                              });
    TENON_CHECK(child);
    child_ = *std::move(child);
  }

  /// The time until `done`, measured by the same clock that the loop runs on.
  base::Duration TimeUntil(base::MonotonicTime start, const std::function<bool()>& done) {
    if (!loop_.RunUntil(done, kPatience)) {
      fmt::print(stderr, "plugin_bench: nothing happened for a minute\n");
      std::exit(1);
    }
    return clock_.Now() - start;
  }

  std::string BinarySize() {
    std::string copy = base::JoinPath(options_.plugin_dir, "stripped");
    std::filesystem::copy_file(options_.argv[0], copy);
    int status = std::system(fmt::format("strip {}", copy).c_str());
    auto size = std::filesystem::file_size(copy);
    std::filesystem::remove(copy);
    return fmt::format("{:.2f} MB{}", static_cast<double>(size) / 1e6,
                       status == 0 ? "" : " (not stripped)");
  }

  void StartToRegister() {
    std::vector<base::Duration> samples;
    kubelet_.Start();
    for (int i = 0; i < 10; ++i) {
      child_.reset();
      kubelet_.plugins.clear();
      kubelet_.registrations = 0;
      base::MonotonicTime start = clock_.Now();
      StartPlugin();
      samples.push_back(TimeUntil(start, [&] { return kubelet_.registrations > 0; }));
    }
    RowTimes("start → Register received", samples);
    TimeUntil(clock_.Now(), [&] { return kubelet_.Listed(options_.resources); });
  }

  void Idle() {
    loop_.RunUntil([] { return false; }, seconds(2));
    int64_t before = ContextSwitches(child_->pid());
    loop_.RunUntil([] { return false; }, seconds(60));
    int64_t wakeups = ContextSwitches(child_->pid()) - before;
    Row("idle RSS / threads",
        ProcStatus(child_->pid(), "VmRSS") + " / " + ProcStatus(child_->pid(), "Threads"));
    Row("idle wake-ups in 60 s", std::to_string(wakeups));
  }

  void KubeletRestarts() {
    std::vector<base::Duration> samples;
    for (int i = 0; i < options_.rounds; ++i) {
      kubelet_.StopAndWipe();
      loop_.RunUntil([] { return false; }, milliseconds(200));
      base::MonotonicTime start = clock_.Now();
      kubelet_.Start();
      samples.push_back(TimeUntil(start, [&] { return kubelet_.Listed(options_.resources); }));
    }
    RowTimes("kubelet.sock created → all lists received", samples);
    Row("RSS after that", ProcStatus(child_->pid(), "VmRSS"));
  }

  int TotalLists() const {
    int sum = 0;
    for (const auto& [name, plugin] : kubelet_.plugins)
      sum += plugin.lists;
    return sum;
  }

  void DeviceAppears() {
    if (options_.device_dir.empty()) return;
    std::vector<base::Duration> samples;
    for (int i = 0; i < options_.rounds; ++i) {
      std::string path = fmt::format("{}/hot{}", options_.device_dir, i);
      int before = TotalLists();
      base::MonotonicTime start = clock_.Now();
      if (::mknod(path.c_str(), S_IFCHR | 0600, NullDevice()) != 0) {
        Row("device appears → list received", "not measured: mknod needs CAP_MKNOD");
        return;
      }
      samples.push_back(TimeUntil(start, [&] { return TotalLists() > before; }));
      loop_.RunUntil([] { return false; }, milliseconds(300));
    }
    RowTimes("device appears → list received, settle incl.", samples);
  }

  static dev_t NullDevice() { return (dev_t{1} << 8) | 3; }

  std::unique_ptr<rpc::ClientCall> StartAllocate(std::function<void()> done) {
    auto& plugin = kubelet_.plugins.begin()->second;
    TENON_CHECK(!plugin.devices.empty());
    return plugin.channel->Unary(
        wire::kAllocate, wire::EncodeAllocateRequest({{.device_ids = {plugin.devices[0].id}}}),
        seconds(10), [done = std::move(done)](const rpc::Status& status, const std::string&) {
          if (!status.ok()) {
            fmt::print(stderr, "plugin_bench: Allocate: {}\n", rpc::ToString(status));
            std::exit(1);
          }
          done();
        });
  }

  void AllocateOneByOne() {
    constexpr int kCalls = 5000;
    std::vector<base::Duration> samples;
    base::Duration cpu_before = CpuTime(child_->pid());
    for (int i = 0; i < kCalls; ++i) {
      bool done = false;
      base::MonotonicTime start = clock_.Now();
      auto call = StartAllocate([&done] { done = true; });
      samples.push_back(TimeUntil(start, [&] { return done; }));
    }
    base::Duration cpu = CpuTime(child_->pid()) - cpu_before;
    RowTimes("Allocate, one by one", samples);
    Row("plugin's CPU per Allocate", fmt::format("{:.0f} µs", Micros(cpu) / kCalls));
  }

  void AllocateInFlight(int width) {
    constexpr int kCalls = 20000;
    int started = 0;
    int finished = 0;
    std::vector<std::unique_ptr<rpc::ClientCall>> calls(static_cast<size_t>(width));
    std::function<void(size_t)> next = [&](size_t slot) {
      if (started == kCalls) return;
      ++started;
      calls[slot] = StartAllocate([&, slot] {
        ++finished;
        next(slot);
      });
    };
    base::MonotonicTime start = clock_.Now();
    for (size_t slot = 0; slot < calls.size(); ++slot)
      next(slot);
    base::Duration took = TimeUntil(start, [&] { return finished == kCalls; });
    Row(fmt::format("Allocate, {} in flight", width),
        fmt::format("{:.1f} k/s", kCalls / (Micros(took) / 1000)));
  }

  loop::EventLoop& loop_;
  const base::Clock& clock_;
  const Options options_;
  BenchKubelet kubelet_;
  std::unique_ptr<process::Child> child_;
};

int Usage() {
  fmt::print(stderr,
             "usage: plugin_bench PLUGIN_DIR DEVICE_DIR|- RESOURCES -- PLUGIN [ARGUMENT...]\n"
             "Makes PLUGIN_DIR/kubelet.sock, starts the plugin, and prints a table. A device node\n"
             "is made in DEVICE_DIR to see how soon it is listed; - leaves that out.\n");
  return 2;
}

int Main(int argc, char** argv) {
  if (argc < 6 || std::string_view(argv[4]) != "--") return Usage();
  auto resources = base::ParseInt64(argv[3]);
  if (!resources || *resources < 1) return Usage();
  Options options{.plugin_dir = argv[1],
                  .device_dir = std::string_view(argv[2]) == "-" ? "" : argv[2],
                  .resources = static_cast<size_t>(*resources),
                  .argv = std::vector<std::string>(argv + 5, argv + argc)};
  base::SystemClock clock;
  auto loop = loop::EventLoop::Create(clock);
  TENON_CHECK(loop);
  Bench(**loop, clock, std::move(options)).Run();
  return 0;
}

}  // namespace
}  // namespace tenon

int main(int argc, char** argv) {
  return tenon::Main(argc, argv);
}
