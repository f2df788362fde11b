// Measures device plugins from where the kubelet sits, all of them in one run and by turns, and
// prints a table. bench/README.md says how to run it and holds the last table.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/strings.h"
#include "process_figures.h"
#include "socket_floor.h"
#include "subject.h"
#include "workspace.h"

namespace tenon::bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Samples = std::vector<base::Duration>;

double Micros(base::Duration d) {
  return static_cast<double>(d.count()) / 1000.0;
}

/// The value below which `part` of the samples lie. Requires: samples.
base::Duration Percentile(Samples samples, double part) {
  std::ranges::sort(samples);
  auto at = static_cast<size_t>(part * static_cast<double>(samples.size()));
  return samples[std::min(at, samples.size() - 1)];
}

std::string Time(base::Duration d) {
  return d < milliseconds(10) ? fmt::format("{:.0f} µs", Micros(d))
                              : fmt::format("{:.1f} ms", Micros(d) / 1000);
}

std::string Times(const Samples& samples) {
  if (samples.empty()) return "–";
  return Time(Percentile(samples, 0.5)) + " / " + Time(Percentile(samples, 0.99));
}

/// How much is measured; a quick run only shows that everything works.
struct Extent {
  int restarts = 10;
  int kubelet_restarts = 40;
  int devices_added = 40;
  int calls = 5000;
  base::Duration idle = seconds(60);
  base::Duration time_for_each = seconds(20);  ///< A slow plugin gets fewer rounds.
};
constexpr Extent kQuick = {.restarts = 2,
                           .kubelet_restarts = 2,
                           .devices_added = 2,
                           .calls = 200,
                           .idle = seconds(3),
                           .time_for_each = seconds(10)};

/// The plugins of one case, measured by turns so that all of them see the same machine.
class Round final {
 public:
  /// The table has `columns` of plugins; those that are not in this round stay empty.
  Round(loop::EventLoop& loop, const base::Clock& clock, const Extent& extent, size_t columns,
        std::vector<SubjectPlan> plans)
      : loop_(loop), clock_(clock), extent_(extent), columns_(columns) {
    for (SubjectPlan& plan : plans)
      subjects_.push_back(std::make_unique<Subject>(loop, clock, std::move(plan)));
  }

  void Row(std::string_view what, std::vector<std::string> cells, std::string_view floor,
           std::string_view budget) const {
    cells.resize(columns_, "–");
    fmt::print("| {} |", what);
    for (const std::string& cell : cells)
      fmt::print(" {} |", cell);
    fmt::print(" {} | {} |\n", floor, budget);
    std::fflush(stdout);
  }
  void Head() const {
    std::vector<std::string> names;
    std::vector<std::string> lines;
    for (const auto& subject : subjects_) {
      names.push_back(subject->plan().name);
      lines.emplace_back("---");
    }
    Row("figure", names, "socket floor", "budget (goal)");
    Row("---", lines, "---", "---");
  }

  void Binaries() const;
  void Start();
  void Starts();
  void Idle();
  void KubeletRestarts(std::string_view what, std::string_view budget);
  void DevicesAppear(std::string_view what, std::string_view budget);
  void Allocates(int width, std::string_view budget);
  void LoopLag(std::string_view what) const;

 private:
  template <class Cell>
  std::vector<std::string> Cells(Cell cell) const {
    std::vector<std::string> cells;
    for (const auto& subject : subjects_)
      cells.push_back(cell(*subject));
    return cells;
  }
  /// Runs `measure` for each subject by turns and returns each one's samples.
  template <class Measure>
  std::vector<Samples> ByTurns(int rounds, Measure measure) {
    std::vector<Samples> samples(subjects_.size());
    std::vector<base::Duration> spent(subjects_.size());
    for (int i = 0; i < rounds; ++i)
      for (size_t s = 0; s < subjects_.size(); ++s) {
        if (spent[s] >= extent_.time_for_each) continue;
        base::MonotonicTime start = clock_.Now();
        if (auto sample = measure(*subjects_[s])) samples[s].push_back(*sample);
        spent[s] += clock_.Now() - start;
      }
    return samples;
  }
  void TimesRow(std::string_view what, const std::vector<Samples>& samples,
                std::string_view budget) const {
    std::vector<std::string> cells;
    for (const Samples& each : samples)
      cells.push_back(Times(each));
    Row(fmt::format("{}, p50 / p99", what), cells, "", budget);
  }

  loop::EventLoop& loop_;
  const base::Clock& clock_;
  const Extent& extent_;
  const size_t columns_;
  std::vector<std::unique_ptr<Subject>> subjects_;
};

