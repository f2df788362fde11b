#include "tenond/status_json.h"

#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/strings.h"
#include "device/plugin_api.h"

namespace tenon::tenond {
namespace {

/// (resource, device) → the containers that hold it.
using Holders = std::multimap<std::pair<std::string, std::string>, Value>;

Value Text(std::string_view text) {
  return Value::String(text);
}

Holders FindHolders(const Result<std::vector<PodResources>>& pods) {
  Holders holders;
  if (!pods) return holders;
  for (const PodResources& pod : *pods) {
    for (const ContainerResources& container : pod.containers) {
      Value holder = Value::Object();
      holder.Add("namespace", Text(pod.namespace_name));
      holder.Add("pod", Text(pod.name));
      holder.Add("container", Text(container.name));
      for (const ContainerDevices& devices : container.devices)
        for (const std::string& id : devices.device_ids)
          holders.emplace(std::pair(devices.resource_name, id), holder);
    }
  }
  return holders;
}

Value DeviceNodesJson(const std::vector<discovery::FoundPath>& paths) {
  Value all = Value::Array();
  for (const discovery::FoundPath& path : paths) {
    if (path.mount) continue;
    Value one = Value::Object();
    one.Add("path", Text(path.real_path));
    one.Add("major", Value::Number(path.major));
    one.Add("minor", Value::Number(path.minor));
    if (path.group) one.Add("group", Value::Number(*path.group));
    all.Append(std::move(one));
  }
  return all;
}

Value DeviceJson(const Device& device, const discovery::FoundDevice* found,
                 std::pair<Holders::const_iterator, Holders::const_iterator> holders) {
  Value json = Value::Object();
  json.Add("id", Text(device.id.value));
  json.Add("health", Text(device.healthy() ? api::kHealthy : api::kUnhealthy));
  if (!device.reason.empty()) json.Add("reason", Text(device.reason));
  json.Add("since", Text(base::FormatRfc3339(device.since)));
  if (!device.numa_nodes.empty()) {
    Value numa_nodes = Value::Array();
    for (int numa_node : device.numa_nodes)
      numa_nodes.Append(Value::Number(numa_node));
    json.Add("numaNodes", std::move(numa_nodes));
  }
  if (found != nullptr && !found->paths.empty())
    json.Add("deviceNodes", DeviceNodesJson(found->paths));
  if (holders.first == holders.second) return json;
  Value held_by = Value::Array();
  for (auto holder = holders.first; holder != holders.second; ++holder)
    held_by.Append(holder->second);
  json.Add("heldBy", std::move(held_by));
  return json;
}

Value ResourceJson(const std::string& name, const ResourceSet& resources,
                   const std::string& directory, const Holders& holders) {
  const plugin_service::ResourcePlugin& plugin = *resources.plugins().at(name);
  const DeviceSet& set = *plugin.core().devices();
  Value json = Value::Object();
  json.Add("name", Text(name));
  json.Add("state", Text(plugin::StateName(plugin.registration().state())));
  if (!plugin.registration().detail().empty())
    json.Add("detail", Text(plugin.registration().detail()));
  json.Add("since", Text(base::FormatRfc3339(plugin.since())));
  json.Add("socket", Text(base::JoinPath(directory, plugin.endpoint())));
  json.Add("revision", Value::Number(static_cast<int64_t>(set.revision)));
  if (!plugin.publish_error().empty()) json.Add("listError", Text(plugin.publish_error()));
  Value devices = Value::Array();
  for (const Device& device : set.devices)
    devices.Append(DeviceJson(device, resources.Find(name, device.id.value),
                              holders.equal_range({name, device.id.value})));
  json.Add("devices", std::move(devices));
  return json;
}

Value EventsJson(const EventRing& events) {
  Value all = Value::Array();
  for (const DeviceEvent& event : events.events()) {
    Value one = Value::Object();
    one.Add("time", Text(base::FormatRfc3339(event.time)));
    one.Add("resource", Text(event.resource));
    if (!event.device.empty()) one.Add("device", Text(event.device));
    one.Add("text", Text(event.text));
    all.Append(std::move(one));
  }
  return all;
}

}  // namespace

Value StatusJson(const StatusFacts& facts, const ResourceSet& resources, const EventRing& events,
                 const Result<std::vector<PodResources>>& pods) {
  Value json = Value::Object();
  json.Add("version", Text(facts.version));
  json.Add("startedAt", Text(base::FormatRfc3339(facts.started_at)));
  json.Add("ready", Value::Bool(resources.NotReady().empty()));
  json.Add("configFile", Text(facts.config_file));
  if (!facts.config_errors.empty()) {
    Value errors = Value::Array();
    for (const std::string& error : facts.config_errors)
      errors.Append(Text(error));
    json.Add("configErrors", std::move(errors));
  }
  json.Add("kubeletSocket", Text(base::JoinPath(facts.plugin_dir, api::kKubeletSocketName)));
  if (!pods) json.Add("holdersUnknown", Text(pods.error().message()));
  const Holders holders = FindHolders(pods);
  Value all = Value::Array();
  for (const auto& [name, plugin] : resources.plugins())
    all.Append(ResourceJson(name, resources, facts.plugin_dir, holders));
  json.Add("resources", std::move(all));
  json.Add("events", EventsJson(events));
  return json;
}

}  // namespace tenon::tenond
