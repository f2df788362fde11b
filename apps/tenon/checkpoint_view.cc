#include "tenon/checkpoint_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/strings.h"
#include "tenon/table.h"
#include "wire/messages.h"

namespace tenon::cli {
namespace {

using Report = CheckpointReport;

constexpr int64_t kNoNuma = -1;  // As the file has it.

std::string NameOf(const checkpoint::Entry& entry) {
  return "pod " + entry.pod_uid + ", container " + entry.container_name + ", " +
         entry.resource_name;
}

/// A device of several NUMA nodes stands under each of them.
std::map<std::string, std::vector<std::string>> NumaNodesById(const checkpoint::Entry& entry) {
  std::map<std::string, std::vector<std::string>> out;
  if (!entry.device_ids) return out;
  for (const auto& [numa_node, ids] : *entry.device_ids) {
    if (!ids) continue;
    for (const std::string& id : *ids) {
      std::vector<std::string>& numa_nodes = out[id];
      if (numa_node != kNoNuma) numa_nodes.push_back(std::to_string(numa_node));
    }
  }
  return out;
}

Report::Entry ExamineEntry(const checkpoint::Entry& entry, Report& report) {
  Report::Entry out{
      .pod_uid = entry.pod_uid, .container = entry.container_name, .resource = entry.resource_name};
  for (const auto& [id, numa_nodes] : NumaNodesById(entry)) {
    out.ids.push_back(id);
    out.places.push_back(numa_nodes.empty() ? id
                                            : id + " (NUMA " + base::Join(numa_nodes, ",") + ")");
  }
  if (!entry.alloc_resp) {
    report.errors.push_back(NameOf(entry) +
                            ": the plugin's answer is missing; a kubelet skips the entry and "
                            "takes its devices for free");
    return out;
  }
  auto allocation = wire::DecodeContainerAllocation(*entry.alloc_resp);
  if (allocation) {
    out.allocation = *std::move(allocation);
  } else {
    report.errors.push_back(NameOf(entry) + ": the plugin's answer cannot be read (" +
                            allocation.error().message() +
                            "); a kubelet skips the entry and takes its devices for free");
  }
  return out;
}

/// Containers of one pod may share a device: an init container's pass to those that follow it.
void FindSharedDevices(Report& report) {
  std::map<std::pair<std::string, std::string>, std::set<std::string>> holders;
  for (const Report::Entry& entry : report.entries) {
    for (const std::string& id : entry.ids)
      holders[{entry.resource, id}].insert(entry.pod_uid);
  }
  for (const auto& [device, pods] : holders) {
    if (pods.size() < 2) continue;
    report.notes.push_back("device " + device.second + " of " + device.first +
                           " is held by several pods: " +
                           base::Join(std::vector<std::string>(pods.begin(), pods.end()), ", "));
  }
}

void CountResources(const checkpoint::Checkpoint& content, Report& report) {
  std::map<std::string, Report::Resource> resources;
  if (content.registered_devices) {
    for (const auto& [name, ids] : *content.registered_devices)
      resources[name] = {.name = name, .healthy = ids ? ids->size() : 0, .registered = true};
  }
  std::map<std::string, std::set<std::string>> held;
  for (const Report::Entry& entry : report.entries)
    held[entry.resource].insert(entry.ids.begin(), entry.ids.end());
  for (const auto& [name, ids] : held) {
    Report::Resource& resource = resources[name];
    resource.name = name;
    resource.held = ids.size();
    if (resource.registered) continue;
    report.notes.push_back(name +
                           " is held and not registered: its plugin had been gone for more than "
                           "five minutes when the file was written");
  }
  for (auto& [name, resource] : resources)
    report.resources.push_back(std::move(resource));
}

/// "/dev/x0", or "/dev/x0 from /dev/y" where the host has it elsewhere.
std::string FromHost(const std::string& container_path, const std::string& host_path) {
  return container_path == host_path ? container_path : container_path + " from " + host_path;
}

/// What a container gets, one row for each thing: its kind and itself.
std::vector<std::pair<std::string, std::string>> ListGifts(const ContainerAllocation& allocation) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const DeviceNode& device : allocation.device_nodes) {
    out.emplace_back("device node", FromHost(device.container_path, device.host_path) + " (" +
                                        device.permissions + ")");
  }
  for (const Mount& mount : allocation.mounts) {
    out.emplace_back("mount", FromHost(mount.container_path, mount.host_path) +
                                  (mount.read_only ? " (read-only)" : ""));
  }
  for (const auto& [name, value] : allocation.env)
    out.emplace_back("variable", fmt::format("{}={}", name, value));
  for (const auto& [name, value] : allocation.annotations)
    out.emplace_back("annotation", fmt::format("{}={}", name, value));
  for (const std::string& name : allocation.cdi_devices)
    out.emplace_back("CDI device", name);
  return out;
}

