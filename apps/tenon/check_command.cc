#include <CLI/CLI.hpp>
#include <memory>

#include "config/config.h"
#include "tenon/commands.h"
#include "tenon/json_view.h"
#include "tenon/options.h"
#include "tenon/terminal.h"

namespace tenon::cli {
namespace {

struct CheckOptions {
  std::vector<std::string> files;
  std::vector<std::string> allow_paths;
  std::vector<std::string> allow_exec;
  OutputFormat output = OutputFormat::kTable;
};

Value ToValue(const std::string& file, const config::ConfigOutcome& outcome) {
  Value out = Value::Object();
  out.Add("file", Value::String(file));
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

void Report(const std::string& file, const config::ConfigOutcome& outcome) {
  for (const std::string& error : outcome.errors)
    PrintError(error);
  if (!outcome.config) return;
  size_t count = outcome.config->resources.size();
  Print(file + ": valid, " + std::to_string(count) + (count == 1 ? " resource" : " resources") +
        "\n");
}

int Run(const CheckOptions& options) {
  Value all = Value::Array();
  bool valid = true;
  for (const std::string& file : options.files) {
    auto outcome = config::LoadFile(
        file, {.allow_paths = options.allow_paths, .allow_exec = options.allow_exec});
    valid = valid && outcome.config.has_value();
    if (options.output == OutputFormat::kJson) {
      all.Append(ToValue(file, outcome));
    } else {
      Report(file, outcome);
    }
  }
  if (options.output == OutputFormat::kJson) Print(ToJsonText(all));
  return valid ? kExitOk : kExitFailed;
}

}  // namespace

RunFn AddCheckCommand(CLI::App& app) {
  auto options = std::make_shared<CheckOptions>();
  app.add_option("config", options->files, "Configuration of tenond")
      ->type_name("CONFIG")
      ->required();
  AddAllowPathOption(app, options->allow_paths);
  AddAllowExecOption(app, options->allow_exec);
  AddOutputOption(app, options->output);
  app.footer(
      "Prints everything that is wrong, with file, line and column; the exit code is 1 then. Give\n"
      "the --allow-path and --allow-exec options that tenond is started with.\n\n"
      "Examples:\n"
      "  tenon check /etc/tenon/config.yaml\n"
      "  tenon check --allow-path /srv/sockets examples/*/config.yaml");
  return [options] { return Run(*options); };
}

}  // namespace tenon::cli
