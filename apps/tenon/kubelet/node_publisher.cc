#include "tenon/kubelet/node_publisher.h"

#include <map>
#include <utility>

#include "device/resource_name.h"

namespace tenon::kubelet {
namespace {

using Amounts = std::map<std::string, std::string>;

/// The extended resources in a list of the Node's status.
Amounts ReadAmounts(const Value& kube_node, std::string_view list) {
  Amounts amounts;
  const Value* found = kube_node.At({"status", list});
  if (found == nullptr) return amounts;
  for (const Value::Member& member : found->members()) {
    if (ResourceName::Parse(member.key)) amounts[member.key] = member.value.text();
  }
  return amounts;
}

/// What turns `from` into `to`; null deletes a key.
Value Difference(const Amounts& from, const Amounts& to) {
  Value changes = Value::Object();
  for (const auto& [name, amount] : to) {
    const auto found = from.find(name);
    if (found == from.end() || found->second != amount) changes.Add(name, Value::String(amount));
  }
  for (const auto& [name, amount] : from) {
    if (!to.contains(name)) changes.Add(name, Value::Null());
  }
  return changes;
}

}  // namespace

Value StatusPatch(const Value& kube_node, const std::vector<manager::ResourceCapacity>& offered,
                  const std::set<std::string>& offered_before, bool forget) {
  const Amounts old_capacity = ReadAmounts(kube_node, "capacity");
  Amounts capacity = old_capacity;
  if (forget) {
    for (auto& [name, amount] : capacity)
      amount = "0";
  }
  for (const std::string& name : offered_before)
    capacity[name] = "0";
  for (const manager::ResourceCapacity& resource : offered)
    capacity[resource.resource] = std::to_string(resource.capacity);
  Amounts allocatable = capacity;
  for (const manager::ResourceCapacity& resource : offered)
    allocatable[resource.resource] = std::to_string(resource.allocatable);

  Value status = Value::Object();
  Value of_capacity = Difference(old_capacity, capacity);
  Value of_allocatable = Difference(ReadAmounts(kube_node, "allocatable"), allocatable);
  if (!of_capacity.members().empty()) status.Add("capacity", std::move(of_capacity));
  if (!of_allocatable.members().empty()) status.Add("allocatable", std::move(of_allocatable));
  Value patch = Value::Object();
  if (!status.members().empty()) patch.Add("status", std::move(status));
  return patch;
}

NodePublisher::NodePublisher(loop::EventLoop& loop, kubeapi::ApiClient& client, base::Log& log,
                             OfferedFn offered, Options options)
    : loop_(loop),
      client_(client),
      log_(log),
      offered_(std::move(offered)),
      options_(std::move(options)),
      forget_(options_.forget) {
  timer_ = loop_.timers().After(base::Duration::zero(), [this] { Look(); });
}

void NodePublisher::Refresh() {
  if (call_ != nullptr) {
    stale_ = true;
    return;
  }
  timer_ = loop_.timers().After(base::Duration::zero(), [this] { Look(); });
}

void NodePublisher::Wait() {
  call_.reset();
  const bool again = std::exchange(stale_, false);
  timer_ =
      loop_.timers().After(again ? base::Duration::zero() : options_.every, [this] { Look(); });
}

void NodePublisher::TellTrouble(const std::string& message) {
  if (std::exchange(trouble_, message) != message)
    log_.Warning("the Node object is not up to date; trying on", {{"error", message}});
}

void NodePublisher::Look() {
  stale_ = false;
  call_ = client_.Send(
      {.what = "get node " + options_.kube_node, .path = "/api/v1/nodes/" + options_.kube_node},
      [this](const kubeapi::ApiAnswer& answer) { OnNode(answer); });
}

void NodePublisher::OnNode(const kubeapi::ApiAnswer& answer) {
  // A node that is not there yet says nothing of a machine that is no more.
  if (answer.status == 404) forget_ = false;
  if (!answer.object) {
    TellTrouble(answer.object.error().message());
    return Wait();
  }
  const auto offered = offered_();
  const Value patch = StatusPatch(*answer.object, offered, offered_before_, forget_);
  for (const manager::ResourceCapacity& resource : offered)
    offered_before_.insert(resource.resource);
  if (patch.members().empty()) {
    forget_ = false;
    trouble_.clear();
    return Wait();
  }
  call_ = client_.Send({.what = "patch node " + options_.kube_node,
                        .method = "PATCH",
                        .path = "/api/v1/nodes/" + options_.kube_node + "/status",
                        .query = "fieldManager=tenon-kubelet",
                        .content_type = "application/merge-patch+json",
                        .body = ToJson(patch)},
                       [this](const kubeapi::ApiAnswer& patched) { OnPatched(patched); });
}

void NodePublisher::OnPatched(const kubeapi::ApiAnswer& answer) {
  if (answer.object) {
    forget_ = false;
    trouble_.clear();
    log_.Info("the Node object has our devices", {{"node", options_.kube_node}});
  } else {
    TellTrouble(answer.object.error().message());
  }
  Wait();
}

}  // namespace tenon::kubelet
