#include "tenon/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "base/strings.h"
#include "config/config.h"
#include "host/host.h"
#include "host/uevent_socket.h"
#include "loop/unix_socket.h"
#include "tenon/checkpoint_view.h"
#include "tenon/control_client.h"
#include "tenon/input_file.h"
#include "tenon/json_view.h"
#include "tenon/kubelet_resources.h"

namespace tenon::cli {
namespace {

using Verdict = Finding::Verdict;

constexpr size_t kMaxCheckpointMiB = 64;
/// tenond takes a handful of each; others on the kube node take theirs. The kernel's own defaults
/// are 128 instances and at least 8192 watches.
constexpr int64_t kFewInstances = 64;
constexpr int64_t kFewWatches = 4096;
/// So many names are enough to see what it is about.
constexpr size_t kShownNames = 5;

Finding Good(std::string what, std::string found) {
  return {Verdict::kGood, std::move(what), std::move(found), {}};
}
Finding Note(std::string what, std::string found, std::string advice = {}) {
  return {Verdict::kNote, std::move(what), std::move(found), std::move(advice)};
}
Finding Bad(std::string what, std::string found, std::string advice) {
  return {Verdict::kBad, std::move(what), std::move(found), std::move(advice)};
}

/// Whether only root may put something there. `why` says who else may.
bool IsRootsAlone(const host::FileStat& file, std::string& why) {
  if (file.uid != 0) why = fmt::format("belongs to uid {}", file.uid);
  if ((file.mode & 022) != 0)
    why = fmt::format("has mode {:04o}, so that others may write to it", file.mode & 07777);
  return why.empty();
}

class Examination final {
 public:
  /// `machine` is options.root, `host` where the sockets are.
  Examination(const DoctorOptions& options, host::Host& machine, host::Host& host)
      : options_(options),
        machine_(machine),
        host_(host),
        plugins_(base::JoinPath(options.kubelet_dir, "device-plugins")) {}

  std::vector<Finding> Run() {
    LookAtKubeletProcess();
    if (LookAtPluginDirectory()) {
      LookAtKubeletSocket();
      LookForDeadSockets();
      LookAtCheckpoint();
    }
    LookAtPodResources();
    LookAtTenond();
    LookAtConfig();
    LookAtUevents();
    LookAtInotify();
    LookAtSelinux();
    for (const char* directory : {"/etc/cdi", "/var/run/cdi"})
      LookAtCdi(directory);
    return std::move(findings_);
  }

 private:
  void Add(Finding finding) { findings_.push_back(std::move(finding)); }
  /// The first bytes of a file of the machine, without the line's end; empty if there is none.
  std::string SmallFile(const std::string& path) const {
    auto text = machine_.Read(path, 4096);
    if (!text) return {};
    while (text->ends_with('\n'))
      text->pop_back();
    return *std::move(text);
  }

  /// The --root-dir of the kubelet, which is not the one that we were told?
  void LookAtKubeletProcess() {
    const auto processes = machine_.List("/proc");
    for (const std::string& process : processes ? *processes : std::vector<std::string>()) {
      const std::string directory = "/proc/" + process;
      if (SmallFile(directory + "/comm") != "kubelet") continue;
      std::string root_dir = "/var/lib/kubelet";
      std::vector<std::string> args;
      std::istringstream line(SmallFile(directory + "/cmdline"));
      for (std::string arg; std::getline(line, arg, '\0');)
        args.push_back(arg);
      for (size_t i = 0; i < args.size(); ++i) {
        if (args[i].starts_with("--root-dir=")) root_dir = args[i].substr(11);
        if (args[i] == "--root-dir" && i + 1 < args.size()) root_dir = args[i + 1];
      }
      const std::string found =
          fmt::format("runs as process {}, its directory is {}", process, root_dir);
      if (root_dir == options_.kubelet_dir) return Add(Good("kubelet", found));
      return Add(Note("kubelet", found,
                      fmt::format("if its sockets are there, give --kubelet-dir {} to tenon and "
                                  "tenond",
                                  root_dir)));
    }
    Add(Note("kubelet", "no process of that name is seen from here",
             "some distributions run it inside another program; its sockets below count"));
  }

  bool LookAtPluginDirectory() {
    const std::string what = "device-plugin directory";
    auto file = host_.Stat(plugins_);
    if (!file) {
      Add(Bad(what, file.error().message(),
              "start the kubelet, or name its directory with --kubelet-dir"));
      return false;
    }
    if (file->kind != host::FileKind::kDirectory) {
      Add(Bad(what, plugins_ + " is no directory", "name the kubelet's with --kubelet-dir"));
      return false;
    }
    std::string why;
    if (IsRootsAlone(*file, why)) {
      Add(Good(what, plugins_));
    } else {
      Add(Bad(what, plugins_ + " " + why,
              "whoever may write there can pose as a plugin: chown root, chmod go-w"));
    }
    return true;
  }

