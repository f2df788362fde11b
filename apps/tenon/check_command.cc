#include <CLI/CLI.hpp>
#include <memory>

#include "base/strings.h"
#include "config/config.h"
#include "tenon/commands.h"
#include "tenon/json_view.h"
#include "tenon/options.h"
#include "tenon/terminal.h"

namespace tenon::cli {
namespace {

struct CheckOptions {
  std::vector<std::string> single;    ///< Each is a configuration.
  std::vector<std::string> together;  ///< All of them are one.
  std::vector<std::string> allow_paths;
  std::vector<std::string> allow_exec;
  OutputFormat output = OutputFormat::kTable;
};

Value ToValue(const std::string& name, const config::ConfigOutcome& outcome) {
  Value out = Value::Object();
  out.Add("file", Value::String(name));
  out.Add("valid", Value::Bool(outcome.config.has_value()));
  Value& resources = out.Add("resources", Value::Array());
  if (outcome.config) {
    for (const auto& resource : outcome.config->resources)
      resources.Append(Value::String(resource.name.text()));
  }
  Value& errors = out.Add("errors", Value::Array());
  for (const std::string& error : outcome.errors)
    errors.Append(Value::String(error));
  return out;
}

void Report(const std::string& name, const config::ConfigOutcome& outcome) {
  for (const std::string& error : outcome.errors)
    PrintError(error);
  if (!outcome.config) return;
  size_t count = outcome.config->resources.size();
  Print(name + ": valid, " + std::to_string(count) + (count == 1 ? " resource" : " resources") +
        "\n");
}

int Run(const CheckOptions& options) {
  std::vector<std::vector<std::string>> configurations;
  for (const std::string& path : options.single)
    configurations.push_back({path});
  if (!options.together.empty()) configurations.push_back(options.together);
  if (configurations.empty()) {
    PrintError("name a configuration");
    return kExitUsage;
  }
  Value all = Value::Array();
  bool valid = true;
  for (const std::vector<std::string>& paths : configurations) {
    const std::string name = base::Join(paths, ", ");
    auto outcome = config::LoadPaths(
        paths, {.allow_paths = options.allow_paths, .allow_exec = options.allow_exec});
    valid = valid && outcome.config.has_value();
    if (options.output == OutputFormat::kJson) {
      all.Append(ToValue(name, outcome));
    } else {
      Report(name, outcome);
    }
  }
  if (options.output == OutputFormat::kJson) Print(ToJsonText(all));
  return valid ? kExitOk : kExitFailed;
}

}  // namespace

RunFn AddCheckCommand(CLI::App& app) {
  auto options = std::make_shared<CheckOptions>();
  app.add_option("config", options->single,
                 "Configurations of tenond, one each: files, or directories of them")
      ->type_name("CONFIG");
  AddConfigOption(app, options->together);
  AddAllowPathOption(app, options->allow_paths);
  AddAllowExecOption(app, options->allow_exec);
  AddOutputOption(app, options->output);
  app.footer(
      "Prints everything that is wrong, with file, line and column; the exit code is 1 then. What\n"
      "--config names is one configuration together, as for tenond. Give the --allow-path and\n"
      "--allow-exec options that tenond is started with.\n\n"
      "Examples:\n"
      "  tenon check /etc/tenon/config.yaml\n"
      "  tenon check --config /etc/tenon/config.yaml --config /etc/tenon/conf.d\n"
      "  tenon check --allow-path /srv/sockets examples/*/config.yaml");
  return [options] { return Run(*options); };
}

}  // namespace tenon::cli
