#include <CLI/CLI.hpp>
#include <csignal>
#include <filesystem>
#include <memory>

#include "base/errno_error.h"
#include "base/strings.h"
#include "device/resource_name.h"
#include "loop/signal_watch.h"
#include "pod/status.h"
#include "tenon/commands.h"
#include "tenon/control_client.h"
#include "tenon/json_view.h"
#include "tenon/options.h"
#include "tenon/pod_client.h"
#include "tenon/run_plugins.h"
#include "tenon/terminal.h"

namespace tenon::cli {
namespace {

/// Tenon's own failure, told apart from the container's codes as docker does it.
constexpr int kExitNotRun = 125;
constexpr int kExitSignalled = 128;

struct RunOptions {
  std::string kubelet_dir;
  std::vector<std::string> limits;
  std::string image;
  std::string rootfs;
  std::vector<std::string> env;
  std::vector<std::string> plugins;
  std::string name;
  std::string namespace_name;
  std::vector<std::string> command;
};

/// "example.com/serial=1" into the container's limits.
Result<void> AddLimit(const std::string& text, pod::Container& container) {
  size_t equals = text.rfind('=');
  std::string wrong = "--limits " + text;
  if (equals == std::string::npos)
    return Error(Code::kInvalidArgument, wrong + ": write RESOURCE=COUNT, example.com/serial=1");
  auto name = ResourceName::Parse(text.substr(0, equals));
  if (!name) return std::move(name).error().Wrap(wrong);
  auto count = base::ParseInt64(text.substr(equals + 1));
  if (!count || *count < 1)
    return Error(Code::kInvalidArgument, wrong + ": the count must be a whole number from 1 up");
  if (!container.limits.emplace(name->text(), pod::Quantity::Whole(*count)).second)
    return Error(Code::kInvalidArgument, wrong + ": " + name->text() + " is there twice");
  return {};
}

Result<void> AddEnv(const std::string& text, pod::Container& container) {
  size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos)
    return Error(Code::kInvalidArgument, "--env " + text + ": write NAME=VALUE");
  container.env.push_back({.name = text.substr(0, equals), .value = text.substr(equals + 1)});
  return {};
}

Result<pod::Pod> MakePod(const RunOptions& options) {
  pod::Container container{.name = "main", .image = options.image, .command = options.command};
  if (!options.rootfs.empty()) {
    std::error_code error;
    container.image = std::filesystem::canonical(options.rootfs, error).string();
    if (error) return base::ErrnoError("--rootfs", options.rootfs, error.value());
  }
  if (container.image.empty())
    return Error(Code::kInvalidArgument, "one of --image and --rootfs must be given");
  for (const std::string& limit : options.limits)
    TENON_TRY_VOID(AddLimit(limit, container));
  for (const std::string& variable : options.env)
    TENON_TRY_VOID(AddEnv(variable, container));
  pod::Pod pod{.name = options.name, .uid = pod::RandomUid()};
  if (pod.name.empty()) pod.name = "run-" + pod.uid.substr(0, 8);
  if (!options.namespace_name.empty()) pod.namespace_name = options.namespace_name;
  pod.containers.push_back(std::move(container));
  return pod;
}

/// The container's exit code; kExitNotRun, with the reason printed, if it was never started.
int ExitCodeOf(const Value& pod) {
  std::vector<Value> statuses = ItemsAt(pod, {"status", "containerStatuses"});
  const Value* ended = statuses.empty() ? nullptr : statuses[0].At({"state", "terminated"});
  if (ended == nullptr) {
    PrintError(PhaseLine(pod));
    return kExitNotRun;
  }
  if (auto signal = base::ParseInt64(TextAt(*ended, {"signal"})); signal && *signal > 0)
    return kExitSignalled + static_cast<int>(*signal);
  auto code = base::ParseInt64(TextAt(*ended, {"exitCode"}));
  return code && *code >= 0 && *code <= 255 ? static_cast<int>(*code) : kExitNotRun;
}

/// Shows what the container writes until it ends. Returns: the code to end with.
Result<int> Follow(ControlClient& client, const PodKey& key) {
  TENON_TRY_VOID(PrintLog(client, key, "main", true));
  if (!FlushOutput()) return kExitNotRun;
  TENON_TRY(Value pod, GetPod(client, key));
  return ExitCodeOf(pod);
}

/// Starts the plugins and waits for what the pod wants of them.
Result<void> StartPlugins(RunPlugins& plugins, const RunOptions& options, const pod::Pod& pod) {
  if (options.plugins.empty()) return {};
  for (const std::string& command : options.plugins)
    TENON_TRY_VOID(plugins.Start(command, options.kubelet_dir));
  return plugins.AwaitDevices(pod::ExtendedLimits(pod.containers.front()));
}

int RunPod(ControlClient& client, const RunOptions& options, const pod::Pod& pod) {
  int signals = 0;
  int last_signal = 0;
  auto watch = loop::SignalWatch::Create(client.loop(), {SIGINT, SIGTERM},
                                         [&signals, &last_signal](int signal) {
                                           ++signals;
                                           last_signal = signal;
                                         });
  if (!watch) return Fail(watch.error()), kExitNotRun;
  client.InterruptWhen([&signals] { return signals > 0; });
  RunPlugins plugins(client);
  if (auto started = StartPlugins(plugins, options, pod); !started) {
    if (signals > 0) return kExitSignalled + last_signal;
    return Fail(std::move(started).error().Wrap("--plugin")), kExitNotRun;
  }
  client.InterruptWhen([] { return false; });
  auto pods = CreatePods(client, ToJson(ToValue(pod)));
  if (!pods) return Fail(pods.error()), kExitNotRun;
  client.InterruptWhen([&signals] { return signals > 0; });
  const PodKey key{.namespace_name = pod.namespace_name, .name = pod.name};
  auto code = Follow(client, key);
  if (!code && signals == 0) Fail(code.error());
  // A second signal gives up waiting for the pod to go.
  const int enough = signals + 1;
  client.InterruptWhen([&signals, enough] { return signals >= enough; });
  if (auto deleted = DeletePod(client, key, -1); !deleted) {
    Fail(std::move(deleted).error().Wrap("delete " + pod.FullName()));
    return kExitNotRun;
  }
  if (last_signal != 0) return kExitSignalled + last_signal;
  return code ? *code : kExitNotRun;
}

int Run(const RunOptions& options) {
  auto pod = MakePod(options);
  if (!pod) return Fail(pod.error()), kExitUsage;
  auto client = ControlClient::Create(KubeletSocket(options.kubelet_dir));
  if (!client) return Fail(client.error()), kExitNotRun;
  return RunPod(**client, options, *pod);
}

}  // namespace

