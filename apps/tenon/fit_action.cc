#include "tenon/fit_action.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/strings.h"
#include "pod/fit.h"
#include "tenon/commands.h"
#include "tenon/input_file.h"
#include "tenon/json_view.h"
#include "tenon/table.h"
#include "tenon/terminal.h"

namespace tenon::cli {
namespace {

/// What kubectl prints of a large cluster.
constexpr size_t kMaxMiB = 16;

Result<pod::ScheduledPod> ReadOnePod(const std::string& file) {
  TENON_TRY(const std::string text, ReadInput(file, kMaxMiB));
  TENON_TRY(std::vector<pod::ScheduledPod> pods, pod::ReadScheduledPods(text, file));
  if (pods.size() == 1) return std::move(pods.front());
  return Error(Code::kInvalidArgument,
               file + ": holds " + std::to_string(pods.size()) + " pods; give one");
}

Result<std::vector<pod::NodeFit>> Fit(const FitOptions& options) {
  TENON_TRY(const pod::ScheduledPod wanted, ReadOnePod(options.pod));
  TENON_TRY(const std::string nodes_text, ReadInput(options.kube_nodes, kMaxMiB));
  TENON_TRY(const auto kube_nodes, pod::ReadKubeNodes(nodes_text, options.kube_nodes));
  std::vector<pod::ScheduledPod> others;
  if (!options.others.empty()) {
    TENON_TRY(const std::string text, ReadInput(options.others, kMaxMiB));
    TENON_TRY(others, pod::ReadScheduledPods(text, options.others));
  }
  return pod::FitPod(wanted, kube_nodes, others);
}

std::string Render(const std::vector<pod::NodeFit>& fits) {
  Table table({"NODE", "FITS", "WHY NOT", "REQUESTED", "FREE"});
  std::map<std::string, size_t> reasons;
  size_t available = 0;
  for (const pod::NodeFit& fit : fits) {
    if (fit.shortages.empty()) {
      ++available;
      table.Add({fit.kube_node, "yes", "", "", ""});
    }
    for (const pod::Shortage& shortage : fit.shortages) {
      ++reasons[shortage.Message()];
      table.Add({fit.kube_node, "no", shortage.Message(), std::to_string(shortage.requested),
                 std::to_string(shortage.free)});
    }
  }
  // As the scheduler sums it up in the pod's event.
  std::vector<std::string> texts;
  for (const auto& [reason, count] : reasons)
    texts.push_back(std::to_string(count) + " " + reason);
  std::string out = table.Render() + "\n" + std::to_string(available) + "/" +
                    std::to_string(fits.size()) + " nodes are available";
  if (!texts.empty()) out += ": " + base::EscapeForLine(base::Join(texts, ", "));
  return out + ".\n";
}

Value ToValue(const std::vector<pod::NodeFit>& fits) {
  Value out = Value::Object();
  Value& nodes = out.Add("nodes", Value::Array());
  for (const pod::NodeFit& fit : fits) {
    Value& node = nodes.Append(Value::Object());
    node.Add("name", Value::String(fit.kube_node));
    node.Add("fits", Value::Bool(fit.shortages.empty()));
    Value& shortages = node.Add("shortages", Value::Array());
    for (const pod::Shortage& shortage : fit.shortages) {
      Value& item = shortages.Append(Value::Object());
      item.Add("resource", Value::String(shortage.resource));
      item.Add("requested", Value::Number(shortage.requested));
      item.Add("free", Value::Number(shortage.free));
      item.Add("reason", Value::String(shortage.Message()));
    }
  }
  return out;
}

}  // namespace

int RunFit(const FitOptions& options) {
  auto fits = Fit(options);
  if (!fits) return Fail(fits.error());
  Print(options.output == OutputFormat::kJson ? ToJsonText(ToValue(*fits)) : Render(*fits));
  const bool any = std::any_of(fits->begin(), fits->end(),
                               [](const pod::NodeFit& fit) { return fit.shortages.empty(); });
  return any ? kExitOk : kExitFailed;
}

}  // namespace tenon::cli
