#include "pod/status.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "base/strings.h"

namespace tenon::pod {
namespace {

constexpr std::array<Phase, 4> kPhases = {Phase::kPending, Phase::kRunning, Phase::kSucceeded,
                                          Phase::kFailed};

Value Texts(const std::vector<std::string>& texts) {
  Value out = Value::Array();
  for (const std::string& text : texts)
    out.Append(Value::String(text));
  return out;
}

void AddText(Value& object, std::string_view key, std::string_view text) {
  if (!text.empty()) object.Add(key, Value::String(text));
}

void AddTime(Value& object, std::string_view key, base::WallTime time) {
  if (time != base::WallTime{}) object.Add(key, Value::String(base::FormatRfc3339(time)));
}

void AddMap(Value& object, std::string_view key, const std::map<std::string, std::string>& map) {
  if (map.empty()) return;
  Value& out = object.Add(key, Value::Object());
  for (const auto& [name, text] : map)
    out.Add(name, Value::String(text));
}

void AddQuantities(Value& object, std::string_view key,
                   const std::map<std::string, Quantity>& quantities) {
  if (quantities.empty()) return;
  Value& out = object.Add(key, Value::Object());
  for (const auto& [name, quantity] : quantities)
    out.Add(name, Value::String(quantity.text()));
}

Value ContainerValue(const Container& container) {
  Value out = Value::Object();
  out.Add("name", Value::String(container.name));
  out.Add("image", Value::String(container.image));
  if (!container.command.empty()) out.Add("command", Texts(container.command));
  if (!container.args.empty()) out.Add("args", Texts(container.args));
  AddText(out, "workingDir", container.working_dir);
  if (!container.env.empty()) {
    Value& env = out.Add("env", Value::Array());
    for (const EnvVar& variable : container.env) {
      Value& item = env.Append(Value::Object());
      item.Add("name", Value::String(variable.name));
      item.Add("value", Value::String(variable.value));
    }
  }
  Value& resources = out.Add("resources", Value::Object());
  AddQuantities(resources, "limits", container.limits);
  AddQuantities(resources, "requests", container.requests);
  if (container.sidecar)
    out.Add("restartPolicy", Value::String(RestartPolicyName(RestartPolicy::kAlways)));
  return out;
}

void AddContainers(Value& spec, std::string_view key, const std::vector<Container>& containers) {
  if (containers.empty()) return;
  Value& out = spec.Add(key, Value::Array());
  for (const Container& container : containers)
    out.Append(ContainerValue(container));
}

Value StateValue(const ContainerState& state) {
  Value inner = Value::Object();
  if (state.kind == ContainerState::Kind::kTerminated) {
    inner.Add("exitCode", Value::Number(state.exit_code));
    if (state.signal != 0) inner.Add("signal", Value::Number(state.signal));
  }
  AddText(inner, "reason", state.reason);
  AddText(inner, "message", state.message);
  AddTime(inner, "startedAt", state.started_at);
  AddTime(inner, "finishedAt", state.finished_at);
  constexpr std::array<std::string_view, 3> kKinds = {"waiting", "running", "terminated"};
  Value out = Value::Object();
  out.Add(kKinds.at(static_cast<size_t>(state.kind)), std::move(inner));
  return out;
}

void AddHealth(Value& item,
               const std::map<std::string, std::map<std::string, bool>>& device_health) {
  if (device_health.empty()) return;
  Value& resources = item.Add("allocatedResourcesStatus", Value::Array());
  for (const auto& [resource, ids] : device_health) {
    Value& entry = resources.Append(Value::Object());
    entry.Add("name", Value::String(resource));
    Value& devices = entry.Add("resources", Value::Array());
    for (const auto& [id, healthy] : ids) {
      Value& device = devices.Append(Value::Object());
      device.Add("resourceID", Value::String(id));
      device.Add("health", Value::String(healthy ? "Healthy" : "Unhealthy"));
    }
  }
}

void AddStatuses(Value& status, std::string_view key,
                 const std::vector<ContainerStatus>& containers) {
  if (containers.empty()) return;
  Value& out = status.Add(key, Value::Array());
  for (const ContainerStatus& container : containers) {
    const bool running = container.state.kind == ContainerState::Kind::kRunning;
    Value& item = out.Append(Value::Object());
    item.Add("name", Value::String(container.name));
    item.Add("image", Value::String(container.image));
    item.Add("imageID", Value::String(""));
    AddText(item, "containerID", container.container_id);
    item.Add("state", StateValue(container.state));
    item.Add("ready", Value::Bool(running));
    item.Add("started", Value::Bool(running));
    item.Add("restartCount", Value::Number(container.restart_count));
    if (container.last_state) item.Add("lastState", StateValue(*container.last_state));
    AddHealth(item, container.device_health);
    if (container.allocated_devices.empty()) continue;
    Value& devices = item.Add("allocatedDevices", Value::Array());
    for (const ContainerDevices& held : container.allocated_devices) {
      Value& device = devices.Append(Value::Object());
      device.Add("resourceName", Value::String(held.resource_name));
      device.Add("deviceIDs", Texts(held.device_ids));
    }
  }
}

/// Reads one object back; the first thing that is wrong is kept.
class StatusReader final {
 public:
  std::string Text(const Value& object, std::string_view key) {
    const Value* value = object.Find(key);
    if (!value) return "";
    const auto text = value->AsString();
    if (!text) Fail(key);
    return text.value_or("");
  }
  int Number(const Value& object, std::string_view key) {
    const Value* value = object.Find(key);
    if (!value) return 0;
    const auto number = value->AsInt();
    if (!number || *number < INT32_MIN || *number > INT32_MAX) {
      Fail(key);
      return 0;
    }
    return static_cast<int>(*number);
  }
  base::WallTime Time(const Value& object, std::string_view key) {
    const Value* value = object.Find(key);
    if (!value) return {};
    const auto time = base::ParseRfc3339(value->text());
    if (!time) Fail(key);
    return time.value_or(base::WallTime{});
  }
  const std::vector<Value>& Items(const Value& object, std::string_view key) {
    const Value* value = object.Find(key);
    if (value && !value->is_array()) Fail(key);
    return value ? value->items() : none_;
  }

