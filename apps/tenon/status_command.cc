#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/strings.h"
#include "tenon/commands.h"
#include "tenon/control_client.h"
#include "tenon/json_view.h"
#include "tenon/kubelet_resources.h"
#include "tenon/options.h"
#include "tenon/table.h"
#include "tenon/terminal.h"

namespace tenon::cli {
namespace {

/// The newest; JSON has all that the daemon keeps.
constexpr size_t kShownEvents = 20;

struct StatusOptions {
  std::string control = "/run/tenon/tenond.sock";
  std::string kubelet_dir;  ///< Ask the kubelet there instead.
  OutputFormat output = OutputFormat::kTable;
};

/// "default/meter/main", for each container that holds the device.
std::string Holders(const Value& device) {
  std::vector<std::string> names;
  for (const Value& holder : ItemsAt(device, {"heldBy"})) {
    names.push_back(TextAt(holder, {"namespace"}) + "/" + TextAt(holder, {"pod"}) + "/" +
                    TextAt(holder, {"container"}));
  }
  return base::Join(names, ",");
}

std::string Paths(const Value& device) {
  std::vector<std::string> paths;
  for (const Value& node : ItemsAt(device, {"deviceNodes"}))
    paths.push_back(TextAt(node, {"path"}));
  return base::Join(paths, ",");
}

std::vector<std::string> ResourceRow(const Value& resource) {
  size_t healthy = 0;
  size_t held = 0;
  std::vector<Value> devices = ItemsAt(resource, {"devices"});
  for (const Value& device : devices) {
    if (TextAt(device, {"health"}) == "Healthy") ++healthy;
    if (!ItemsAt(device, {"heldBy"}).empty()) ++held;
  }
  return {TextAt(resource, {"name"}),
          TextAt(resource, {"state"}),
          ShortTime(TextAt(resource, {"since"})),
          std::to_string(devices.size()),
          std::to_string(healthy),
          std::to_string(held),
          TextAt(resource, {"detail"}) + TextAt(resource, {"listError"})};
}

/// "tenond 0.1.0, ready, running since 2026-01-01T00:00:00Z", and what is wrong with the whole.
std::string Headline(const Value& status) {
  std::string out = "tenond " + TextAt(status, {"version"});
  out += TextAt(status, {"ready"}) == "true" ? ", ready" : ", not ready";
  std::string started = ShortTime(TextAt(status, {"startedAt"}));
  if (!started.empty()) out += ", running since " + started;
  out = base::EscapeForLine(out) + "\n";
  std::vector<Value> errors = ItemsAt(status, {"configErrors"});
  if (!errors.empty()) out += "The configuration file is wrong, the former one is in force:\n";
  for (const Value& error : errors)
    out += "  " + base::EscapeForLine(error.text()) + "\n";
  std::string unknown = TextAt(status, {"holdersUnknown"});
  if (!unknown.empty())
    out += "Who holds what is not known: " + base::EscapeForLine(unknown) + "\n";
  return out;
}

std::string Render(const Value& status) {
  Table resources({"NAME", "STATE", "SINCE", "DEVICES", "HEALTHY", "HELD", "DETAIL"});
  Table devices({"RESOURCE", "DEVICE", "HEALTH", "SINCE", "PATHS", "HELD BY", "REASON"});
  for (const Value& resource : ItemsAt(status, {"resources"})) {
    resources.Add(ResourceRow(resource));
    for (const Value& device : ItemsAt(resource, {"devices"})) {
      devices.Add({TextAt(resource, {"name"}), TextAt(device, {"id"}), TextAt(device, {"health"}),
                   ShortTime(TextAt(device, {"since"})), Paths(device), Holders(device),
                   TextAt(device, {"reason"})});
    }
  }
  Table events({"TIME", "RESOURCE", "DEVICE", "EVENT"});
  std::vector<Value> all = ItemsAt(status, {"events"});
  for (size_t i = all.size() - std::min(all.size(), kShownEvents); i < all.size(); ++i) {
    events.Add({ShortTime(TextAt(all[i], {"time"})), TextAt(all[i], {"resource"}),
                TextAt(all[i], {"device"}), TextAt(all[i], {"text"})});
  }
  std::string out = Headline(status) + "\n";
  out += resources.Render();
  if (!devices.empty()) out += "\n" + devices.Render();
  if (!events.empty()) out += "\n" + events.Render();
  return out;
}

int RunKubelet(const StatusOptions& options) {
  auto resources =
      AskKubeletResources(base::JoinPath(options.kubelet_dir, "pod-resources/kubelet.sock"));
  if (!resources) return Fail(resources.error());
  Print(options.output == OutputFormat::kJson ? ToJsonText(ToValue(*resources))
                                              : RenderKubeletResources(*resources));
  return kExitOk;
}

int Run(const StatusOptions& options) {
  if (!options.kubelet_dir.empty()) return RunKubelet(options);
  auto client =
      ControlClient::Create({.path = options.control, .daemon = "tenond", .option = "--control"});
  if (!client) return Fail(client.error());
  auto status = (*client)->CallJson({.path = "/api/v1/status"});
  if (!status) return Fail(status.error());
  Print(options.output == OutputFormat::kJson ? ToJsonText(*status) : Render(*status));
  return kExitOk;
}

}  // namespace

RunFn AddStatusCommand(CLI::App& app) {
  auto options = std::make_shared<StatusOptions>();
  auto* control =
      app.add_option("--control", options->control, "Control socket of the tenond to ask")
          ->type_name("PATH")
          ->capture_default_str();
  app.add_option("--kubelet-dir", options->kubelet_dir,
                 "Ask the kubelet of this directory instead, whoever's plugins it has")
      ->type_name("DIR")
      ->excludes(control);
  AddOutputOption(app, options->output);
  app.footer(
      "Examples:\n"
      "  tenon status\n"
      "  tenon status --kubelet-dir /var/lib/kubelet\n"
      "  tenon status -o json | jq '.resources[].devices[] | select(.health != \"Healthy\")'");
  return [options] { return Run(*options); };
}

}  // namespace tenon::cli
