#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "runtime/container_options.h"
#include "runtime/cri_runtime.h"
#include "value/value.h"

namespace tenon::runtime {
namespace {

Value Texts(const std::vector<std::string>& texts) {
  Value out = Value::Array();
  for (const std::string& text : texts)
    out.Append(Value::String(text));
  return out;
}

Value Map(const std::map<std::string, std::string>& map) {
  Value out = Value::Object();
  for (const auto& [name, value] : map)
    out.Add(name, Value::String(value));
  return out;
}

/// Later variables of a name win; a runtime would do the same, but not every one says so.
void SetVariable(cri::ContainerConfig& config, const std::string& name, std::string value) {
  std::erase_if(config.env, [&name](const auto& variable) { return variable.first == name; });
  config.env.emplace_back(name, std::move(value));
}

}  // namespace

Result<cri::ContainerConfig> BuildCriConfig(const pod::Pod& pod, const pod::Container& container,
                                            const ContainerAllocation& allocation, int attempt,
                                            std::string log_path) {
  TENON_TRY_VOID(CheckAnnotations(allocation));
  cri::ContainerConfig out{.name = container.name,
                           .attempt = static_cast<uint32_t>(attempt),
                           .image = container.image,
                           .working_dir = container.working_dir,
                           .mounts = allocation.mounts,
                           .device_nodes = allocation.device_nodes,
                           .cdi_devices = allocation.cdi_devices,
                           .annotations = allocation.annotations,
                           .log_path = std::move(log_path)};
  const std::vector<pod::EnvVar> variables = ListVariables(container, allocation);
  for (const pod::EnvVar& variable : variables)
    SetVariable(out, variable.name, variable.value);
  for (const std::string& text : container.command)
    out.command.push_back(pod::ExpandVariables(text, variables));
  for (const std::string& text : container.args)
    out.args.push_back(pod::ExpandVariables(text, variables));
  // As the kubelet labels them, for whatever else looks at the runtime.
  // Source: kubernetes pkg/kubelet/types/labels.go.
  out.labels = {{"io.kubernetes.container.name", container.name},
                {"io.kubernetes.pod.name", pod.name},
                {"io.kubernetes.pod.namespace", pod.namespace_name},
                {"io.kubernetes.pod.uid", pod.uid}};
  return out;
}

Value ToValue(const cri::ContainerConfig& config) {
  Value out = Value::Object();
  Value& metadata = out.Add("metadata", Value::Object());
  metadata.Add("name", Value::String(config.name));
  metadata.Add("attempt", Value::Number(config.attempt));
  out.Add("image", Value::Object()).Add("image", Value::String(config.image));
  out.Add("command", Texts(config.command));
  out.Add("args", Texts(config.args));
  out.Add("working_dir", Value::String(config.working_dir));
  Value& envs = out.Add("envs", Value::Array());
  for (const auto& [name, value] : config.env) {
    Value& item = envs.Append(Value::Object());
    item.Add("key", Value::String(name));
    item.Add("value", Value::String(value));
  }
  Value& mounts = out.Add("mounts", Value::Array());
  for (const Mount& mount : config.mounts) {
    Value& item = mounts.Append(Value::Object());
    item.Add("container_path", Value::String(mount.container_path));
    item.Add("host_path", Value::String(mount.host_path));
    item.Add("readonly", Value::Bool(mount.read_only));
  }
  Value& devices = out.Add("devices", Value::Array());
  for (const DeviceNode& device : config.device_nodes) {
    Value& item = devices.Append(Value::Object());
    item.Add("container_path", Value::String(device.container_path));
    item.Add("host_path", Value::String(device.host_path));
    item.Add("permissions", Value::String(device.permissions));
  }
  out.Add("labels", Map(config.labels));
  out.Add("annotations", Map(config.annotations));
  out.Add("log_path", Value::String(config.log_path));
  Value& cdi_devices = out.Add("CDI_devices", Value::Array());
  for (const std::string& name : config.cdi_devices)
    cdi_devices.Append(Value::Object()).Add("name", Value::String(name));
  return out;
}

}  // namespace tenon::runtime
