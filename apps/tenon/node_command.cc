#include <CLI/CLI.hpp>
#include <memory>

#include "tenon/commands.h"
#include "tenon/control_client.h"
#include "tenon/json_view.h"
#include "tenon/options.h"
#include "tenon/table.h"
#include "tenon/terminal.h"

namespace tenon::cli {
namespace {

struct NodeOptions {
  std::string kubelet_dir;
  OutputFormat output = OutputFormat::kTable;
};

std::string Render(const Value& node) {
  Table resources({"RESOURCE", "CAPACITY", "ALLOCATABLE"});
  if (const Value* capacity = node.At({"status", "capacity"})) {
    for (const Value::Member& member : capacity->members()) {
      resources.Add(
          {member.key, member.value.text(), TextAt(node, {"status", "allocatable", member.key})});
    }
  }
  return resources.Render();
}

int Run(const NodeOptions& options) {
  auto client = ControlClient::Create(KubeletSocket(options.kubelet_dir));
  if (!client) return Fail(client.error());
  auto node = (*client)->CallJson({.path = "/api/v1/node"});
  if (!node) return Fail(node.error());
  Print(options.output == OutputFormat::kJson ? ToJsonText(*node) : Render(*node));
  return kExitOk;
}

}  // namespace

RunFn AddNodeCommand(CLI::App& app) {
  auto options = std::make_shared<NodeOptions>();
  AddKubeletDirOption(app, options->kubelet_dir);
  AddOutputOption(app, options->output);
  app.footer(
      "Examples:\n"
      "  tenon node\n"
      "  tenon node -o json");
  return [options] { return Run(*options); };
}

}  // namespace tenon::cli
