#include "tenon/kubelet/control_api.h"

#include <algorithm>
#include <list>
#include <memory>
#include <utility>

#include "base/strings.h"
#include "pod/manifest.h"
#include "pod/status.h"
#include "value/value.h"

namespace tenon::kubelet {
namespace {

using admin::HttpRequest;
using admin::HttpResponse;
using admin::Responder;

constexpr int64_t kLongestWaitSeconds = 300;
constexpr int64_t kLongestGraceSeconds = 86400;

HttpResponse Json(const Value& value, int status = 200) {
  return {.status = status, .body = ToJson(value, /*indent=*/true) + "\n"};
}

HttpResponse Problems(const pod::Manifest& manifest) {
  Value out = Value::Object();
  Value& errors = out.Add("errors", Value::Array());
  for (const std::string& problem : manifest.problems)
    errors.Append(Value::String(problem));
  return Json(out, 400);
}

HttpResponse NoSuchPod(const HttpRequest& request) {
  return admin::ErrorResponse(
      404, "no pod " + request.params.at("namespace") + "/" + request.params.at("name"));
}

Pods::Key KeyOf(const HttpRequest& request) {
  return {request.params.at("namespace"), request.params.at("name")};
}

/// A number of the query, `otherwise` when it is not there, nullopt when it is none or too large.
std::optional<int64_t> QueryNumber(const HttpRequest& request, const std::string& name,
                                   int64_t otherwise, int64_t most) {
  const auto found = request.query.find(name);
  if (found == request.query.end()) return otherwise;
  const auto number = base::ParseInt64(found->second);
  if (!number || *number < 0 || *number > most) return std::nullopt;
  return number;
}

HttpResponse BadNumber(std::string_view name, int64_t most) {
  return admin::ErrorResponse(
      400, std::string(name) + ": must be a number from 0 to " + std::to_string(most));
}

/// The pod as the API of a cluster shows it. Containers that the kubelet's own status of them
/// leaves out, init containers and sidecars, have no health here either.
Value PodValue(const PodRecord& record, const DeviceAdmission& devices) {
  std::vector<Value::Member> members = pod::ToValue(record.pod).members();
  for (Value::Member& member : members) {
    if (member.key != "metadata") continue;
    member.value.Add("creationTimestamp", Value::String(base::FormatRfc3339(record.created)));
  }
  Value out = Value::Object(std::move(members));
  pod::PodStatus status = record.status;
  for (pod::ContainerStatus& container : status.containers)
    if (!container.allocated_devices.empty())
      container.device_health = devices.Health(record.pod.uid, container.name);
  out.Add("status", pod::ToValue(status));
  return out;
}

const pod::Container* FindContainer(const pod::Pod& pod, const std::string& name) {
  if (name.empty() && pod.containers.size() == 1 && pod.init_containers.empty()) {
    return &pod.containers.front();
  }
  for (const auto* containers : {&pod.init_containers, &pod.containers}) {
    for (const pod::Container& container : *containers) {
      if (container.name == name) return &container;
    }
  }
  return nullptr;
}

bool HasEnded(const PodRecord& record, const std::string& container) {
  if (record.status.terminal()) return true;
  for (const auto* statuses : {&record.status.init_containers, &record.status.containers}) {
    for (const pod::ContainerStatus& status : *statuses) {
      if (status.name != container) continue;
      return status.state.kind == pod::ContainerState::Kind::kTerminated;
    }
  }
  return true;
}

Value HolderValue(const pod::Pod& pod, const std::string& container,
                  const std::vector<std::string>& ids) {
  Value out = Value::Object();
  out.Add("namespace", Value::String(pod.namespace_name));
  out.Add("pod", Value::String(pod.name));
  out.Add("container", Value::String(container));
  Value& list = out.Add("deviceIDs", Value::Array());
  for (const std::string& id : ids)
    list.Append(Value::String(id));
  return out;
}

/// Who holds devices of this resource; `in_use` counts them.
Value HoldersOf(const Pods& pods, const std::string& resource, int64_t& in_use) {
  Value out = Value::Array();
  for (const auto& [key, worker] : pods.all()) {
    const pod::PodStatus& pod_status = worker->record().status;
    for (const auto* statuses : {&pod_status.init_containers, &pod_status.containers})
      for (const pod::ContainerStatus& status : *statuses)
        for (const ContainerDevices& held : status.allocated_devices) {
          if (held.resource_name != resource) continue;
          out.Append(HolderValue(worker->pod(), status.name, held.device_ids));
          in_use += static_cast<int64_t>(held.device_ids.size());
        }
  }
  return out;
}

}  // namespace

ControlApi::ControlApi(Parts parts)
    : parts_(std::move(parts)),
      logs_(parts_.loop),
      trials_({.devices = parts_.devices,
               .machine = parts_.machine,
               .image_dir = parts_.image_dir,
               .cdi_directories = parts_.cdi_directories}) {}

void ControlApi::AddRoutes(admin::HttpServer& server) {
  server.Route("POST", "/api/v1/pods", [this](const HttpRequest& request, Responder responder) {
    CreatePods(request, std::move(responder));
  });
  server.Route("GET", "/api/v1/pods",
               [this](const HttpRequest&, Responder responder) { responder.Send(ListPods()); });
  server.Route(
      "GET", "/api/v1/pods/{namespace}/{name}",
      [this](const HttpRequest& request, Responder responder) { responder.Send(GetPod(request)); });
  server.Route("DELETE", "/api/v1/pods/{namespace}/{name}",
               [this](const HttpRequest& request, Responder responder) {
                 DeletePod(request, std::move(responder));
               });
  server.Route("GET", "/api/v1/pods/{namespace}/{name}/log",
               [this](const HttpRequest& request, Responder responder) {
                 ReadLog(request, std::move(responder));
               });
  server.Route("POST", "/api/v1/trials", [this](const HttpRequest& request, Responder responder) {
    TryPod(request, std::move(responder));
  });
  server.Route("GET", "/api/v1/node",
               [this](const HttpRequest&, Responder responder) { responder.Send(GetNode()); });
  server.Route("GET", "/api/v1/status",
               [this](const HttpRequest&, Responder responder) { responder.Send(GetStatus()); });
  server.Route("GET", "/healthz", [](const HttpRequest&, Responder responder) {
    responder.Send({.content_type = "text/plain", .body = "ok\n"});
  });
}

void ControlApi::TryPod(const HttpRequest& request, Responder responder) {
  pod::Manifest manifest = pod::ParseManifest(request.body, "manifest", pod::RandomUid);
  if (!manifest.problems.empty()) return responder.Send(Problems(manifest));
  if (manifest.pods.size() != 1)
    return responder.Send(admin::ErrorResponse(400, "manifest: must hold one pod"));
  const auto format = request.query.find("format");
  const std::string name = format == request.query.end() ? "" : format->second;
  if (name != "cri" && name != "oci")
    return responder.Send(admin::ErrorResponse(400, "format: must be cri or oci"));
  pod::Pod pod = std::move(manifest.pods.front());
  pod.uid = pod::RandomUid();  // A pod of the same manifest may be there.
  const auto waiting = tries_.insert(tries_.end(), std::move(responder));
  trials_.Start(std::move(pod), name == "cri" ? Trials::Format::kCri : Trials::Format::kOci,
                [this, waiting](const Value& answer) {
                  waiting->Send(Json(answer));
                  tries_.erase(waiting);
                });
}

void ControlApi::CreatePods(const HttpRequest& request, Responder responder) {
  pod::Manifest manifest = pod::ParseManifest(request.body, "manifest", pod::RandomUid);
  if (!manifest.problems.empty()) return responder.Send(Problems(manifest));
  const auto waiting = creations_.insert(creations_.end(), std::move(responder));
  const auto created = [this, waiting](const std::vector<Pods::Key>& keys) {
    Value out = Value::Object();
    Value& items = out.Add("items", Value::Array());
    for (const Pods::Key& key : keys) {
      if (const PodWorker* worker = parts_.pods.Find(key))
        items.Append(PodValue(worker->record(), parts_.devices));
    }
    waiting->Send(Json(out, 201));
    creations_.erase(waiting);
  };
  if (auto result = parts_.pods.Create(std::move(manifest.pods), created); !result) {
    waiting->Send(admin::ErrorResponse(409, result.error().message()));
    creations_.erase(waiting);
  }
}

void ControlApi::DeletePod(const HttpRequest& request, Responder responder) {
  const PodWorker* worker = parts_.pods.Find(KeyOf(request));
  if (!worker) return responder.Send(NoSuchPod(request));
  const auto grace =
      QueryNumber(request, "grace", worker->pod().termination_grace.count(), kLongestGraceSeconds);
  if (!grace) return responder.Send(BadNumber("grace", kLongestGraceSeconds));
  const auto waiting = deletions_.insert(deletions_.end(), std::move(responder));
  parts_.pods.Delete(KeyOf(request), std::chrono::seconds(*grace), [this, waiting] {
    waiting->Send(Json(Value::Object()));
    deletions_.erase(waiting);
  });
}

void ControlApi::ReadLog(const HttpRequest& request, Responder responder) {
  const PodWorker* worker = parts_.pods.Find(KeyOf(request));
  if (!worker) return responder.Send(NoSuchPod(request));
  const auto named = request.query.find("container");
  const pod::Container* container =
      FindContainer(worker->pod(), named == request.query.end() ? "" : named->second);
  if (!container) {
    return responder.Send(admin::ErrorResponse(
        named == request.query.end() ? 400 : 404,
        named == request.query.end() ? "container: which one? Give its name"
                                     : "no container " + base::EscapeForLine(named->second)));
  }
  const auto offset = QueryNumber(request, "offset", 0, INT64_MAX);
  if (!offset) return responder.Send(BadNumber("offset", INT64_MAX));
  const auto wait = QueryNumber(request, "wait", 0, kLongestWaitSeconds);
  if (!wait) return responder.Send(BadNumber("wait", kLongestWaitSeconds));
  logs_.Serve({.path = parts_.store.OutputPath(worker->pod().uid, container->name),
               .offset = *offset,
               .wait = std::chrono::seconds(*wait),
               .ended =
                   [this, key = KeyOf(request), uid = worker->pod().uid, name = container->name] {
                     const PodWorker* pod = parts_.pods.Find(key);
                     return !pod || pod->pod().uid != uid || HasEnded(pod->record(), name);
                   }},
              std::move(responder));
}

HttpResponse ControlApi::ListPods() const {
  Value out = Value::Object();
  Value& items = out.Add("items", Value::Array());
  for (const auto& [key, worker] : parts_.pods.all())
    items.Append(PodValue(worker->record(), parts_.devices));
  return Json(out);
}

HttpResponse ControlApi::GetPod(const HttpRequest& request) const {
  const PodWorker* worker = parts_.pods.Find(KeyOf(request));
  return worker ? Json(PodValue(worker->record(), parts_.devices)) : NoSuchPod(request);
}

HttpResponse ControlApi::GetNode() const {
  Value out = Value::Object();
  out.Add("apiVersion", Value::String("v1"));
  out.Add("kind", Value::String("Node"));
  out.Add("metadata", Value::Object()).Add("name", Value::String(parts_.node_name));
  Value capacity = Value::Object();
  Value allocatable = Value::Object();
  for (const manager::ResourceCapacity& resource : parts_.devices.Capacity()) {
    capacity.Add(resource.resource, Value::String(std::to_string(resource.capacity)));
    allocatable.Add(resource.resource, Value::String(std::to_string(resource.allocatable)));
  }
  Value& status = out.Add("status", Value::Object());
  status.Add("capacity", std::move(capacity));
  status.Add("allocatable", std::move(allocatable));
  return Json(out);
}

HttpResponse ControlApi::GetStatus() const {
  Value out = Value::Object();
  out.Add("version", Value::String(TENON_VERSION));
  out.Add("startedAt", Value::String(base::FormatRfc3339(parts_.started)));
  Value& resources = out.Add("resources", Value::Array());
  for (const manager::ResourceCapacity& resource : parts_.devices.Capacity()) {
    int64_t in_use = 0;
    Value holders = HoldersOf(parts_.pods, resource.resource, in_use);
    Value& item = resources.Append(Value::Object());
    item.Add("name", Value::String(resource.resource));
    const auto capacity = static_cast<int64_t>(resource.capacity);
    const auto healthy = static_cast<int64_t>(resource.allocatable);
    item.Add("plugin",
             Value::String(parts_.devices.IsConnected(resource.resource) ? "registered" : "lost"));
    item.Add("capacity", Value::Number(capacity));
    item.Add("healthy", Value::Number(healthy));
    item.Add("unhealthy", Value::Number(capacity - healthy));
    item.Add("inUse", Value::Number(in_use));
    item.Add("heldBy", std::move(holders));
  }
  return Json(out);
}

}  // namespace tenon::kubelet
