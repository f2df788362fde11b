#include <CLI/CLI.hpp>
#include <csignal>
#include <functional>
#include <memory>

#include "base/log.h"
#include "base/strings.h"
#include "loop/signal_watch.h"
#include "process/environment.h"
#include "tenon/commands.h"
#include "tenon/input_file.h"
#include "tenon/json_view.h"
#include "tenon/options.h"
#include "tenon/resource/connection.h"
#include "tenon/resource/keeper.h"
#include "tenon/resource/node_patch.h"
#include "tenon/resource/node_resources.h"
#include "tenon/resource/wish.h"
#include "tenon/table.h"
#include "tenon/terminal.h"

namespace tenon::cli {
namespace {

/// Somebody else may change a node between our look and our patch, but hardly this often.
constexpr int kMostTries = 5;

struct ResourceOptions {
  ConnectionOptions connection;
  std::string kube_node;
  std::vector<std::string> resources;
  std::string config;
  bool watch = false;
  bool dry_run = false;
  OutputFormat output = OutputFormat::kTable;
};

using PatchFn = std::function<NodePatch(const Value& kube_node)>;

kubeapi::ApiAnswer GetNode(Connection& connection, const std::string& name) {
  kubeapi::ApiAnswer answer =
      connection.Call({.what = "get node " + name, .path = "/api/v1/nodes/" + name});
  if (answer.status == 404) {
    answer.object = Error(Code::kNotFound, answer.object.error().message() +
                                               "; 'kubectl get nodes' lists those that there are");
  }
  return answer;
}

void PrintPlan(const Connection& connection, const std::string& name, const NodePatch& patch) {
  const kubeapi::ApiRequest request = PatchRequest(name, patch.operations);
  const std::string& server = connection.server();
  const bool is_proxy = server.starts_with("http://");
  Print(request.body);
  Print("\n# The same by curl");
  Print(is_proxy ? "" : ", through 'kubectl proxy'");
  Print(":\n# curl --request PATCH --header 'Content-Type: ");
  Print(request.content_type);
  Print("' --data '");
  Print(request.body);
  Print("' '");
  Print(is_proxy ? server : "http://127.0.0.1:8001");
  Print(request.path);
  Print("'\n");
}

/// Patches one node, again when it has changed meanwhile.
Result<void> SettleNode(Connection& connection, const std::string& name, const PatchFn& make,
                        bool dry_run) {
  std::string tried;
  for (int left = kMostTries;; --left) {
    kubeapi::ApiAnswer node = GetNode(connection, name);
    if (!node.object) return std::move(node.object).error();
    const NodePatch patch = make(*node.object);
    if (!patch.refusals.empty())
      return Error(Code::kFailedPrecondition, base::Join(patch.refusals, "\n"))
          .Wrap("node " + name);
    if (patch.empty()) return Print(name + ": nothing to change\n"), Result<void>();
    if (dry_run) return PrintPlan(connection, name, patch), Result<void>();
    kubeapi::ApiRequest request = PatchRequest(name, patch.operations);
    const bool is_new = std::exchange(tried, request.body) != request.body;
    kubeapi::ApiAnswer patched = connection.Call(std::move(request));
    if (patched.object) {
      std::string lines;
      for (const std::string& change : patch.changes)
        lines.append(name).append(": ").append(change).append("\n");
      Print(lines);
      return {};
    }
    // Refused because of what it tests for, or because of what it says: then it stays the same.
    const bool may_be_stale = patched.status == 409 || patched.status == 422;
    if (!may_be_stale || !is_new || left == 1) return std::move(patched.object).error();
  }
}

/// Keeps all nodes until a signal comes.
int Watch(Connection& connection, const WishesByNode& wishes) {
  const base::SystemClock clock;
  base::StreamLog log(STDERR_FILENO, base::StreamLog::Format::kText, base::LogLevel::kInfo, clock);
  loop::EventLoop& loop = connection.loop();
  auto signals =
      loop::SignalWatch::Create(loop, {SIGINT, SIGTERM}, [&loop](int /*signal*/) { loop.Stop(); });
  if (!signals) return Fail(signals.error());
  std::vector<std::unique_ptr<Keeper>> keepers;
  for (const auto& [name, node_wishes] : wishes)
    keepers.push_back(std::make_unique<Keeper>(loop, connection.client(), log, name, node_wishes));
  log.Info("watching", {{"nodes", keepers.size()}, {"server", connection.server()}});
  loop.Run();
  return kExitOk;
}

Result<WishesByNode> ReadWishes(const ResourceOptions& options) {
  if (!options.config.empty()) {
    TENON_TRY(const std::string text, ReadInput(options.config));
    return ParseWishFile(text, options.config);
  }
  if (options.kube_node.empty() || options.resources.empty()) {
    return Error(Code::kInvalidArgument,
                 "name a node and what it is to have, 'lab example.com/dongle=4', or a --config");
  }
  TENON_TRY_VOID(CheckNodeName(options.kube_node));
  TENON_TRY(std::vector<Wish> wishes, ParseWishes(options.resources));
  return WishesByNode{{options.kube_node, std::move(wishes)}};
}

/// `act` with a connection; the command line has been found right by then.
int WithConnection(const ResourceOptions& options, const std::function<int(Connection&)>& act) {
  const base::SystemClock clock;
  auto loop = loop::EventLoop::Create(clock);
  if (!loop) return Fail(loop.error());
  auto connection = Connection::Open(**loop, options.connection, process::OurEnvironment());
  return connection ? act(**connection) : Fail(connection.error());
}

int SetResources(const ResourceOptions& options, Existing existing) {
  auto wishes = ReadWishes(options);
  if (!wishes) return Fail(wishes.error()), kExitUsage;
  return WithConnection(options, [&](Connection& connection) {
    if (options.watch) return Watch(connection, *wishes);
    int code = kExitOk;
    for (const auto& [name, node_wishes] : *wishes) {
      const PatchFn make = [&wishes_of_one = node_wishes, existing](const Value& kube_node) {
        return PatchToSet(kube_node, wishes_of_one, existing);
      };
      if (auto settled = SettleNode(connection, name, make, options.dry_run); !settled)
        code = Fail(settled.error());
    }
    return code;
  });
}

int Add(const ResourceOptions& options) {
  return SetResources(options, Existing::kRefuse);
}

int Set(const ResourceOptions& options) {
  return SetResources(options, Existing::kReplace);
}

int Remove(const ResourceOptions& options) {
  if (auto good = CheckNodeName(options.kube_node); !good) return Fail(good.error()), kExitUsage;
  auto names = ParseNames(options.resources);
  if (!names) return Fail(names.error()), kExitUsage;
  return WithConnection(options, [&](Connection& connection) {
    const PatchFn make = [&names](const Value& kube_node) {
      return PatchToRemove(kube_node, *names);
    };
    auto settled = SettleNode(connection, options.kube_node, make, options.dry_run);
    return settled ? kExitOk : Fail(settled.error());
  });
}

std::string RenderTable(const std::map<std::string, NodeResource>& resources) {
  Table table({"RESOURCE", "CAPACITY", "ALLOCATABLE", "SET BY"});
  for (const auto& [name, resource] : resources)
    table.Add({name, resource.capacity, resource.allocatable, resource.manager});
  return table.empty() ? "no extended resources\n" : table.Render();
}

std::string RenderJson(const std::string& kube_node,
                       const std::map<std::string, NodeResource>& resources) {
  Value top = Value::Object();
  top.Add("node", Value::String(kube_node));
  Value& list = top.Add("resources", Value::Array());
  for (const auto& [name, resource] : resources) {
    Value& item = list.Append(Value::Object());
    item.Add("name", Value::String(name));
    item.Add("capacity", Value::String(resource.capacity));
    item.Add("allocatable", Value::String(resource.allocatable));
    item.Add("manager", Value::String(resource.manager));
    item.Add("kubelet", Value::Bool(resource.is_kubelets));
  }
  return ToJsonText(top);
}

int List(const ResourceOptions& options) {
  if (auto good = CheckNodeName(options.kube_node); !good) return Fail(good.error()), kExitUsage;
  return WithConnection(options, [&](Connection& connection) {
    const kubeapi::ApiAnswer node = GetNode(connection, options.kube_node);
    if (!node.object) return Fail(node.object.error());
    const auto resources = ReadNodeResources(*node.object);
    Print(options.output == OutputFormat::kJson ? RenderJson(options.kube_node, resources)
                                                : RenderTable(resources));
    return static_cast<int>(kExitOk);
  });
}

void AddNode(CLI::App& app, ResourceOptions& options) {
  app.add_option("node", options.kube_node, "Name of the Node object")
      ->type_name("NODE")
      ->required();
}

void AddDryRun(CLI::App& app, ResourceOptions& options) {
  app.add_flag("--dry-run", options.dry_run,
               "Print the JSON patch, and how to send it with curl, instead of sending it");
}

void AddWishes(CLI::App& app, ResourceOptions& options) {
  app.add_option("resources", options.resources, "Resources and how much of each there is")
      ->type_name("RESOURCE=QUANTITY")
      ->required();
}

void AddAdd(CLI::App& app, ResourceOptions& options) {
  AddNode(app, options);
  AddWishes(app, options);
  AddDryRun(app, options);
  app.footer(
      "A resource that is there with another quantity is left alone; 'set' changes it. The "
      "kubelet\n"
      "makes what was added allocatable within 10 s.\n\n"
      "Examples:\n"
      "  tenon resource add lab example.com/dongle=4 example.com/seat=10");
}

void AddSet(CLI::App& app, ResourceOptions& options) {
  auto* node =
      app.add_option("node", options.kube_node, "Name of the Node object")->type_name("NODE");
  auto* wishes =
      app.add_option("resources", options.resources, "Resources and how much of each there is")
          ->type_name("RESOURCE=QUANTITY");
  app.add_option("--config", options.config, "File that says so for any number of nodes")
      ->type_name("FILE")
      ->excludes(node)
      ->excludes(wishes);
  auto* watch = app.add_flag(
      "--watch", options.watch,
      "Go on until a signal, and set them again when the node was made anew or its kubelet has "
      "set them to 0");
  AddDryRun(app, options);
  watch->excludes(app.get_option("--dry-run"));
  app.footer(
      "Resources that a device plugin offers on the node are left to its kubelet.\n\n"
      "Examples:\n"
      "  tenon resource set lab example.com/dongle=2\n"
      "  tenon resource set --config resources.yaml --watch");
}

void AddRemove(CLI::App& app, ResourceOptions& options) {
  AddNode(app, options);
  app.add_option("resources", options.resources, "Resources to take away")
      ->type_name("RESOURCE")
      ->required();
  AddDryRun(app, options);
  app.footer(
      "Pods that hold the resource go on running.\n\n"
      "Examples:\n"
      "  tenon resource remove lab example.com/dongle");
}

void AddList(CLI::App& app, ResourceOptions& options) {
  AddNode(app, options);
  AddOutputOption(app, options.output);
  app.footer(
      "SET BY is the field manager of the capacity: 'tenon' for this command, the kubelet's for\n"
      "what device plugins offer.\n\n"
      "Examples:\n"
      "  tenon resource list lab");
}

struct ResourceAction {
  const char* name;
  const char* summary;
  void (*add)(CLI::App& app, ResourceOptions& options);
  int (*run)(const ResourceOptions& options);
};

constexpr ResourceAction kActions[] = {
    {"add", "Give a node resources that it does not have", AddAdd, Add},
    {"set", "Give nodes resources, whatever they have of them", AddSet, Set},
    {"remove", "Take resources from a node", AddRemove, Remove},
    {"list", "Show a node's extended resources and who has set them", AddList, List},
};

}  // namespace

RunFn AddResourceCommand(CLI::App& app) {
  auto options = std::make_shared<ResourceOptions>();
  app.require_subcommand(1);
  for (const ResourceAction& action : kActions) {
    CLI::App* sub = app.add_subcommand(action.name, action.summary);
    sub->group("Commands");
    action.add(*sub, *options);
    AddConnectionOptions(*sub, options->connection);
  }
  return [options, &app] {
    const std::string name = app.get_subcommands().front()->get_name();
    const auto* action = std::find_if(std::begin(kActions), std::end(kActions),
                                      [&name](const ResourceAction& a) { return a.name == name; });
    return action->run(*options);
  };
}

}  // namespace tenon::cli
