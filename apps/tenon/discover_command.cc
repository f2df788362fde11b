#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <variant>

#include "base/strings.h"
#include "config/config.h"
#include "host/host.h"
#include "loop/event_loop.h"
#include "program/runner.h"
#include "sources/rule_sources.h"
#include "tenon/commands.h"
#include "tenon/json_view.h"
#include "tenon/look_once.h"
#include "tenon/options.h"
#include "tenon/suggest.h"
#include "tenon/table.h"
#include "tenon/terminal.h"

namespace tenon::cli {
namespace {

struct DiscoverOptions {
  std::vector<std::string> configs;
  bool suggest = false;
  std::string root = "/";
  std::vector<std::string> allow_paths;
  std::vector<std::string> allow_exec;
  OutputFormat output = OutputFormat::kTable;
};

/// What a source says about matches that it leaves out.
class SkippedMatches final : public base::Log {
 public:
  void Write(base::LogLevel, std::string_view, const base::LogFields& fields) override {
    Value match = Value::Object();
    for (const base::LogField& field : fields)
      match.Add(field.key, Value::String(field.value));
    matches_.Append(std::move(match));
  }
  Value Take() { return std::exchange(matches_, Value::Array()); }

 private:
  Value matches_ = Value::Array();
};

std::string MemberText(const config::Member& member) {
  struct Describe {
    std::string operator()(const config::PathRule& rule) const { return "path " + rule.pattern; }
    std::string operator()(const config::UsbRule& rule) const {
      const config::UsbMatch& match = rule.any_of.front();
      std::string text = "usb " + match.vendor;
      if (!match.product.empty()) text += ":" + match.product;
      for (const std::string* part : {&match.serial, &match.port})
        if (!part->empty()) text += " " + base::EscapeForLine(*part);
      return rule.any_of.size() > 1 ? text + " ..." : text;
    }
    std::string operator()(const config::PciRule& rule) const {
      const config::PciMatch& match = rule.any_of.front();
      std::string text = "pci " + match.vendor;
      if (!match.device.empty()) text += ":" + match.device;
      for (const std::string* part : {&match.address, &match.pci_class, &match.driver})
        if (!part->empty()) text += " " + *part;
      return rule.any_of.size() > 1 ? text + " ..." : text;
    }
    std::string operator()(const config::SysfsRule& rule) const {
      return "sysfs " + rule.subsystem + (rule.name.empty() ? "" : " " + rule.name);
    }
    std::string operator()(const config::VirtualRule& rule) const {
      return "virtual " + std::to_string(rule.count);
    }
    std::string operator()(const config::CommandRule& rule) const {
      return "command " + base::EscapeForLine(rule.list.program.argv.front());
    }
  };
  return std::visit(Describe{}, member.source);
}

std::string RuleText(const config::DeviceRule& rule) {
  if (!rule.group) return MemberText(rule.members.front());
  std::string text = "all of";
  for (const config::Member& member : rule.members)
    text += (&member == &rule.members.front() ? " " : ", ") + MemberText(member);
  return text;
}

Value ToValue(const discovery::FoundDevice& device) {
  Value out = Value::Object();
  out.Add("id", Value::String(device.id.value));
  out.Add("health", Value::String(device.health == Health::kHealthy ? "Healthy" : "Unhealthy"));
  if (!device.reason.empty()) out.Add("reason", Value::String(device.reason));
  Value& numa_nodes = out.Add("numaNodes", Value::Array());
  for (int numa_node : device.numa_nodes)
    numa_nodes.Append(Value::Number(numa_node));
  Value& device_nodes = out.Add("deviceNodes", Value::Array());
  for (const discovery::FoundPath& path : device.paths) {
    Value& item = device_nodes.Append(Value::Object());
    item.Add("path", Value::String(path.host_path));
    item.Add("realPath", Value::String(path.real_path));
    item.Add("containerPath", Value::String(path.container_path));
    item.Add("major", Value::Number(path.major));
    item.Add("minor", Value::Number(path.minor));
    if (path.group) item.Add("group", Value::Number(*path.group));
  }
  return out;
}

Value Skip(const std::string& id) {
  Value match = Value::Object();
  match.Add("id", Value::String(id));
  match.Add("why", Value::String("an earlier rule offers this id"));
  return match;
}

/// Runs the sources of one resource once, without watching anything.
Value Discover(const Machine& machine, const DiscoverOptions& options,
               const config::ResourceConfig& resource) {
  SkippedMatches skipped;
  auto sources = MakeSources({machine.host, nullptr, machine.loop.timers(), skipped},
                             machine.runner, resource, options.allow_paths);
  Value out = Value::Object();
  out.Add("name", Value::String(resource.name.text()));
  Value& rules = out.Add("rules", Value::Array());
  std::set<std::string> ids;
  for (size_t i = 0; i < sources.size(); ++i) {
    const config::DeviceRule& rule = resource.devices[i];
    const discovery::Snapshot found = LookOnce(machine.loop, *sources[i]);
    Value devices = Value::Array();
    Value left_out = skipped.Take();
    for (const discovery::FoundDevicePtr& device : found) {
      if (ids.insert(device->id.value).second) {
        devices.Append(ToValue(*device));
      } else {
        left_out.Append(Skip(device->id.value));
      }
    }
    Value& item = rules.Append(Value::Object());
    item.Add("place", Value::String(PlaceText(resource.file, rule.mark)));
    item.Add("rule", Value::String(RuleText(rule)));
    item.Add("devices", std::move(devices));
    item.Add("skipped", std::move(left_out));
  }
  return out;
}

/// "/dev/ttyUSB0 (188:0)".
std::string DeviceNodes(const Value& device) {
  std::vector<std::string> texts;
  for (const Value& node : ItemsAt(device, {"deviceNodes"})) {
    texts.push_back(TextAt(node, {"path"}) + " (" + TextAt(node, {"major"}) + ":" +
                    TextAt(node, {"minor"}) + ")");
  }
  return base::Join(texts, ", ");
}

/// Which groups a container has to be in unless it is root: each once.
std::string Groups(const Value& device) {
  std::vector<std::string> texts;
  for (const Value& node : ItemsAt(device, {"deviceNodes"}))
    if (std::string group = TextAt(node, {"group"});
        !group.empty() && std::ranges::find(texts, group) == texts.end())
      texts.push_back(std::move(group));
  return base::Join(texts, ",");
}

std::string NumaNodes(const Value& device) {
  std::vector<std::string> texts;
  for (const Value& numa_node : ItemsAt(device, {"numaNodes"}))
    texts.push_back(numa_node.text());
  return base::Join(texts, ",");
}

std::string RuleNote(const Value& rule) {
  bool found = !ItemsAt(rule, {"devices"}).empty();
  bool skipped = !ItemsAt(rule, {"skipped"}).empty();
  return found || skipped ? "" : "nothing is there";
}

std::string Render(const std::vector<Value>& resources) {
  Table devices({"RESOURCE", "DEVICE", "HEALTH", "DEVICE NODES", "GROUP", "NUMA", "REASON"});
  Table rules({"RULE AT", "RESOURCE", "RULE", "DEVICES", "NOTE"});
  Table skipped({"RULE AT", "NOT OFFERED", "WHY"});
  for (const Value& resource : resources) {
    std::string name = TextAt(resource, {"name"});
    for (const Value& rule : ItemsAt(resource, {"rules"})) {
      std::vector<Value> found = ItemsAt(rule, {"devices"});
      for (const Value& device : found) {
        devices.Add({name, TextAt(device, {"id"}), TextAt(device, {"health"}), DeviceNodes(device),
                     Groups(device), NumaNodes(device), TextAt(device, {"reason"})});
      }
      std::string place = TextAt(rule, {"place"});
      rules.Add(
          {place, name, TextAt(rule, {"rule"}), std::to_string(found.size()), RuleNote(rule)});
      for (const Value& match : ItemsAt(rule, {"skipped"}))
        skipped.Add(
            {place, TextAt(match, {"path"}) + TextAt(match, {"id"}), TextAt(match, {"why"})});
    }
  }
  std::string out = rules.Render();
  if (!devices.empty()) out = devices.Render() + "\n" + out;
  if (!skipped.empty()) out += "\n" + skipped.Render();
  return out;
}

int Suggest(const Machine& machine) {
  const std::string text = SuggestConfig(machine);
  if (text.empty()) {
    PrintError("no device is there that has a rule to suggest");
    return kExitFailed;
  }
  Print(text);
  return kExitOk;
}

int ShowFound(const Machine& machine, const DiscoverOptions& options) {
  auto loaded = config::LoadPaths(
      options.configs, {.allow_paths = options.allow_paths, .allow_exec = options.allow_exec});
  for (const std::string& error : loaded.errors)
    PrintError(error);
  if (!loaded.config) return kExitFailed;
  std::vector<Value> resources;
  for (const config::ResourceConfig& resource : loaded.config->resources)
    resources.push_back(Discover(machine, options, resource));
  if (options.output == OutputFormat::kTable) {
    Print(Render(resources));
    return kExitOk;
  }
  Value out = Value::Object();
  out.Add("resources", Value::Array(std::move(resources)));
  Print(ToJsonText(out));
  return kExitOk;
}

int Run(const DiscoverOptions& options) {
  if (options.configs.empty() != options.suggest) {
    PrintError(options.suggest ? "--suggest takes no --config; what it prints can be one"
                               : "name a configuration with --config PATH, or say --suggest");
    return kExitUsage;
  }
  if (options.suggest && options.output == OutputFormat::kJson) {
    PrintError("--suggest prints YAML; leave out --output");
    return kExitUsage;
  }
  auto host = host::PosixHost::Open(options.root);
  if (!host) return Fail(host.error());
  const base::SystemClock clock;
  auto loop = loop::EventLoop::Create(clock);
  if (!loop) return Fail(loop.error());
  program::Runner runner(**loop, options.allow_exec);
  const Machine machine{**host, **loop, runner};
  return options.suggest ? Suggest(machine) : ShowFound(machine, options);
}

}  // namespace

RunFn AddDiscoverCommand(CLI::App& app) {
  auto options = std::make_shared<DiscoverOptions>();
  AddConfigOption(app, options->configs);
  app.add_flag("--suggest", options->suggest, "Print a configuration for the devices found");
  app.add_option("--root", options->root, "Look for /dev and /sys below this directory")
      ->type_name("DIR")
      ->capture_default_str();
  AddAllowPathOption(app, options->allow_paths);
  AddAllowExecOption(app, options->allow_exec);
  AddOutputOption(app, options->output);
  app.footer(
      "Looks once, as tenond would, and needs no kubelet: what each rule finds, and why it does "
      "not\n"
      "offer what it leaves out. GROUP is what a container that is not root needs in\n"
      "supplementalGroups.\n\n"
      "--suggest needs no configuration: it prints one for serial ports, USB sticks, cameras,\n"
      "render nodes, PCI functions bound to vfio-pci, KVM, FUSE, the TPM and more of this\n"
      "machine, each rule tried.\n\n"
      "Examples:\n"
      "  tenon discover --config /etc/tenon/config.yaml\n"
      "  tenon discover --config config.yaml -o json\n"
      "  tenon discover --suggest > config.yaml");
  return [options] { return Run(*options); };
}

}  // namespace tenon::cli
