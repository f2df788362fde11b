#include <CLI/CLI.hpp>
#include <map>
#include <memory>

#include "config/config.h"
#include "import/import.h"
#include "tenon/commands.h"
#include "tenon/input_file.h"
#include "tenon/terminal.h"

namespace tenon::cli {
namespace {

struct ImportOptions {
  importer::Format format = importer::Format::kGenericDevicePlugin;
  std::vector<std::string> files;
  std::vector<std::string> devices;
  std::string domain;
};

int Run(const ImportOptions& options) {
  std::vector<importer::Input> inputs;
  for (const std::string& file : options.files) {
    auto text = ReadInput(file);
    if (!text) return Fail(text.error());
    inputs.push_back({file, *std::move(text)});
  }
  for (const std::string& device : options.devices)
    inputs.push_back({"--device", device});
  if (inputs.empty()) {
    PrintError("nothing to import; name a file, or give --device");
    return kExitUsage;
  }
  auto config = importer::Import(options.format, inputs, options.domain);
  if (!config) return Fail(config.error());
  Print(*config);
  // What rules may reach is said on tenond's command line, and in the comments.
  auto outcome = config::Load(*config, "<printed>", {.allow_paths = {"/"}});
  for (const std::string& error : outcome.errors)
    PrintError(error);
  return outcome.config ? kExitOk : kExitFailed;
}

}  // namespace

RunFn AddImportCommand(CLI::App& app) {
  auto options = std::make_shared<ImportOptions>();
  std::map<std::string, importer::Format> formats;
  std::vector<std::string> names;
  for (const importer::NamedFormat& format : importer::Formats()) {
    formats.emplace(format.name, format.format);
    names.emplace_back(format.name);
  }
  app.add_option_function<std::string>(
         "--from",
         [options, formats](const std::string& name) { options->format = formats.at(name); },
         "Plugin whose configuration it is: generic-device-plugin, k8s-host-device-plugin, "
         "k8s-virtual-device-plugin or smarter-device-manager")
      ->type_name("PLUGIN")
      ->check(CLI::IsMember(names).description(""))
      ->required();
  app.add_option("config", options->files, "Its configuration; - for standard input")
      ->type_name("CONFIG");
  app.add_option("--device", options->devices,
                 "A --device of generic-device-plugin; may be repeated")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  app.add_option("--domain", options->domain, "Domain of names without one")->type_name("DOMAIN");
  app.footer(
      "Prints the equivalent configuration of tenond, with a comment for each thing that differs.\n"
      "Whatever is not understood is an error: nothing is left out silently. So is, on standard "
      "error,\n"
      "what tenond would not take of the result.\n\n"
      "Examples:\n"
      "  tenon import --from generic-device-plugin config.yaml > tenon.yaml\n"
      "  tenon import --from smarter-device-manager conf.yaml");
  return [options] { return Run(*options); };
}

}  // namespace tenon::cli
