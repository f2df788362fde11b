#include "tenon/kubelet_resources.h"

#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/strings.h"
#include "loop/event_loop.h"
#include "plugin_service/status_code.h"
#include "rpc/channel.h"
#include "tenon/table.h"
#include "wire/pod_resources.h"

namespace tenon::cli {
namespace {

constexpr base::Duration kDeadline = std::chrono::seconds(10);

/// Calls a method without a request and waits for the answer.
Result<std::string> Ask(loop::EventLoop& loop, rpc::Channel& channel, std::string_view method) {
  std::optional<Result<std::string>> answer;
  const auto call = channel.Unary(
      method, "", kDeadline, [&answer](const rpc::Status& status, std::string response) {
        answer = status.ok() ? Result<std::string>(std::move(response))
                             : Result<std::string>(plugin_service::ToError(status));
      });
  loop.RunUntil([&answer] { return answer.has_value(); }, kDeadline + kDeadline);
  if (!answer) return Error(Code::kDeadlineExceeded, std::string(method) + ": no answer");
  return *std::move(answer);
}

void AddHolder(const PodResources& pod, const ContainerResources& container,
               KubeletResources& out) {
  // A device of two NUMA nodes is listed twice.
  std::set<KubeletResources::Device*> held;
  for (const ContainerDevices& devices : container.devices) {
    auto& resource = out.resources[devices.resource_name];
    for (const std::string& id : devices.device_ids) {
      KubeletResources::Device& device = resource[id];
      device.numa_nodes.insert(devices.numa_nodes.begin(), devices.numa_nodes.end());
      if (held.insert(&device).second)
        device.holders.push_back({pod.namespace_name, pod.name, container.name});
    }
  }
}

void AddHolders(const std::vector<PodResources>& pods, KubeletResources& out) {
  for (const PodResources& pod : pods) {
    for (const ContainerResources& container : pod.containers)
      AddHolder(pod, container, out);
  }
}

void AddAllocatable(const std::vector<ContainerDevices>& all, KubeletResources& out) {
  for (const ContainerDevices& devices : all) {
    for (const std::string& id : devices.device_ids) {
      KubeletResources::Device& device = out.resources[devices.resource_name][id];
      device.allocatable = true;
      device.numa_nodes.insert(devices.numa_nodes.begin(), devices.numa_nodes.end());
    }
  }
}

struct Counts {
  int64_t allocatable = 0;
  int64_t held = 0;
  int64_t free = 0;
};

Counts Count(const std::map<std::string, KubeletResources::Device>& devices) {
  Counts out;
  for (const auto& [id, device] : devices) {
    if (device.allocatable) ++out.allocatable;
    if (!device.holders.empty()) ++out.held;
    if (device.allocatable && device.holders.empty()) ++out.free;
  }
  return out;
}

std::string NumaText(const KubeletResources::Device& device) {
  std::vector<std::string> texts;
  for (int64_t numa_node : device.numa_nodes)
    texts.push_back(std::to_string(numa_node));
  return base::Join(texts, ",");
}

std::string HoldersText(const KubeletResources::Device& device) {
  std::vector<std::string> texts;
  for (const KubeletResources::Holder& holder : device.holders)
    texts.push_back(holder.namespace_name + "/" + holder.pod + "/" + holder.container);
  return base::Join(texts, ",");
}

Value ToValue(const std::string& id, const KubeletResources::Device& device) {
  Value out = Value::Object();
  out.Add("id", Value::String(id));
  out.Add("allocatable", Value::Bool(device.allocatable));
  Value& numa_nodes = out.Add("numaNodes", Value::Array());
  for (int64_t numa_node : device.numa_nodes)
    numa_nodes.Append(Value::Number(numa_node));
  Value& holders = out.Add("heldBy", Value::Array());
  for (const KubeletResources::Holder& holder : device.holders) {
    Value& item = holders.Append(Value::Object());
    item.Add("namespace", Value::String(holder.namespace_name));
    item.Add("pod", Value::String(holder.pod));
    item.Add("container", Value::String(holder.container));
  }
  return out;
}

}  // namespace

Result<KubeletResources> AskKubeletResources(const std::string& socket) {
  const base::SystemClock clock;
  TENON_TRY(const auto loop, loop::EventLoop::Create(clock));
  const auto channel = rpc::Channel::Connect(*loop, socket, {.connect_timeout = kDeadline});
  KubeletResources out;
  auto list = Ask(*loop, *channel, wire::kPodResourcesList);
  if (!list)
    return Error(list.error().code(),
                 list.error().message() +
                     "; is a kubelet running? --kubelet-dir names the directory of another one");
  TENON_TRY(const auto pods, wire::DecodePodResources(*list));
  AddHolders(pods, out);
  auto allocatable = Ask(*loop, *channel, wire::kGetAllocatableResources);
  if (!allocatable && allocatable.error().code() == Code::kUnimplemented) {
    out.allocatable_unknown = allocatable.error().message();
    return out;
  }
  if (!allocatable) return std::move(allocatable).error();
  TENON_TRY(const auto devices, wire::DecodeAllocatableResources(*allocatable));
  AddAllocatable(devices, out);
  return out;
}

std::string RenderKubeletResources(const KubeletResources& kubelet) {
  const bool known = kubelet.allocatable_unknown.empty();
  Table resources({"RESOURCE", "ALLOCATABLE", "HELD", "FREE"});
  Table devices({"RESOURCE", "DEVICE", "ALLOCATABLE", "NUMA", "HELD BY"});
  for (const auto& [name, all] : kubelet.resources) {
    const Counts counts = Count(all);
    resources.Add({name, known ? std::to_string(counts.allocatable) : "?",
                   std::to_string(counts.held), known ? std::to_string(counts.free) : "?"});
    for (const auto& [id, device] : all) {
      devices.Add({name, id,
                   !known               ? "?"
                   : device.allocatable ? "yes"
                                        : "no",
                   NumaText(device), HoldersText(device)});
    }
  }
  std::string out = resources.Render();
  if (!devices.empty()) out += "\n" + devices.Render();
  if (!known) {
    out +=
        "\nWhat is allocatable is not known: " + base::EscapeForLine(kubelet.allocatable_unknown) +
        "\n";
  }
  return out;
}

Value ToValue(const KubeletResources& kubelet) {
  Value out = Value::Object();
  if (!kubelet.allocatable_unknown.empty())
    out.Add("allocatableUnknown", Value::String(kubelet.allocatable_unknown));
  Value& resources = out.Add("resources", Value::Array());
  for (const auto& [name, all] : kubelet.resources) {
    const Counts counts = Count(all);
    Value& resource = resources.Append(Value::Object());
    resource.Add("name", Value::String(name));
    resource.Add("allocatable", Value::Number(counts.allocatable));
    resource.Add("held", Value::Number(counts.held));
    resource.Add("free", Value::Number(counts.free));
    Value& devices = resource.Add("devices", Value::Array());
    for (const auto& [id, device] : all)
      devices.Append(ToValue(id, device));
  }
  return out;
}

}  // namespace tenon::cli