  void Fail(std::string_view key) {
    if (wrong_.empty()) wrong_ = key;
  }
  const std::string& wrong() const { return wrong_; }

 private:
  const std::vector<Value> none_ = {};
  std::string wrong_;
};

ContainerState ReadState(StatusReader& reader, const Value* state) {
  ContainerState out;
  if (!state || state->members().size() != 1) {
    reader.Fail("state");
    return out;
  }
  const auto& [key, mark, inner] = state->members().front();
  if (key == "running") {
    out.kind = ContainerState::Kind::kRunning;
  } else if (key == "terminated") {
    out.kind = ContainerState::Kind::kTerminated;
  } else if (key != "waiting") {
    reader.Fail(key);
  }
  out.reason = reader.Text(inner, "reason");
  out.message = reader.Text(inner, "message");
  out.exit_code = reader.Number(inner, "exitCode");
  out.signal = reader.Number(inner, "signal");
  out.started_at = reader.Time(inner, "startedAt");
  out.finished_at = reader.Time(inner, "finishedAt");
  return out;
}

std::vector<ContainerStatus> ReadContainers(StatusReader& reader, const Value& status,
                                            std::string_view key) {
  std::vector<ContainerStatus> out;
  for (const Value& item : reader.Items(status, key)) {
    ContainerStatus& container = out.emplace_back();
    container.name = reader.Text(item, "name");
    container.image = reader.Text(item, "image");
    container.container_id = reader.Text(item, "containerID");
    container.state = ReadState(reader, item.Find("state"));
    if (const Value* last = item.Find("lastState")) container.last_state = ReadState(reader, last);
    container.restart_count = reader.Number(item, "restartCount");
    for (const Value& device : reader.Items(item, "allocatedDevices")) {
      ContainerDevices& held = container.allocated_devices.emplace_back();
      held.resource_name = reader.Text(device, "resourceName");
      for (const Value& id : reader.Items(device, "deviceIDs")) {
        held.device_ids.push_back(id.text());
      }
    }
  }
  return out;
}

}  // namespace

std::string_view PhaseName(Phase phase) {
  constexpr std::array<std::string_view, 4> kNames = {"Pending", "Running", "Succeeded", "Failed"};
  return kNames.at(static_cast<size_t>(phase));
}

Value ToValue(const Pod& pod) {
  Value out = Value::Object();
  out.Add("apiVersion", Value::String("v1"));
  out.Add("kind", Value::String("Pod"));
  Value& metadata = out.Add("metadata", Value::Object());
  metadata.Add("name", Value::String(pod.name));
  metadata.Add("namespace", Value::String(pod.namespace_name));
  metadata.Add("uid", Value::String(pod.uid));
  AddMap(metadata, "labels", pod.labels);
  AddMap(metadata, "annotations", pod.annotations);
  Value& spec = out.Add("spec", Value::Object());
  AddContainers(spec, "initContainers", pod.init_containers);
  AddContainers(spec, "containers", pod.containers);
  spec.Add("restartPolicy", Value::String(RestartPolicyName(pod.restart_policy)));
  spec.Add("terminationGracePeriodSeconds", Value::Number(pod.termination_grace.count()));
  return out;
}

Value ToValue(const PodStatus& status) {
  Value out = Value::Object();
  out.Add("phase", Value::String(PhaseName(status.phase)));
  AddText(out, "reason", status.reason);
  AddText(out, "message", status.message);
  AddTime(out, "startTime", status.start_time);
  AddStatuses(out, "initContainerStatuses", status.init_containers);
  AddStatuses(out, "containerStatuses", status.containers);
  return out;
}

Result<PodStatus> ParseStatus(const Value& value) {
  PodStatus out;
  StatusReader reader;
  const std::string phase = reader.Text(value, "phase");
  const auto* found = std::find_if(kPhases.begin(), kPhases.end(),
                                   [&phase](Phase p) { return PhaseName(p) == phase; });
  if (found == kPhases.end()) {
    reader.Fail("phase");
  } else {
    out.phase = *found;
  }
  out.reason = reader.Text(value, "reason");
  out.message = reader.Text(value, "message");
  out.start_time = reader.Time(value, "startTime");
  out.init_containers = ReadContainers(reader, value, "initContainerStatuses");
  out.containers = ReadContainers(reader, value, "containerStatuses");
  if (reader.wrong().empty()) return out;
  return Error(Code::kDataLoss, "pod status: " + base::EscapeForLine(reader.wrong()) + " is wrong");
}

}  // namespace tenon::pod
