#include "tenon/suggest.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "config/config.h"
#include "discovery/sysfs.h"
#include "sources/rule_sources.h"

namespace tenon::cli {
namespace {

constexpr std::string_view kPreamble =
    "# Devices of this machine, as \"tenon discover --suggest\" found them. Take out what no\n"
    "# container shall have; \"tenon check\" and \"tenon discover --config\" say what is left.\n"
    "domain: example.com  # Write a DNS name that you own.\n"
    "resources:\n";
constexpr std::string_view kUsbDevices = "/sys/bus/usb/devices";
constexpr std::string_view kPciDevices = "/sys/bus/pci/devices";
constexpr std::string_view kTtys = "/sys/class/tty";
constexpr size_t kMostShown = 8;
constexpr size_t kMostText = 200;

/// One resource that there might be.
struct Candidate {
  std::string name;
  std::string about;
  std::vector<std::string> rules;  ///< Each in flow style, on one line.
  int share = 1;
};

/// What is there under the same name on every machine that has it.
std::vector<Candidate> WellKnown() {
  constexpr int kShare = 100;
  return {
      {"camera",
       "Cameras, each with all its device nodes",
       {"sysfs: {subsystem: video4linux, together: true}"}},
      {"render",
       "GPUs without the right to set modes",
       {"sysfs: {subsystem: drm, name: \"render*\"}"}},
      {"verbs", "InfiniBand and RDMA", {"sysfs: {subsystem: infiniband_verbs}"}},
      {"sound", "All of the sound cards as one device", {"path: /dev/snd"}},
      {"gpio", "GPIO chips", {"path: /dev/gpiochip*"}},
      {"i2c", "I2C buses", {"path: /dev/i2c-*"}},
      {"spi", "SPI devices", {"path: /dev/spidev*"}},
      {"kvm", "Virtual machines", {"path: /dev/kvm"}, kShare},
      {"vhost-net", "Networks of virtual machines", {"path: /dev/vhost-net"}, kShare},
      {"vhost-vsock", "Sockets of virtual machines", {"path: /dev/vhost-vsock"}, kShare},
      {"fuse", "File systems by programs", {"path: /dev/fuse"}, kShare},
      {"tun", "Network tunnels", {"path: /dev/net/tun"}, kShare},
      {"tpm", "The TPM, by the kernel's resource manager", {"path: /dev/tpmrm0"}, kShare},
      {"hwrng", "Random numbers of hardware", {"{path: /dev/hwrng, permissions: r}"}, kShare},
  };
}

/// What hardware says about itself, fit for a comment.
std::string Comment(std::string_view text) {
  std::string out(text.substr(0, kMostText));
  std::ranges::replace_if(
      out, [](char c) { return c < ' ' || c > '~'; }, '?');
  return out;
}

/// Four hex digits, as they stand in a rule and in the name of a resource.
bool IsHexId(std::string_view text) {
  return text.size() == 4 && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

/// Whether a path can stand in a rule as it is.
bool IsPlainPath(std::string_view path) {
  return path.starts_with("/dev/") && std::ranges::all_of(path, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  c == '/' || c == '-' || c == '_';
         });
}

std::string Plural(size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string ResourceText(const Candidate& candidate) {
  std::string text = "  - name: " + candidate.name + "\n";
  if (candidate.share > 1) text += "    share: " + std::to_string(candidate.share) + "\n";
  text += "    devices:\n";
  for (const std::string& rule : candidate.rules)
    text.append("      - ").append(rule).append("\n");
  return text;
}

/// Looks what there might be, tries it, and writes down what is.
class Suggester final {
 public:
  explicit Suggester(const Machine& machine) : machine_(machine) {}
  std::string Run();

 private:
  /// Ignores what the sources say about matches that they leave out.
  class NoLog final : public base::Log {
   public:
    void Write(base::LogLevel, std::string_view, const base::LogFields&) override {}
  };

  void AddUsbDevices();
  void AddUsbDevice(const std::string& vendor, const std::string& product,
                    const std::string& directory);
  void AddSerialPorts();
  void AddVfioGroups();
  void Try(const Candidate& candidate);
  std::vector<discovery::FoundDevicePtr> Find(const std::string& resource);
  void LeaveOut(const std::string& what, const std::string& why) {
    left_out_ += "# Left out: " + what + ": " + why + "\n";
  }

  const Machine& machine_;
  NoLog log_;
  std::set<std::string> taken_;  ///< Device nodes, by their real paths.
  std::string resources_;
  std::string left_out_;
};

std::string Suggester::Run() {
  AddUsbDevices();
  AddSerialPorts();
  AddVfioGroups();
  for (const Candidate& candidate : WellKnown())
    Try(candidate);
  return resources_.empty() ? "" : std::string(kPreamble) + resources_ + left_out_;
}

void Suggester::AddUsbDevices() {
  auto names = machine_.host.List(std::string(kUsbDevices));
  if (!names) return;
  std::ranges::sort(*names, base::NaturalLess);
  std::set<std::string> seen;
  for (const std::string& name : *names) {
    if (!discovery::IsUsbPort(name)) continue;
    auto directory = machine_.host.RealPath(base::JoinPath(kUsbDevices, name));
    if (!directory) continue;
    const std::string vendor = discovery::ReadAttribute(machine_.host, *directory, "idVendor");
    const std::string product = discovery::ReadAttribute(machine_.host, *directory, "idProduct");
    if (IsHexId(vendor) && IsHexId(product) && seen.insert(vendor + product).second)
      AddUsbDevice(vendor, product, *directory);
  }
}

void Suggester::AddUsbDevice(const std::string& vendor, const std::string& product,
                             const std::string& directory) {
  constexpr std::string_view kHub = "09";
  if (discovery::ReadAttribute(machine_.host, directory, "bDeviceClass") == kHub) return;
  std::set<std::string> subsystems;
  for (const discovery::SysfsNode& node :
       discovery::NodesBelow(machine_.host, directory, &discovery::IsUsbPort))
    subsystems.insert(node.subsystem);
  const std::string number = vendor + ":" + product;
  const std::string text = "USB " + number + " \"" +
                           Comment(discovery::ReadAttribute(machine_.host, directory, "product")) +
                           "\"";
  const std::string rule = "usb: {vendor: \"" + vendor + "\", product: \"" + product + "\"}";
  const std::string name = vendor + "-" + product;
  if (subsystems.contains("video4linux")) return;  // See WellKnown().
  if (subsystems.contains("tty")) {
    Try({"serial-" + name, text, {"{" + rule + ", nodes: [tty]}"}});
  } else if (subsystems.contains("block")) {
    LeaveOut(text, "block devices, which only an unsafe rule may offer");
  } else if (subsystems.contains("input")) {
    LeaveOut(text, "a keyboard or the like; to offer it, {" + rule + ", nodes: [input]}");
  } else if (subsystems.contains("hidraw")) {
    Try({"hid-" + name, text, {"{" + rule + ", nodes: [hidraw]}"}});
  } else {
    Try({"usb-" + name, text, {rule}});
  }
}

void Suggester::AddSerialPorts() {
  Candidate ports{"serial-port", "Serial ports of the board; the console may be one of them", {}};
  auto names = machine_.host.List(std::string(kTtys));
  if (!names) return;
  std::ranges::sort(*names, base::NaturalLess);
  for (const std::string& name : *names) {
    auto directory = machine_.host.RealPath(base::JoinPath(kTtys, name));
    if (!directory) continue;
    // Of a UART that the driver only has room for, the type is 0; other ttys have none.
    const std::string type = discovery::ReadAttribute(machine_.host, *directory, "type");
    const std::string path = discovery::DevicePath(machine_.host, *directory);
    if (!type.empty() && type != "0" && IsPlainPath(path)) ports.rules.push_back("path: " + path);
  }
  if (!ports.rules.empty()) Try(ports);
}

void Suggester::AddVfioGroups() {
  auto names = machine_.host.List(std::string(kPciDevices));
  if (!names) return;
  // By IOMMU group what its functions are, as a group is given as a whole.
  std::map<std::string, std::set<std::string>> groups;
  for (const std::string& address : *names) {
    const std::string directory = base::JoinPath(kPciDevices, address);
    if (discovery::LinkName(machine_.host, directory, "driver") != "vfio-pci") continue;
    auto id = [&](std::string_view attribute) {
      const std::string text = discovery::ReadAttribute(machine_.host, directory, attribute);
      return text.starts_with("0x") ? text.substr(2) : text;
    };
    const std::string vendor = id("vendor");
    const std::string device = id("device");
    if (!IsHexId(vendor) || !IsHexId(device)) continue;
    std::string selector = "{vendor: \"" + vendor;
    selector += "\", device: \"" + device + "\", driver: vfio-pci}";
    groups[discovery::LinkName(machine_.host, directory, "iommu_group")].insert(selector);
  }
  std::set<std::set<std::string>> kinds;
  for (const auto& [group, selectors] : groups) {
    if (!kinds.insert(selectors).second) continue;
    const std::string number = kinds.size() == 1 ? "" : "-" + std::to_string(kinds.size());
    const std::vector<std::string> list(selectors.begin(), selectors.end());
    Try({"vfio" + number,
         "PCI functions bound to vfio-pci, by IOMMU groups",
         {"{pci: [" + base::Join(list, ", ") + "], nodes: [vfio]}"}});
  }
}

void Suggester::Try(const Candidate& candidate) {
  const std::string resource = ResourceText(candidate);
  std::string found;
  size_t count = 0;
  std::string sick;
  std::set<std::string> paths;
  for (const discovery::FoundDevicePtr& device : Find(resource)) {
    if (device->health == Health::kUnhealthy) sick = device->id.value + ": " + device->reason;
    if (device->health == Health::kUnhealthy || ++count > kMostShown) continue;
    std::string line = "  #   " + Comment(device->id.value) + ":";
    for (const discovery::FoundPath& path : device->paths) {
      if (!path.shared) paths.insert(path.real_path);
      line += " " + Comment(path.real_path);
      if (path.group) line += " (group " + std::to_string(*path.group) + ")";
    }
    found += line + "\n";
  }
  if (count == 0 && !sick.empty()) LeaveOut(candidate.about, Comment(sick));
  if (count == 0 ||
      std::ranges::any_of(paths, [this](const std::string& path) { return taken_.contains(path); }))
    return;
  taken_.merge(paths);
  if (count > kMostShown) found += "  #   and " + std::to_string(count - kMostShown) + " more\n";
  resources_ += "  # " + candidate.about + ": " + Plural(count, "device") + "\n" + found + resource;
}

std::vector<discovery::FoundDevicePtr> Suggester::Find(const std::string& resource) {
  const config::ConfigOutcome outcome =
      config::Load("domain: example.com\nresources:\n" + resource, "suggestion");
  std::vector<discovery::FoundDevicePtr> all;
  if (!outcome.config) return all;
  for (const auto& source : MakeSources({machine_.host, nullptr, machine_.loop.timers(), log_},
                                        machine_.runner, outcome.config->resources.front(), {}))
    std::ranges::move(LookOnce(machine_.loop, *source), std::back_inserter(all));
  return all;
}

}  // namespace

std::string SuggestConfig(const Machine& machine) {
  return Suggester(machine).Run();
}

}  // namespace tenon::cli
