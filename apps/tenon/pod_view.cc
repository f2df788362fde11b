#include "tenon/pod_view.h"

#include <map>
#include <set>

#include "base/strings.h"
#include "tenon/json_view.h"
#include "tenon/table.h"

namespace tenon::cli {
namespace {

/// The statuses of init containers, then of containers.
std::vector<Value> ContainerStatuses(const Value& pod) {
  std::vector<Value> out = ItemsAt(pod, {"status", "initContainerStatuses"});
  for (Value& container : ItemsAt(pod, {"status", "containerStatuses"}))
    out.push_back(std::move(container));
  return out;
}

/// "example.com/serial=1,example.com/tun=2": what the pod's containers hold.
std::string HeldCounts(const Value& pod) {
  std::map<std::string, size_t> counts;
  for (const Value& container : ContainerStatuses(pod)) {
    for (const Value& held : ItemsAt(container, {"allocatedDevices"}))
      counts[TextAt(held, {"resourceName"})] += ItemsAt(held, {"deviceIDs"}).size();
  }
  std::vector<std::string> parts;
  for (const auto& [resource, count] : counts)
    parts.push_back(resource + "=" + std::to_string(count));
  return base::Join(parts, ",");
}

int64_t Restarts(const Value& pod) {
  int64_t sum = 0;
  for (const Value& container : ContainerStatuses(pod))
    sum += base::ParseInt64(TextAt(container, {"restartCount"})).value_or(0);
  return sum;
}

/// "terminated with 3: Error", "waiting: PodInitializing", "running since …".
std::string DescribeState(const Value& container, std::string_view key) {
  const Value* state = container.Find(key);
  if (state == nullptr || state->members().empty()) return "unknown";
  const Value::Member& kind = state->members().front();
  std::string out = kind.key;
  if (kind.key == "running") return out + " since " + ShortTime(TextAt(kind.value, {"startedAt"}));
  if (kind.key == "terminated") {
    out += " with " + TextAt(kind.value, {"exitCode"});
    std::string signal = TextAt(kind.value, {"signal"});
    if (!signal.empty()) out += " by signal " + signal;
    out += " at " + ShortTime(TextAt(kind.value, {"finishedAt"}));
  }
  for (const char* field : {"reason", "message"}) {
    std::string text = TextAt(kind.value, {field});
    if (!text.empty()) out += ": " + text;
  }
  return out;
}

void AppendLine(std::string& out, std::string_view indent, std::string_view label,
                const std::string& text) {
  constexpr size_t kColumn = 14;
  if (text.empty()) return;
  std::string line = std::string(indent) + std::string(label) + ":";
  line.append(line.size() < kColumn ? kColumn - line.size() : 1, ' ');
  out += line + base::EscapeForLine(text) + "\n";
}

/// The ids that the kubelet calls unhealthy, as "resource id".
std::set<std::string> Unhealthy(const Value& container) {
  std::set<std::string> out;
  for (const Value& resource : ItemsAt(container, {"allocatedResourcesStatus"}))
    for (const Value& device : ItemsAt(resource, {"resources"}))
      if (TextAt(device, {"health"}) == "Unhealthy")
        out.insert(TextAt(resource, {"name"}) + " " + TextAt(device, {"resourceID"}));
  return out;
}

void AppendContainer(std::string& out, const Value& container) {
  out += "  " + base::EscapeForLine(TextAt(container, {"name"})) + "\n";
  AppendLine(out, "    ", "Image", TextAt(container, {"image"}));
  AppendLine(out, "    ", "State", DescribeState(container, "state"));
  if (container.Find("lastState") != nullptr) {
    AppendLine(out, "    ", "Last state", DescribeState(container, "lastState"));
    AppendLine(out, "    ", "Restarts", TextAt(container, {"restartCount"}));
  }
  const std::set<std::string> unhealthy = Unhealthy(container);
  for (const Value& held : ItemsAt(container, {"allocatedDevices"})) {
    const std::string resource = TextAt(held, {"resourceName"});
    std::vector<std::string> ids;
    for (const Value& id : ItemsAt(held, {"deviceIDs"}))
      ids.push_back(id.text() +
                    (unhealthy.contains(resource + " " + id.text()) ? " (unhealthy)" : ""));
    AppendLine(out, "    ", "Holds", resource + ": " + base::Join(ids, ", "));
  }
}

}  // namespace

std::string RenderPods(const std::vector<Value>& pods) {
  Table table({"NAMESPACE", "NAME", "PHASE", "RESTARTS", "STARTED", "DEVICES", "REASON"});
  for (const Value& pod : pods) {
    table.Add({TextAt(pod, {"metadata", "namespace"}), TextAt(pod, {"metadata", "name"}),
               TextAt(pod, {"status", "phase"}), std::to_string(Restarts(pod)),
               ShortTime(TextAt(pod, {"status", "startTime"})), HeldCounts(pod),
               TextAt(pod, {"status", "reason"})});
  }
  return table.Render();
}

std::string DescribePod(const Value& pod) {
  std::string out;
  AppendLine(out, "", "Name", TextAt(pod, {"metadata", "name"}));
  AppendLine(out, "", "Namespace", TextAt(pod, {"metadata", "namespace"}));
  AppendLine(out, "", "UID", TextAt(pod, {"metadata", "uid"}));
  AppendLine(out, "", "Phase", TextAt(pod, {"status", "phase"}));
  AppendLine(out, "", "Reason", TextAt(pod, {"status", "reason"}));
  AppendLine(out, "", "Message", TextAt(pod, {"status", "message"}));
  AppendLine(out, "", "Started", ShortTime(TextAt(pod, {"status", "startTime"})));
  std::vector<Value> containers = ContainerStatuses(pod);
  if (!containers.empty()) out += "Containers:\n";
  for (const Value& container : containers)
    AppendContainer(out, container);
  return out;
}

}  // namespace tenon::cli
