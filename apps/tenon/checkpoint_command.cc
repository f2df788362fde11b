#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "checkpoint/checkpoint.h"
#include "tenon/checkpoint_view.h"
#include "tenon/commands.h"
#include "tenon/input_file.h"
#include "tenon/json_view.h"
#include "tenon/options.h"
#include "tenon/terminal.h"

namespace tenon::cli {
namespace {

/// More than any kubelet writes, and what the codec takes.
constexpr size_t kMaxMiB = 64;

struct CheckpointOptions {
  std::string file;
  OutputFormat output = OutputFormat::kTable;
};

int Run(const CheckpointOptions& options) {
  auto text = ReadInput(options.file, kMaxMiB);
  if (!text) return Fail(text.error());
  const std::string name = options.file == "-" ? "standard input" : options.file;
  auto file = checkpoint::Inspect(*text, name);
  if (!file) return Fail(Error(file.error()).Wrap("this is no checkpoint of a kubelet"));
  const CheckpointReport report = ExamineCheckpoint(*file);
  if (options.output == OutputFormat::kJson) {
    Print(ToJsonText(ToValue(report)));
  } else {
    Print(RenderCheckpoint(report));
    for (const std::string& error : report.errors)
      PrintError(fmt::format("{}: {}", name, error));
  }
  return report.valid() ? kExitOk : kExitFailed;
}

}  // namespace

RunFn AddCheckpointCommand(CLI::App& app) {
  auto options = std::make_shared<CheckpointOptions>();
  app.add_option("file", options->file,
                 "kubelet_internal_checkpoint of a kubelet; - is standard input")
      ->type_name("FILE")
      ->required();
  AddOutputOption(app, options->output);
  app.footer(
      "Shows the resources, who holds which devices, and what the plugins gave for them. The exit\n"
      "code is 0 only if a kubelet would take the file, and every entry of it.\n\n"
      "Examples:\n"
      "  tenon checkpoint /var/lib/kubelet/device-plugins/kubelet_internal_checkpoint\n"
      "  ssh node sudo cat /var/lib/kubelet/device-plugins/kubelet_internal_checkpoint |\n"
      "    tenon checkpoint -o json -");
  return [options] { return Run(*options); };
}

}  // namespace tenon::cli
