#include "tenon/options.h"

#include <CLI/CLI.hpp>
#include <map>

#include "tenon/resource/connection.h"

namespace tenon::cli {

void AddOutputOption(CLI::App& app, OutputFormat& format) {
  const std::map<std::string, OutputFormat> formats = {{"table", OutputFormat::kTable},
                                                       {"json", OutputFormat::kJson}};
  app.add_option_function<std::string>(
         "-o,--output", [&format, formats](const std::string& name) { format = formats.at(name); },
         "table for people or json for programs")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "json"}).description(""))
      ->default_str("table");
}

void AddKubeletDirOption(CLI::App& app, std::string& directory) {
  directory = "/run/tenon/kubelet";
  app.add_option("--kubelet-dir", directory, "Directory of the 'tenon kubelet' to talk to")
      ->type_name("DIR")
      ->capture_default_str();
}

void AddNamespaceOption(CLI::App& app, std::string& name, const std::string& help) {
  app.add_option("-n,--namespace", name, help)->type_name("NAMESPACE");
}

void AddConfigOption(CLI::App& app, std::vector<std::string>& paths) {
  app.add_option("--config", paths,
                 "Configuration of tenond: a file, or a directory of them; may be repeated")
      ->type_name("PATH")
      ->allow_extra_args(false);
}

void AddAllowPathOption(CLI::App& app, std::vector<std::string>& prefixes) {
  app.add_option("--allow-path", prefixes, "What rules may reach beside /dev; may be repeated")
      ->type_name("PREFIX")
      ->allow_extra_args(false);
}

void AddAllowExecOption(CLI::App& app, std::vector<std::string>& directories) {
  app.add_option("--allow-exec", directories,
                 "Directory whose programs may be named; may be repeated")
      ->type_name("DIR")
      ->allow_extra_args(false);
}

void AddConnectionOptions(CLI::App& app, ConnectionOptions& options) {
  app.add_option("--kubeconfig", options.kubeconfig,
                 "File that says where the API server is; else $KUBECONFIG, ~/.kube/config or the "
                 "pod's service account")
      ->type_name("FILE");
  app.add_option("--context", options.context, "Context of the kubeconfig to use")
      ->type_name("NAME");
  app.add_option("--server", options.server,
                 "API server to use; http:// only on this machine, for 'kubectl proxy'")
      ->type_name("URL");
  app.add_flag("--allow-kubeconfig-exec", options.allow_exec,
               "Run the program that the kubeconfig names for credentials");
}

}  // namespace tenon::cli