  void LookAtKubeletSocket() {
    const std::string path = base::JoinPath(plugins_, "kubelet.sock");
    auto connected = loop::ConnectUnix(path);
    if (connected) return Add(Good("kubelet.sock", "the kubelet listens"));
    Add(Bad("kubelet.sock", connected.error().message(),
            connected.error().code() == Code::kNotFound
                ? "the kubelet does not run, or keeps its sockets elsewhere (--kubelet-dir)"
                : "the kubelet has ended or hangs: look at its log"));
  }

  void LookForDeadSockets() {
    std::vector<std::string> dead;
    size_t living = 0;
    const auto names = host_.List(plugins_);
    for (const std::string& name : names ? *names : std::vector<std::string>()) {
      const std::string path = base::JoinPath(plugins_, name);
      auto file = host_.Stat(path);
      if (!file || file->kind != host::FileKind::kSocket || name == "kubelet.sock") continue;
      auto connected = loop::ConnectUnix(path);
      if (connected) {
        ++living;
      } else if (connected.error().code() == Code::kUnavailable) {
        dead.push_back(name);
      }
    }
    const std::string plugins =
        fmt::format("{} {}", living, living == 1 ? "plugin listens" : "plugins listen");
    if (dead.empty()) return Add(Good("plugin sockets", plugins));
    const size_t more = dead.size() - std::min(dead.size(), kShownNames);
    dead.resize(dead.size() - more);
    Add(Note("plugin sockets",
             fmt::format("{}; nobody listens on {}{}", plugins, base::Join(dead, ", "),
                         more == 0 ? std::string() : fmt::format(" and {} more", more)),
             "left by plugins that were killed, and harmless; tenond removes its own"));
  }

  void LookAtCheckpoint() {
    const std::string what = "checkpoint";
    const std::string path = base::JoinPath(plugins_, checkpoint::kFileName);
    if (auto file = host_.Stat(path); !file && file.error().code() == Code::kNotFound)
      return Add(Good(what, "none yet"));
    auto text = ReadInput(path, kMaxCheckpointMiB);
    if (!text)
      return Add(Note(what, text.error().message(), "only root may read it: run this as root"));
    auto file = checkpoint::Inspect(*text, path);
    if (!file)
      return Add(Bad(what, file.error().message(),
                     "the kubelet forgets who holds what: drain the node, remove the file, "
                     "restart the kubelet"));
    const CheckpointReport report = ExamineCheckpoint(*file);
    if (report.valid()) {
      const size_t count = report.entries.size();
      return Add(Good(
          what, fmt::format("valid, {} {}", count,
                            count == 1 ? "container holds devices" : "containers hold devices")));
    }
    Add(Bad(what, report.errors.front(), "`tenon checkpoint " + path + "` explains it"));
  }

  void LookAtPodResources() {
    const std::string path = base::JoinPath(options_.kubelet_dir, "pod-resources/kubelet.sock");
    auto resources = AskKubeletResources(path);
    if (!resources)
      return Add(Note("PodResources", resources.error().message(),
                      "without it `tenon status` cannot say who holds what"));
    const size_t count = resources->resources.size();
    Add(Good("PodResources",
             fmt::format("answers, {} {}", count, count == 1 ? "resource" : "resources")));
  }

  void LookAtTenond() {
    auto client = ControlClient::Create({options_.control, "tenond", "--control"});
    auto status = client ? (*client)->CallJson({.path = "/api/v1/status"}, std::chrono::seconds(5))
                         : Result<Value>(client.error());
    if (!status)
      return Add(Note("tenond", status.error().message(),
                      "start it, if devices of this machine are to be offered"));
    for (const Value& error : ItemsAt(*status, {"configErrors"}))
      Add(Bad("tenond", error.text(), "the former configuration is in force; correct the file"));
    for (const Value& resource : ItemsAt(*status, {"resources"}))
      LookAtResource(resource);
    if (TextAt(*status, {"ready"}) == "true")
      Add(Good("tenond", "version " + TextAt(*status, {"version"}) + ", ready"));
  }

  void LookAtResource(const Value& resource) {
    const std::string name = TextAt(resource, {"name"});
    const std::string trouble = TextAt(resource, {"detail"}) + TextAt(resource, {"listError"});
    if (TextAt(resource, {"state"}) != "streaming")
      Add(Bad("tenond",
              fmt::format("{} is not with the kubelet: {}{}{}", name, TextAt(resource, {"state"}),
                          trouble.empty() ? "" : ", ", trouble),
              "`tenon status` shows its events, the kubelet's log what it refused"));
    size_t unhealthy = 0;
    std::string reason;
    const std::vector<Value> devices = ItemsAt(resource, {"devices"});
    for (const Value& device : devices) {
      if (TextAt(device, {"health"}) == "Healthy") continue;
      if (unhealthy++ == 0) reason = TextAt(device, {"id"}) + ": " + TextAt(device, {"reason"});
    }
    if (unhealthy > 0)
      Add(Note("tenond",
               fmt::format("{}: {} of {} devices unhealthy, {}", name, unhealthy, devices.size(),
                           reason),
               "`tenon status` lists them"));
    if (devices.empty())
      Add(Note("tenond", name + " has no devices",
               "`tenon discover --config …` says what each rule matched, and why not"));
  }

