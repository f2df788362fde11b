#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "tenon/commands.h"
#include "tenon/doctor.h"
#include "tenon/json_view.h"
#include "tenon/options.h"
#include "tenon/terminal.h"

namespace tenon::cli {
namespace {

struct Options {
  DoctorOptions doctor;
  OutputFormat output = OutputFormat::kTable;
};

int Run(const Options& options) {
  auto findings = Examine(options.doctor);
  if (!findings) return Fail(findings.error());
  Print(options.output == OutputFormat::kJson ? ToJsonText(ToValue(*findings))
                                              : RenderFindings(*findings));
  const bool bad = std::any_of(findings->begin(), findings->end(), [](const Finding& finding) {
    return finding.verdict == Finding::Verdict::kBad;
  });
  return bad ? kExitFailed : kExitOk;
}

}  // namespace

RunFn AddDoctorCommand(CLI::App& app) {
  auto options = std::make_shared<Options>();
  AddConfigOption(app, options->doctor.configs);
  AddAllowPathOption(app, options->doctor.allow_paths);
  AddAllowExecOption(app, options->doctor.allow_exec);
  app.add_option("--kubelet-dir", options->doctor.kubelet_dir, "Directory of the kubelet")
      ->type_name("DIR")
      ->capture_default_str();
  app.add_option("--control", options->doctor.control, "Control socket of tenond")
      ->type_name("PATH")
      ->capture_default_str();
  app.add_option("--root", options->doctor.root, "Look at /etc, /proc, /run and /sys below DIR")
      ->type_name("DIR")
      ->capture_default_str();
  AddOutputOption(app, options->output);
  app.footer(
      "Looks at everything on a node that device plugins need, and says what to do where it is "
      "not\n"
      "right. Changes nothing. The exit code is 1 if something is BAD: devices will not reach "
      "pods.\n"
      "\n"
      "Examples:\n"
      "  tenon doctor\n"
      "  tenon doctor --config /etc/tenon/config.yaml -o json");
  return [options] { return Run(*options); };
}

}  // namespace tenon::cli