RunFn AddRunCommand(CLI::App& app) {
  auto options = std::make_shared<RunOptions>();
  auto* limits = app.add_option("--limits", options->limits, "Devices to give; may be repeated")
                     ->type_name("RESOURCE=COUNT")
                     ->allow_extra_args(false);
  auto* image = app.add_option("--image", options->image,
                               "Directory below the kubelet's --image-dir to run in")
                    ->type_name("NAME");
  auto* rootfs =
      app.add_option("--rootfs", options->rootfs, "Any directory to run in")->type_name("DIR");
  rootfs->excludes(image);
  app.add_option("-e,--env", options->env, "Environment variable; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  app.add_option("--plugin", options->plugins,
                 "Start this device plugin for as long as it takes, as 'tenon plugin' does; may "
                 "be repeated")
      ->type_name("COMMAND")
      ->allow_extra_args(false)
      ->needs(limits);
  app.add_option("--name", options->name, "Name of the pod; made up unless given")
      ->type_name("NAME");
  AddNamespaceOption(app, options->namespace_name, "Its namespace; 'default' unless given");
  AddKubeletDirOption(app, options->kubelet_dir);
  app.add_option("command", options->command, "What to run, after --")
      ->type_name("COMMAND")
      ->required();
  app.footer(
      "The pod is deleted when its container ends, or on Ctrl-C. The exit code is the "
      "container's,\n"
      "128 + N if signal N ended it, and 125 if it was refused or could not be run.\n\n"
      "Examples:\n"
      "  tenon run --limits example.com/serial=1 --image busybox -- ls -l /dev/serial/by-id\n"
      "  tenon run --limits nvidia.com/gpu=2 --rootfs /srv/cuda -- nvidia-smi\n"
      "  tenon run --plugin '/opt/plugin --verbose' --limits a.b/c=1 --image busybox -- ls /dev");
  return [options] { return Run(*options); };
}

}  // namespace tenon::cli