  void LookAtConfig() {
    if (options_.configs.empty()) return;
    const auto outcome = config::LoadPaths(
        options_.configs, {.allow_paths = options_.allow_paths, .allow_exec = options_.allow_exec});
    for (const std::string& error : outcome.errors)
      Add(Bad("configuration", error, "correct the file; `tenon check` lists all errors"));
    if (outcome.config)
      Add(Good("configuration",
               fmt::format("valid, {} {}", outcome.config->resources.size(),
                           outcome.config->resources.size() == 1 ? "resource" : "resources")));
  }

  void LookAtUevents() {
    base::SystemClock clock;
    auto loop = loop::EventLoop::Create(clock);
    if (!loop) return Add(Note("uevents", loop.error().message()));
    auto socket = host::UeventSocket::Open(**loop);
    if (socket) return Add(Good("uevents", "the kernel's can be received"));
    Add(Note("uevents", socket.error().message(),
             "devices found by usb, pci and sysfs rules are seen by polling alone, some seconds "
             "late"));
  }

  void LookAtInotify() {
    struct Limit {
      const char* name;
      int64_t few;
    };
    for (const Limit& limit :
         {Limit{"max_user_instances", kFewInstances}, Limit{"max_user_watches", kFewWatches}}) {
      const std::string path = fmt::format("/proc/sys/fs/inotify/{}", limit.name);
      const std::string text = SmallFile(path);
      int64_t value = 0;
      if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc())
        continue;
      const std::string what = fmt::format("fs.inotify.{}", limit.name);
      if (value >= limit.few) {
        Add(Good(what, std::to_string(value)));
      } else {
        Add(Note(what, fmt::format("{}, and all programs of root share it", value),
                 fmt::format("sysctl {}={}", what, limit.few * 2)));
      }
    }
  }

  void LookAtSelinux() {
    const std::string enforcing = SmallFile("/sys/fs/selinux/enforce");
    if (enforcing != "1")
      return Add(Good("SELinux", enforcing.empty() ? "not in use" : "permissive"));
    Add(Note("SELinux", "enforcing",
             "in a pod tenond needs the type spc_t: overlay selinux, or `tenon manifests "
             "--selinux`"));
  }

  void LookAtCdi(const char* directory) {
    auto file = machine_.Stat(directory);
    if (!file) return;
    std::string why;
    if (file->kind != host::FileKind::kDirectory) why = "is no directory";
    if (why.empty() && IsRootsAlone(*file, why)) return Add(Good("CDI", directory));
    Add(Bad("CDI", std::string(directory) + " " + why,
            "hooks in CDI specs run as root: chown root, chmod go-w"));
  }

  const DoctorOptions& options_;
  host::Host& machine_;
  host::Host& host_;
  const std::string plugins_;
  std::vector<Finding> findings_;
};

std::string_view Word(Verdict verdict) {
  switch (verdict) {
    case Verdict::kGood:
      return "ok";
    case Verdict::kNote:
      return "note";
    case Verdict::kBad:
      break;
  }
  return "BAD";
}

}  // namespace

Result<std::vector<Finding>> Examine(const DoctorOptions& options) {
  TENON_TRY(const auto machine, host::PosixHost::Open(options.root));
  TENON_TRY(const auto host, host::PosixHost::Open("/"));
  return Examination(options, *machine, *host).Run();
}

std::string RenderFindings(const std::vector<Finding>& findings) {
  size_t width = 0;
  for (const Finding& finding : findings)
    width = std::max(width, finding.what.size());
  std::string out;
  for (const Finding& finding : findings) {
    out += fmt::format("{:4}  {:{}}  {}\n", Word(finding.verdict), finding.what, width,
                       base::EscapeForLine(finding.found));
    if (!finding.advice.empty())
      out += fmt::format("{:{}}  {}\n", "", width + 6, "-> " + base::EscapeForLine(finding.advice));
  }
  return out;
}

Value ToValue(const std::vector<Finding>& findings) {
  Value out = Value::Object();
  Value& items = out.Add("findings", Value::Array());
  for (const Finding& finding : findings) {
    Value& item = items.Append(Value::Object());
    item.Add("verdict", Value::String(finding.verdict == Verdict::kGood   ? "good"
                                      : finding.verdict == Verdict::kNote ? "note"
                                                                          : "bad"));
    item.Add("what", Value::String(finding.what));
    item.Add("found", Value::String(finding.found));
    if (!finding.advice.empty()) item.Add("advice", Value::String(finding.advice));
  }
  return out;
}

}  // namespace tenon::cli