void Round::Binaries() const {
  Row("binary, stripped", Cells([](const Subject& subject) {
        std::string copy = subject.plan().plugin_dir + "/../stripped";
        std::filesystem::copy_file(subject.plan().binary, copy);
        bool stripped = std::system(fmt::format("strip {}", copy).c_str()) == 0;
        auto size = static_cast<double>(std::filesystem::file_size(copy));
        std::filesystem::remove(copy);
        return fmt::format("{:.2f} MB{}", size / 1e6, stripped ? "" : " (not stripped)");
      }),
      "", "≤ 3 MB");
}

void Round::Start() {
  for (auto& subject : subjects_)
    subject->Restart();
  for (auto& subject : subjects_)
    subject->AwaitLists();
}

void Round::Starts() {
  TimesRow(
      "start → Register received",
      ByTurns(extent_.restarts, [](Subject& subject) { return std::optional(subject.Restart()); }),
      "≤ 1/3 (1/5) of generic-device-plugin");
  for (auto& subject : subjects_)
    subject->AwaitLists();
}

void Round::Idle() {
  loop_.RunUntil([] { return false; }, std::min<base::Duration>(extent_.idle, seconds(5)));
  std::vector<int64_t> before;
  for (auto& subject : subjects_)
    before.push_back(ContextSwitches(subject->pid()));
  loop_.RunUntil([] { return false; }, extent_.idle);
  std::vector<std::string> wakeups;
  double minutes = Micros(extent_.idle) / 60e6;
  for (size_t s = 0; s < subjects_.size(); ++s) {
    auto count = static_cast<double>(ContextSwitches(subjects_[s]->pid()) - before[s]);
    wakeups.push_back(fmt::format("{:.0f}", count / minutes));
  }
  Row("idle RSS", Cells([](const Subject& subject) {
        return fmt::format("{:.2f} MB", static_cast<double>(ResidentKiB(subject.pid())) / 1024);
      }),
      "", "≤ 3 MB (2)");
  Row("threads",
      Cells([](const Subject& subject) { return std::to_string(ThreadCount(subject.pid())); }), "",
      "≤ 2 (1)");
  Row("idle wake-ups a minute", wakeups, "", "≤ 2 (1)");
  Row("libraries mapped", Cells([](const Subject& subject) {
        return fmt::format("{:.1f} MB", static_cast<double>(LibraryBytes(subject.pid())) / 1e6);
      }),
      "", "");
}

void Round::KubeletRestarts(std::string_view what, std::string_view budget) {
  TimesRow(what,
           ByTurns(extent_.kubelet_restarts,
                   [](Subject& subject) { return std::optional(subject.RestartKubelet()); }),
           budget);
}

void Round::DevicesAppear(std::string_view what, std::string_view budget) {
  std::vector<base::Duration> cpu(subjects_.size());
  std::vector<Samples> samples = ByTurns(extent_.devices_added, [&](Subject& subject) {
    std::optional<base::Duration> took;
    if (subject.plan().device_dir.empty()) return took;
    size_t s = 0;
    while (subjects_[s].get() != &subject)
      ++s;
    base::Duration before = CpuTime(subject.pid());
    took = subject.AddDevice();
    // Whatever it does beside the list belongs to the change.
    loop_.RunUntil([] { return false; }, milliseconds(300));
    cpu[s] += CpuTime(subject.pid()) - before;
    return took;
  });
  TimesRow(what, samples, budget);
  std::vector<std::string> cells;
  for (size_t s = 0; s < subjects_.size(); ++s)
    cells.push_back(samples[s].empty() ? "–"
                                       : Time(cpu[s] / static_cast<int64_t>(samples[s].size())));
  Row(fmt::format("{}, CPU", what), cells, "", "");
}

void Round::Allocates(int width, std::string_view budget) {
  constexpr int kBlocks = 20;
  const int block = std::max(width, extent_.calls / kBlocks);
  SocketFloor floor;
  std::vector<Samples> samples(subjects_.size() + 1);
  std::vector<base::Duration> took(subjects_.size() + 1);
  std::vector<base::Duration> cpu(subjects_.size() + 1);
  for (int b = 0; b < kBlocks; ++b) {
    for (size_t s = 0; s < subjects_.size(); ++s) {
      Subject& subject = *subjects_[s];
      base::Duration before = CpuTime(subject.pid());
      took[s] += subject.Allocate(block, width, width == 1 ? &samples[s] : nullptr);
      cpu[s] += CpuTime(subject.pid()) - before;
    }
    base::Duration before = CpuTime(floor.pid());
    base::MonotonicTime start = clock_.Now();
    for (int i = 0; i < block; i += width) {
      base::MonotonicTime began = clock_.Now();
      floor.Exchange(width);
      samples.back().push_back(clock_.Now() - began);
    }
    took.back() += clock_.Now() - start;
    cpu.back() += CpuTime(floor.pid()) - before;
  }
  std::vector<std::string> speeds;
  std::vector<std::string> costs;
  for (size_t s = 0; s < took.size(); ++s) {
    speeds.push_back(width == 1
                         ? Times(samples[s])
                         : fmt::format("{:.1f} k/s", block * kBlocks / (Micros(took[s]) / 1000)));
    costs.push_back(fmt::format("{:.0f} µs", Micros(cpu[s]) / (block * kBlocks)));
  }
  std::string floor_speed = speeds.back();
  std::string floor_cost = costs.back();
  speeds.pop_back();
  costs.pop_back();
  Row(fmt::format("Allocate, {} in flight{}", width, width == 1 ? ", p50 / p99" : ""), speeds,
      floor_speed, budget);
  Row(fmt::format("Allocate, {} in flight, CPU a call", width), costs, floor_cost,
      "≤ 0.25 × (0.2 ×) generic-device-plugin");
}

