#include "kubelet_service/pod_resources_server.h"

#include <utility>
#include <vector>

#include "wire/pod_resources.h"

namespace tenon::kubelet_service {
namespace {

/// v1alpha1 has no NUMA nodes.
std::vector<PodResources> WithoutNumaNodes(std::vector<PodResources> pods) {
  for (PodResources& pod : pods)
    for (ContainerResources& container : pod.containers)
      for (ContainerDevices& devices : container.devices)
        devices.numa_nodes.clear();
  return pods;
}

}  // namespace

Result<std::unique_ptr<PodResourcesServer>> PodResourcesServer::Listen(
    loop::EventLoop& loop, base::Log& log, const manager::Manager& manager, std::string path) {
  TENON_TRY(std::unique_ptr<rpc::Server> listener,
            rpc::Server::Listen(loop, log, std::move(path), {}));
  std::unique_ptr<PodResourcesServer> server(
      new PodResourcesServer(loop, manager, std::move(listener)));
  server->AddMethods();
  return server;
}

void PodResourcesServer::AddMethods() {
  AddLimited(wire::kPodResourcesList, [this](std::string_view, rpc::UnaryCall& call) {
    call.Reply(wire::EncodePodResources(manager_.ListPodResources()));
  });
  AddLimited(wire::kPodResourcesListV1alpha1, [this](std::string_view, rpc::UnaryCall& call) {
    call.Reply(wire::EncodePodResources(WithoutNumaNodes(manager_.ListAppResources())));
  });
  AddLimited(wire::kGetAllocatableResources, [this](std::string_view, rpc::UnaryCall& call) {
    call.Reply(wire::EncodeAllocatableResources(manager_.AllocatableDevices()));
  });
  AddLimited(wire::kPodResourcesGet,
             [this](std::string_view request, rpc::UnaryCall& call) { Get(request, call); });
}

void PodResourcesServer::AddLimited(std::string_view method, Answer answer) {
  server_->AddUnary(std::string(method),
                    [this, answer = std::move(answer)](
                        std::string_view request, const std::unique_ptr<rpc::UnaryCall>& call) {
                      if (limit_.Take(loop_.timers().now())) return answer(request, *call);
                      call->Fail({rpc::StatusCode::kResourceExhausted, "rejected by rate limit"});
                    });
}

void PodResourcesServer::Get(std::string_view request, rpc::UnaryCall& call) const {
  auto wanted = wire::DecodeGetPodResourcesRequest(request);
  if (!wanted) return call.Fail({rpc::StatusCode::kInternal, wanted.error().message()});
  for (const PodResources& pod : manager_.ListPodResources()) {
    if (pod.name == wanted->name && pod.namespace_name == wanted->namespace_name)
      return call.Reply(wire::EncodePodResources({pod}));
  }
  call.Fail({rpc::StatusCode::kUnknown,
             "pod " + wanted->name + " in namespace " + wanted->namespace_name + " not found"});
}

}  // namespace tenon::kubelet_service
