#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "tenon/commands.h"
#include "tenon/kubelet/kubelet.h"
#include "tenon/options.h"
#include "tenon/terminal.h"

namespace tenon::cli {
namespace {

constexpr std::string_view kRuncPrefix = "runc:";
constexpr std::string_view kCriPrefix = "cri:";

/// "runc", "runc:PATH", "cri:PATH" or "none". Returns: what is wrong with it, empty if nothing is.
std::string ReadRuntime(const std::string& text, kubelet::KubeletOptions& options) {
  if (text == "runc") return "";
  if (text == "none") {
    options.runtime = kubelet::RuntimeKind::kNone;
    return "";
  }
  const bool cri = text.starts_with(kCriPrefix);
  if (!cri && !text.starts_with(kRuncPrefix)) return "must be runc, runc:PATH, cri:PATH or none";
  options.runtime = cri ? kubelet::RuntimeKind::kCri : kubelet::RuntimeKind::kRunc;
  options.runtime_path = text.substr((cri ? kCriPrefix : kRuncPrefix).size());
  return options.runtime_path.starts_with('/') ? "" : "the path must be absolute";
}

void AddLogOptions(CLI::App& app, kubelet::KubeletOptions& options) {
  app.add_option_function<std::string>(
         "--log-format",
         [&options](const std::string& name) {
           options.log_format =
               name == "json" ? base::StreamLog::Format::kJson : base::StreamLog::Format::kText;
         },
         "text or json")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "json"}).description(""))
      ->default_str("text");
  app.add_option_function<std::string>(
         "--log-level",
         [&options](const std::string& name) {
           options.log_level = name == "debug"     ? base::LogLevel::kDebug
                               : name == "warning" ? base::LogLevel::kWarning
                               : name == "error"   ? base::LogLevel::kError
                                                   : base::LogLevel::kInfo;
         },
         "debug, info, warning or error")
      ->type_name("LEVEL")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}).description(""))
      ->default_str("info");
}

/// "NAME=VALUE" into `options`. Returns: what is wrong with it, empty if nothing is.
std::string ReadOption(const std::string& text, std::map<std::string, std::string>& options) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) return "must be NAME=VALUE";
  options[text.substr(0, equals)] = text.substr(equals + 1);
  return "";
}

void AddManagerOptions(CLI::App& app, kubelet::KubeletOptions& options) {
  app.add_option("--topology-manager-policy", options.topology_policy,
                 "none, best-effort, restricted or single-numa-node")
      ->type_name("POLICY")
      ->capture_default_str();
  app.add_option("--topology-manager-scope", options.topology_scope,
                 "What is aligned together: container or pod")
      ->type_name("SCOPE")
      ->capture_default_str();
  app.add_option_function<std::vector<std::string>>(
         "--topology-manager-policy-options",
         [&options](const std::vector<std::string>& texts) {
           for (const std::string& text : texts)
             if (const std::string wrong = ReadOption(text, options.topology_options);
                 !wrong.empty())
               throw CLI::ValidationError("--topology-manager-policy-options", wrong);
         },
         "prefer-closest-numa-nodes=BOOL, max-allowable-numa-nodes=NUMBER")
      ->type_name("OPTIONS")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option_function<std::string>(
         "--compat", [&options](const std::string&) { options.compat = true; },
         "1.36: as that kubelet, also where a plugin can hang it or a pod start without devices")
      ->type_name("VERSION")
      ->check(CLI::IsMember({"1.36"}).description(""));
}

}  // namespace

RunFn AddKubeletCommand(CLI::App& app) {
  auto options = std::make_shared<kubelet::KubeletOptions>();
  app.add_option("--kubelet-dir", options->directory, "Its sockets, its checkpoint and its pods")
      ->type_name("DIR")
      ->capture_default_str();
  app.add_flag("--take-over", options->take_over,
               "Use the directory although it is another kubelet's");
  app.add_option("--image-dir", options->image_dir,
                 "Where images are looked for: a directory for each root file system")
      ->type_name("DIR");
  app.add_option("--manifest-dir", options->manifest_dir,
                 "Pods that are to run: those of the manifests in this directory")
      ->type_name("DIR");
  app.add_option(
         "--cdi-dir", options->cdi_directories,
         "Where CDI specs are; may be repeated, later ones override [/etc/cdi, /var/run/cdi]")
      ->type_name("DIR")
      ->allow_extra_args(false);
  app.add_option_function<std::string>(
         "--runtime",
         [options](const std::string& text) {
           const std::string wrong = ReadRuntime(text, *options);
           if (!wrong.empty()) throw CLI::ValidationError("--runtime", wrong);
         },
         "runc, runc:PATH, cri:PATH (containerd's socket), or none: pods are admitted, containers "
         "never run")
      ->type_name("RUNTIME")
      ->default_str("runc");
  app.add_option("--node-name", options->node_name, "Name of its Node object [the host name]")
      ->type_name("NAME");
  app.add_option("--node", options->published_node,
                 "Node object of a cluster to write capacity and allocatable into")
      ->type_name("NODE");
  AddConnectionOptions(app, options->connection);
  app.add_option("--control", options->control, "Its control socket [DIR/tenon-kubelet.sock]")
      ->type_name("PATH");
  AddManagerOptions(app, *options);
  AddLogOptions(app, *options);
  app.footer(
      "Examples:\n"
      "  tenon kubelet --image-dir /srv/images\n"
      "  tenon kubelet --kubelet-dir /tmp/kubelet --runtime none");
  return [options]() -> int {
    if (auto ran = kubelet::RunKubelet(*options); !ran) {
      PrintError(ran.error().message());
      return kExitFailed;
    }
    return kExitOk;
  };
}

}  // namespace tenon::cli
