#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/strings.h"
#include "pod/manifest.h"
#include "tenon/commands.h"
#include "tenon/control_client.h"
#include "tenon/fit_action.h"
#include "tenon/input_file.h"
#include "tenon/json_view.h"
#include "tenon/options.h"
#include "tenon/pod_client.h"
#include "tenon/pod_view.h"
#include "tenon/terminal.h"

namespace tenon::cli {
namespace {

/// Plugins are asked meanwhile.
constexpr base::Duration kAdmission = std::chrono::minutes(5);

/// Of all the subcommands; each uses its part.
struct PodOptions {
  std::string kubelet_dir;
  OutputFormat output = OutputFormat::kTable;
  std::string file;
  bool wait = false;
  std::string namespace_name;  ///< Empty: not given.
  std::string name;
  bool all = false;
  int grace_seconds = -1;
  std::string container;
  bool follow = false;
  std::string format = "cri";
  FitOptions fit;
};

PodKey Key(const PodOptions& options) {
  return {.namespace_name = options.namespace_name.empty() ? "default" : options.namespace_name,
          .name = options.name};
}

void PrintJsonItems(std::vector<Value> pods) {
  Value list = Value::Object();
  list.Add("items", Value::Array(std::move(pods)));
  Print(ToJsonText(list));
}

/// Waits for all of them to end if asked to. Returns: whether none has failed.
bool ReportApplied(const PodOptions& options, ControlClient& client, std::vector<Value>& pods) {
  bool ok = true;
  for (Value& pod : pods) {
    if (options.wait && !IsTerminal(pod)) {
      auto ended = WaitForEnd(client, KeyOf(pod));
      if (!ended) {
        Fail(ended.error());
        ok = false;
        continue;
      }
      pod = *std::move(ended);
    }
    bool failed = TextAt(pod, {"status", "phase"}) == "Failed";
    if (failed) PrintError(PhaseLine(pod));
    if (!failed && options.output == OutputFormat::kTable)
      Print(base::EscapeForLine(PhaseLine(pod)) + "\n");
    ok = ok && !failed;
  }
  return ok;
}

int Apply(const PodOptions& options, ControlClient& client) {
  auto text = ReadInput(options.file);
  if (!text) return Fail(text.error());
  // The daemon reads it again; here the user's own file is named in what is wrong.
  pod::Manifest manifest =
      pod::ParseManifest(*text, options.file == "-" ? "stdin" : options.file, pod::RandomUid);
  for (const std::string& problem : manifest.problems)
    PrintError(problem);
  if (!manifest.problems.empty()) return kExitFailed;
  auto pods = CreatePods(client, *text);
  if (!pods) return Fail(pods.error());
  bool ok = ReportApplied(options, client, *pods);
  if (options.output == OutputFormat::kJson) PrintJsonItems(*std::move(pods));
  return ok ? kExitOk : kExitFailed;
}

/// The pods of the namespace in question, or all.
Result<std::vector<Value>> ListPods(const PodOptions& options, ControlClient& client) {
  TENON_TRY(Value answer, client.CallJson({.path = "/api/v1/pods"}));
  std::vector<Value> pods = ItemsAt(answer, {"items"});
  if (!options.namespace_name.empty()) {
    std::erase_if(pods, [&options](const Value& pod) {
      return TextAt(pod, {"metadata", "namespace"}) != options.namespace_name;
    });
  }
  return pods;
}

int List(const PodOptions& options, ControlClient& client) {
  auto pods = ListPods(options, client);
  if (!pods) return Fail(pods.error());
  if (options.output == OutputFormat::kJson) {
    PrintJsonItems(*std::move(pods));
  } else {
    Print(RenderPods(*pods));
  }
  return kExitOk;
}

int Describe(const PodOptions& options, ControlClient& client) {
  auto pod = GetPod(client, Key(options));
  if (!pod) return Fail(pod.error());
  Print(options.output == OutputFormat::kJson ? ToJsonText(*pod) : DescribePod(*pod));
  return kExitOk;
}

int Delete(const PodOptions& options, ControlClient& client) {
  if (options.all == !options.name.empty()) {
    PrintError("name one pod, or say --all");
    return kExitUsage;
  }
  std::vector<PodKey> keys;
  if (options.all) {
    auto pods = ListPods(options, client);
    if (!pods) return Fail(pods.error());
    for (const Value& pod : *pods)
      keys.push_back(KeyOf(pod));
  } else {
    keys.push_back(Key(options));
  }
  int code = kExitOk;
  for (const PodKey& key : keys) {
    auto deleted = DeletePod(client, key, options.grace_seconds);
    if (deleted) {
      Print(base::EscapeForLine(key.namespace_name + "/" + key.name) + ": deleted\n");
    } else {
      code = Fail(deleted.error());
    }
  }
  return code;
}

int Logs(const PodOptions& options, ControlClient& client) {
  auto printed = PrintLog(client, Key(options), options.container, options.follow);
  return printed ? kExitOk : Fail(printed.error());
}

/// The configuration of one container in the answer to a trial. Returns: the exit code.
int PrintConfig(const PodOptions& options, const Value& answer) {
  std::vector<Value> containers = ItemsAt(answer, {"containers"});
  if (!options.container.empty()) {
    std::erase_if(containers, [&options](const Value& container) {
      return TextAt(container, {"name"}) != options.container;
    });
  }
  if (containers.size() != 1) {
    PrintError(containers.empty() ? "no container " + options.container
                                  : "which container? Give its name with -c");
    return kExitUsage;
  }
  const Value* config = containers[0].Find("config");
  if (config == nullptr) {
    PrintError(TextAt(containers[0], {"name"}) + ": " + TextAt(containers[0], {"error"}));
    return kExitFailed;
  }
  Print(ToJsonText(*config));
  return kExitOk;
}

int Admit(const PodOptions& options, ControlClient& client) {
  auto text = ReadInput(options.file);
  if (!text) return Fail(text.error());
  auto answer = client.CallJson({.method = "POST",
                                 .path = "/api/v1/trials",
                                 .query = {{"format", options.format}},
                                 .body = *text},
                                kAdmission);
  if (!answer) return Fail(answer.error());
  if (TextAt(*answer, {"admitted"}) == "true") return PrintConfig(options, *answer);
  PrintError(TextAt(*answer, {"reason"}) + ": " + TextAt(*answer, {"message"}));
  return kExitFailed;
}

void AddKey(CLI::App& app, PodOptions& options) {
  app.add_option("name", options.name, "Name of the pod")->type_name("NAME")->required();
  AddNamespaceOption(app, options.namespace_name, "Its namespace; 'default' unless given");
}

void AddApply(CLI::App& app, PodOptions& options) {
  app.add_option("-f,--filename", options.file, "Manifest, YAML or JSON; - is standard input")
      ->type_name("FILE")
      ->required();
  app.add_flag("--wait", options.wait, "Return when all containers have ended");
  AddOutputOption(app, options.output);
  app.footer(
      "A pod that was refused, or with --wait has failed, makes the exit code 1.\n\n"
      "Examples:\n"
      "  tenon pod apply -f pod.yaml\n"
      "  tenon pod apply --wait -f - < job.yaml");
}

void AddList(CLI::App& app, PodOptions& options) {
  AddNamespaceOption(app, options.namespace_name, "Only pods of this namespace");
  AddOutputOption(app, options.output);
  app.footer(
      "Examples:\n"
      "  tenon pod list\n"
      "  tenon pod list -o json | jq '.items[].status.phase'");
}

void AddDescribe(CLI::App& app, PodOptions& options) {
  AddKey(app, options);
  AddOutputOption(app, options.output);
  app.footer(
      "Examples:\n"
      "  tenon pod describe meter");
}

void AddDelete(CLI::App& app, PodOptions& options) {
  app.add_option("name", options.name, "Name of the pod")->type_name("NAME");
  app.add_flag("--all", options.all, "All pods, of all namespaces unless -n is given");
  AddNamespaceOption(app, options.namespace_name, "Its namespace; 'default' unless given");
  app.add_option("--grace", options.grace_seconds,
                 "Time between SIGTERM and SIGKILL, instead of the pod's own")
      ->type_name("SECONDS")
      ->check(CLI::Range(0, 86400).description(""));
  app.footer(
      "Returns when the containers have ended and the devices are free again.\n\n"
      "Examples:\n"
      "  tenon pod delete meter\n"
      "  tenon pod delete --all --grace 1");
}

void AddLogs(CLI::App& app, PodOptions& options) {
  AddKey(app, options);
  app.add_option("-c,--container", options.container, "Which one; may be left out if there is one")
      ->type_name("CONTAINER");
  app.add_flag("-f,--follow", options.follow, "Go on until the pod has ended");
  app.footer(
      "Examples:\n"
      "  tenon pod logs meter -f");
}

/// The one action that asks no daemon.
CLI::App* AddFit(CLI::App& app, FitOptions& options) {
  CLI::App* sub = app.add_subcommand("fit", "Show which kube nodes a pod fits on, and why not");
  sub->group("Commands");
  sub->add_option("pod", options.pod, "Manifest of the pod; - is standard input")
      ->type_name("POD")
      ->required();
  sub->add_option("--nodes", options.kube_nodes,
                  "Node objects, as kubectl or 'tenon node' has them")
      ->type_name("FILE")
      ->required();
  sub->add_option("--pods", options.others, "Pods that are there already, as kubectl has them")
      ->type_name("FILE");
  AddOutputOption(*sub, options.output);
  sub->footer(
      "Counts extended resources as the scheduler does: what a node offers minus what its pods\n"
      "request. Cpu and memory are not looked at. The exit code is 1 if the pod fits nowhere.\n\n"
      "Examples:\n"
      "  kubectl get nodes -o json > nodes.json; kubectl get pods -A -o json > pods.json\n"
      "  tenon pod fit pod.yaml --nodes nodes.json --pods pods.json");
  return sub;
}

void AddAdmit(CLI::App& app, PodOptions& options) {
  app.add_option("pod", options.file, "Manifest of the pod; - is standard input")
      ->type_name("POD")
      ->required();
  app.add_option("-o,--output", options.format,
                 "cri, the ContainerConfig that a CRI runtime is sent, or oci, runc's config.json")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"cri", "oci"}).description(""))
      ->capture_default_str();
  app.add_option("-c,--container", options.container, "Which one; may be left out if there is one")
      ->type_name("CONTAINER");
  app.footer(
      "Admits the pod, allocates its devices, prepares the start of its containers, and gives\n"
      "everything back: what a container would get, without running it.\n\n"
      "Examples:\n"
      "  tenon pod admit pod.yaml -o cri | jq .devices\n"
      "  tenon pod admit pod.yaml -o oci -c main");
}

