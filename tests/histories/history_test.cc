// No history gives one device node to two pods.
//
// Everything of tenond that decides what is offered and handed out runs here, on a machine in
// memory and on a clock that is moved by hand; the other side is a model of the kubelet: it gives
// a pod ids that its (perhaps old) list shows as healthy and that no pod of its books has, and it
// writes its books into a checkpoint. kill -9 is the end of all that is in memory.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

#include "cdi/spec_files.h"
#include "checkpoint/checkpoint.h"
#include "histories/machine.h"
#include "host/temp_tree.h"
#include "tenond/resource_set.h"
#include "wire/messages.h"

namespace tenon::histories {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr size_t kSteps = 40;

/// Each gives the same sticks other ids, or other resources.
constexpr std::array kConfigs = {
    "[{name: serial, devices: [{usb: {vendor: '0403'}}]}]",
    "[{name: serial, devices: [{usb: {vendor: '0403'}, nodes: [tty]}]}]",
    "[{name: other, devices: [{usb: {vendor: '0403'}, nodes: [tty]}]}]",
    "[{name: serial, devices: [{usb: [{vendor: '0403'}, {vendor: '0404'}], nodes: [tty]}]}]",
    "[{name: serial, devices: [{path: /dev/serial/by-id/*}]}]",
    "[{name: serial, cdi: only, devices: [{path: /dev/serial/by-id/*}]}]",
    "[{name: serial, cdi: true, devices: [{path: /dev/ttyUSB*}]}]",
    "[{name: serial, devices: [{sysfs: {subsystem: tty, name: 'ttyUSB*'}}]}]",
    "[{name: serial, devices: [{path: /dev/serial/by-id/*}]},"
    " {name: other, devices: [{path: /dev/ttyUSB*}]}]",
    "[{name: other, devices: [{usb: {vendor: '0403'}, nodes: [tty]}]},"
    " {name: serial, cdi: only, devices: [{path: /dev/serial/by-id/*}]}]",
    "[{name: pair, devices: [{all: [{path: /dev/ttyUSB*}, {path: /dev/bus/usb/001/*}]}]},"
    " {name: serial, devices: [{usb: {vendor: '0403'}, nodes: [tty]}]}]",
};

struct Pod {
  std::string uid;
  std::string resource;
  std::vector<std::string> ids;
  ContainerAllocation given;
  std::set<std::string> numbers;  ///< What its device cgroup allows.
};

class History {
 public:
  explicit History(uint64_t seed) : random_(seed) {
    tree_.Directory("/plugins");
    for (Machine::Stick& stick : machine_.sticks)
      if (Chance(70)) machine_.Plug(stick);
    config_ = kConfigs[Below(kConfigs.size())];
    if (Chance(50)) Migrate();
    WriteBooks();
    Start();
  }

  void Run() {
    for (size_t step = 0; step < kSteps && violation_.empty(); ++step)
      Step();
    if (violation_.empty()) GiveAllBack();
  }

  const std::string& violation() const { return violation_; }
  std::string log() const { return log_; }

 private:
  size_t Below(size_t n) { return random_() % n; }
  bool Chance(size_t percent) { return Below(100) < percent; }
  void Note(const std::string& text) { log_ += text + "\n"; }

  /// What another plugin has given away before tenond came.
  void Migrate() {
    for (const Machine::Stick& stick : machine_.sticks) {
      if (stick.port.empty() || !Chance(50)) continue;
      const std::string path = "/dev/ttyUSB" + std::to_string(stick.tty);
      Pod pod{.uid = NewUid(), .resource = "squat.ai/serial", .ids = {"id" + path.substr(5)}};
      pod.given.device_nodes = {{path, path, "rw"}};
      Note("another plugin gave " + path + " to " + pod.uid);
      Admit(std::move(pod));
    }
  }