void Round::LoopLag(std::string_view what) const {
  Row(fmt::format("longest turn of the loop, {}", what), Cells([](const Subject& subject) {
        base::Duration lag = subject.TakeLoopLag();
        return lag == base::Duration::zero() ? std::string("–") : Time(lag);
      }),
      "", "≤ 5 ms");
}

int Usage() {
  fmt::print(
      stderr,
      "usage: plugin_bench [--quick] TENOND GRPCPP_PLUGIN\n"
      "Starts each plugin under a kubelet of its own, measures them by turns, and prints a\n"
      "table. TENOND is static, and runs alone in an empty root. As root.\n"
      "PEER_CMD: another plugin to measure beside them; {{dir}} in it is the device-plugin\n"
      "directory, {{devices}} a directory in which device nodes appear. PEER_RESOURCES: how\n"
      "many it registers (1).\n");
  return 2;
}

struct Programs {
  std::string tenond;
  std::string grpcpp;
  std::string peer;
  size_t peer_resources = 1;
};

void MeasureSmall(Round round) {
  round.Head();
  round.Binaries();
  round.Starts();
  round.Idle();
  round.KubeletRestarts("kubelet.sock → all lists received", "≤ 50 ms (20)");
  round.DevicesAppear("8 devices, one appears → list received",
                      "settle + ≤ 10 ms (3); settle 50 to 90 ms apart");
  round.Allocates(1, "≤ 0.5 × (0.4 ×) generic-device-plugin");
  round.Allocates(16, "≥ 1.8 × (2.5 ×) generic-device-plugin");
  round.LoopLag("8 devices");
}

void MeasureLarge(Round round, int devices) {
  round.Start();
  round.KubeletRestarts(fmt::format("kubelet.sock → list of {} received", devices),
                        devices == 10000 ? "≤ 100 ms (20)" : "");
  round.DevicesAppear(fmt::format("{} devices, one appears → list received", devices),
                      devices == 1000 ? "CPU ≤ 300 µs (100)" : "");
  round.LoopLag(fmt::format("{} devices", devices));
}

void Measure(const Programs& programs, const Extent& extent) {
  base::SystemClock clock;
  auto loop = *loop::EventLoop::Create(clock);
  Workspace workspace;
  std::vector<SubjectPlan> plans = {workspace.Tenond(programs.tenond, 0),
                                    workspace.Grpcpp(programs.grpcpp, 0)};
  if (!programs.peer.empty())
    plans.push_back(workspace.Peer(programs.peer, programs.peer_resources));
  const size_t columns = plans.size();
  MeasureSmall(Round(*loop, clock, extent, columns, std::move(plans)));
  for (int devices : {1000, 10000})
    MeasureLarge(Round(*loop, clock, extent, columns,
                       {workspace.Tenond(programs.tenond, devices),
                        workspace.Grpcpp(programs.grpcpp, devices)}),
                 devices);
}

int Main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  bool quick = !arguments.empty() && arguments[0] == "--quick";
  if (quick) arguments.erase(arguments.begin());
  if (arguments.size() != 2) return Usage();
  if (::geteuid() != 0) {
    fmt::print(stderr, "plugin_bench: needs root, to make device nodes and an empty root\n");
    return 1;
  }
  const char* peer = std::getenv("PEER_CMD");
  const char* resources = std::getenv("PEER_RESOURCES");
  Measure({.tenond = arguments[0],
           .grpcpp = arguments[1],
           .peer = peer != nullptr ? peer : "",
           .peer_resources = static_cast<size_t>(
               base::ParseInt64(resources != nullptr ? resources : "1").value_or(1))},
          quick ? kQuick : Extent{});
  return 0;
}

}  // namespace
}  // namespace tenon::bench

int main(int argc, char** argv) {
  return tenon::bench::Main(argc, argv);
}