struct PodAction {
  const char* name;
  const char* summary;
  void (*add)(CLI::App& app, PodOptions& options);
  int (*run)(const PodOptions& options, ControlClient& client);
};

constexpr PodAction kActions[] = {
    {"apply", "Submit the pods of a manifest", AddApply, Apply},
    {"list", "List pods, their phases and devices", AddList, List},
    {"describe", "Show one pod and what each of its containers holds", AddDescribe, Describe},
    {"delete", "End pods and free their devices", AddDelete, Delete},
    {"admit", "Show what a pod's container would be given, without running it", AddAdmit, Admit},
    {"logs", "Print what a container has written", AddLogs, Logs},
};

}  // namespace

RunFn AddPodCommand(CLI::App& app) {
  auto options = std::make_shared<PodOptions>();
  app.require_subcommand(1);
  for (const PodAction& action : kActions) {
    CLI::App* sub = app.add_subcommand(action.name, action.summary);
    sub->group("Commands");
    action.add(*sub, *options);
    AddKubeletDirOption(*sub, options->kubelet_dir);
  }
  CLI::App* fit = AddFit(app, options->fit);
  return [options, &app, fit] {
    if (fit->parsed()) return RunFit(options->fit);
    const std::string name = app.get_subcommands().front()->get_name();
    const auto* action = std::find_if(std::begin(kActions), std::end(kActions),
                                      [&name](const PodAction& a) { return a.name == name; });
    auto client = ControlClient::Create(KubeletSocket(options->kubelet_dir));
    return client ? action->run(*options, **client) : Fail(client.error());
  };
}

}  // namespace tenon::cli