  void Start() {
    loop_ = *loop::EventLoop::Create(clock_);
    directory_ = std::make_unique<plugin::PluginDirectory>(
        plugin::PluginDirectory::Options{}, loop_->timers(), nullptr, tree_.Real("/plugins"));
    metrics_ = std::make_unique<base::MetricsRegistry>();
    resources_ = std::make_unique<tenond::ResourceSet>(
        plugin_service::ServiceContext{*loop_, clock_, null_log_, *metrics_},
        tenond::ResourceSet::Surroundings{machine_.host, nullptr, nullptr, *directory_, events_,
                                          tree_.Real("/pods.sock"), tree_.Real("/cdi")},
        "token" + std::to_string(Below(1000)), tenond::ResourceSet::Allowed{});
    Load();
  }
  void Kill() {
    resources_.reset();
    directory_.reset();
    loop_.reset();
    metrics_.reset();
  }
  void Load() {
    const std::string text = std::string("domain: example.com\nresources: ") + config_ + "\n";
    const auto outcome = config::Load(text, "config");
    ASSERT_TRUE(outcome.config) << outcome.errors.front();
    resources_->Apply(*outcome.config);
  }
  void Pass(base::Duration time) {
    const base::Duration step = milliseconds(500);
    for (; time > base::Duration::zero(); time -= step) {
      clock_.Advance(std::min(time, step));
      for (int i = 0; i < 2; ++i)
        loop_->RunUntil([] { return false; }, base::Duration::zero());
    }
  }

  void Step() {
    const size_t dice = Below(100);
    if (dice < 22) return Move(machine_.sticks[Below(machine_.sticks.size())]);
    if (dice < 28) return Swap();
    if (dice < 52) return Ask();
    if (dice < 64) return End();
    if (dice < 70) return Reload();
    if (dice < 76) return Restart();
    if (dice < 80) return views_.clear();  // The kubelet starts anew: it knows no list.
    if (dice < 90) return Look();
    Note("time passes");
    Pass(Chance(50) ? milliseconds(700) : seconds(6));
    Look();
  }

  void Move(Machine::Stick& stick) {
    const bool was_there = !stick.port.empty();
    if (was_there) machine_.Unplug(stick);
    if (!was_there || Chance(50)) machine_.Plug(stick);
    Note("stick " + stick.serial + " is at port " + stick.port + " as ttyUSB" +
         std::to_string(stick.tty));
  }
  /// Another stick where this one was, in a moment.
  void Swap() {
    for (Machine::Stick& out : machine_.sticks)
      for (Machine::Stick& in : machine_.sticks) {
        if (out.port.empty() || !in.port.empty()) continue;
        const Machine::Stick was = out;
        machine_.Unplug(out);
        machine_.Plug(in, &was);
        return Note("stick " + in.serial + " in place of " + was.serial + " as ttyUSB" +
                    std::to_string(in.tty));
      }
  }
  void Reload() {
    config_ = kConfigs[Below(kConfigs.size())];
    Note(std::string("configuration ") + config_);
    Load();
  }
  void Restart() {
    Kill();
    if (Chance(30)) config_ = kConfigs[Below(kConfigs.size())];
    Note(std::string("kill -9, then ") + config_);
    Start();
    views_.clear();
  }

  /// The kubelet gets the newest lists.
  void Look() {
    views_.clear();
    for (const auto& [name, plugin] : resources_->plugins()) {
      Note("list of " + name + ":");
      for (const Device& device : plugin->core().devices()->devices) {
        Note("  " + device.id.value + " " + device.reason);
        if (device.healthy()) views_[name].push_back(device.id.value);
      }
    }
  }
  bool InUse(const std::string& resource, const std::string& id) const {
    return std::any_of(pods_.begin(), pods_.end(), [&](const Pod& pod) {
      return pod.resource == resource && std::ranges::find(pod.ids, id) != pod.ids.end();
    });
  }
  void Ask() {
    for (const auto& [resource, ids] : views_) {
      Pod pod{.uid = NewUid(), .resource = resource};
      for (const std::string& id : ids)
        if (!InUse(resource, id) && Chance(60)) pod.ids.push_back(id);
      if (pod.ids.empty()) continue;
      auto plugin = resources_->plugins().find(resource);
      if (plugin == resources_->plugins().end()) continue;
      auto given = plugin->second->core().Allocate({{pod.ids}});
      Note(pod.uid + " asks for " + base::Join(pod.ids, ",") + " of " + resource + ": " +
           (given ? "granted" : given.error().message()));
      if (!given || Chance(5)) continue;  // It may be refused for another reason all the same.
      pod.given = given->front();
      Admit(std::move(pod));
      WriteBooks();
    }
  }
  void Admit(Pod pod) {
    std::vector<std::string> paths;
    for (const DeviceNode& node : pod.given.device_nodes)
      paths.push_back(node.host_path);
    for (const std::string& name : pod.given.cdi_devices) {
      auto spec = cdi_.Read(name.substr(0, name.find('=')));
      ASSERT_TRUE(spec) << spec.error().message();
      for (const auto& node : spec->devices.at(name.substr(name.find('=') + 1)).device_nodes)
        paths.push_back(node.host_path);
    }
    for (const std::string& path : paths) {
      auto node = machine_.host.Stat(path);
      ASSERT_TRUE(node) << path;
      const std::string number = std::to_string(node->major) + ":" + std::to_string(node->minor);
      for (const Pod& other : pods_)
        if (other.numbers.contains(number))
          violation_ = path + " (" + number + ") is given to " + pod.uid + " and " + other.uid;
      pod.numbers.insert(number);
      Note("  " + pod.uid + " has " + path + ", " + number);
    }
    pods_.push_back(std::move(pod));
  }
  void End() {
    if (pods_.empty()) return;
    auto pod = pods_.begin() + static_cast<std::ptrdiff_t>(Below(pods_.size()));
    Note(pod->uid + " ends");
    pods_.erase(pod);
    WriteBooks();
  }