Value ToTexts(const std::vector<std::string>& texts) {
  Value out = Value::Array();
  for (const std::string& text : texts)
    out.Append(Value::String(text));
  return out;
}

Value ToValue(const Report::Entry& entry) {
  Value out = Value::Object();
  out.Add("podUID", Value::String(entry.pod_uid));
  out.Add("container", Value::String(entry.container));
  out.Add("resource", Value::String(entry.resource));
  out.Add("deviceIDs", ToTexts(entry.ids));
  Value& gives = out.Add("gives", Value::Array());
  if (!entry.allocation) return out;
  for (const auto& [kind, what] : ListGifts(*entry.allocation)) {
    Value& gift = gives.Append(Value::Object());
    gift.Add("kind", Value::String(kind));
    gift.Add("what", Value::String(what));
  }
  return out;
}

}  // namespace

CheckpointReport ExamineCheckpoint(const checkpoint::Inspection& file) {
  Report report{.stored_checksum = file.stored_checksum,
                .computed_checksum = file.computed_checksum};
  if (!file.intact()) {
    report.errors.push_back("the checksum is " + std::to_string(file.stored_checksum) +
                            ", that of the content is " + std::to_string(file.computed_checksum) +
                            ": a kubelet takes the file for corrupt and starts without it");
  }
  if (file.checkpoint.entries) {
    for (const checkpoint::Entry& entry : *file.checkpoint.entries)
      report.entries.push_back(ExamineEntry(entry, report));
  }
  CountResources(file.checkpoint, report);
  FindSharedDevices(report);
  return report;
}

std::string RenderCheckpoint(const CheckpointReport& report) {
  Table entries({"POD UID", "CONTAINER", "RESOURCE", "DEVICES"});
  Table gifts({"POD UID", "CONTAINER", "RESOURCE", "GIVES", "WHAT"});
  Table resources({"RESOURCE", "REGISTERED", "HEALTHY", "HELD"});
  for (const Report::Entry& entry : report.entries) {
    entries.Add({entry.pod_uid, entry.container, entry.resource, base::Join(entry.places, ", ")});
    if (!entry.allocation) continue;
    for (const auto& [kind, what] : ListGifts(*entry.allocation))
      gifts.Add({entry.pod_uid, entry.container, entry.resource, kind, what});
  }
  for (const Report::Resource& resource : report.resources) {
    resources.Add({resource.name, resource.registered ? "yes" : "no",
                   std::to_string(resource.healthy), std::to_string(resource.held)});
  }
  std::string out;
  for (const Table* table : {&resources, &entries, &gifts}) {
    if (table->empty()) continue;
    out += table->Render() + "\n";
  }
  for (const std::string& note : report.notes)
    out += "Note: " + base::EscapeForLine(note) + "\n";
  out += report.valid() ? "Valid, checksum " + std::to_string(report.stored_checksum) + ".\n"
                        : "Not valid.\n";
  return out;
}

Value ToValue(const CheckpointReport& report) {
  Value out = Value::Object();
  out.Add("valid", Value::Bool(report.valid()));
  out.Add("checksum", Value::Number(report.stored_checksum));
  out.Add("computedChecksum", Value::Number(report.computed_checksum));
  Value& entries = out.Add("entries", Value::Array());
  for (const Report::Entry& entry : report.entries)
    entries.Append(ToValue(entry));
  Value& resources = out.Add("resources", Value::Array());
  for (const Report::Resource& resource : report.resources) {
    Value& item = resources.Append(Value::Object());
    item.Add("name", Value::String(resource.name));
    item.Add("registered", Value::Bool(resource.registered));
    item.Add("healthy", Value::Number(static_cast<int64_t>(resource.healthy)));
    item.Add("held", Value::Number(static_cast<int64_t>(resource.held)));
  }
  out.Add("errors", ToTexts(report.errors));
  out.Add("notes", ToTexts(report.notes));
  return out;
}

}  // namespace tenon::cli