  void WriteBooks() {
    checkpoint::Checkpoint books;
    books.entries.emplace();
    for (const Pod& pod : pods_)
      books.entries->push_back(
          {.pod_uid = pod.uid,
           .container_name = "main",
           .resource_name = pod.resource,
           .device_ids = std::map<int64_t, checkpoint::Ids>{{-1, checkpoint::Ids(pod.ids)}},
           .alloc_resp = wire::EncodeContainerAllocation(pod.given)});
    tree_.File("/plugins/kubelet_internal_checkpoint", checkpoint::Encode(books));
  }
  std::string NewUid() { return "pod" + std::to_string(++last_pod_); }

  /// Nothing may be kept from pods for ever: without any, all that is there is healthy.
  void GiveAllBack() {
    pods_.clear();
    WriteBooks();
    Note("all pods end");
    Pass(seconds(30));
    Look();
    for (const auto& [name, plugin] : resources_->plugins())
      for (const Device& device : plugin->core().devices()->devices)
        if (!device.healthy() && device.reason.find("also in") == std::string::npos)
          violation_ = device.id.value + " of " + name + " stays " + device.reason;
  }

  std::mt19937_64 random_;
  std::string log_;
  std::string violation_;
  base::FakeClock clock_;
  base::NullLog null_log_;
  EventRing events_{16};
  host::TempTree tree_;
  Machine machine_{random_};
  const cdi::SpecFiles cdi_{tree_.Real("/cdi")};
  const char* config_ = nullptr;
  std::vector<Pod> pods_;
  std::map<std::string, std::vector<std::string>> views_;  ///< By resource, healthy ids.
  int last_pod_ = 0;

  std::unique_ptr<loop::EventLoop> loop_;
  std::unique_ptr<base::MetricsRegistry> metrics_;
  std::unique_ptr<plugin::PluginDirectory> directory_;
  std::unique_ptr<tenond::ResourceSet> resources_;
};

TEST(Histories, NoneGivesOneDeviceNodeToTwoPods) {
  const char* long_run = std::getenv("TENON_LONG");
  const char* given = std::getenv("TENON_SEED");
  const int count = long_run != nullptr && std::string(long_run) == "1" ? 10'000 : 100;
  uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  // Where there is no disk to wait for.
  if (std::filesystem::is_directory("/dev/shm")) ::setenv("TMPDIR", "/dev/shm", 0);
  std::printf("TENON_SEED=%llu, %d histories\n", static_cast<unsigned long long>(seed), count);

  for (int i = 0; i < count; ++i, ++seed) {
    History history(seed);
    history.Run();
    ASSERT_EQ("", history.violation()) << "TENON_SEED=" << seed << "\n" << history.log();
    ASSERT_FALSE(HasFatalFailure()) << "TENON_SEED=" << seed << "\n" << history.log();
  }
}

}  // namespace
}  // namespace tenon::histories
