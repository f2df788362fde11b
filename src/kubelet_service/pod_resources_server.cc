#include "kubelet_service/pod_resources_server.h"

#include <string_view>
#include <utility>

#include "wire/pod_resources.h"

namespace tenon::kubelet_service {

Result<std::unique_ptr<PodResourcesServer>> PodResourcesServer::Listen(
    loop::EventLoop& loop, base::Log& log, const manager::Manager& manager, std::string path) {
  TENON_TRY(std::unique_ptr<rpc::Server> listener,
            rpc::Server::Listen(loop, log, std::move(path), {}));
  listener->AddUnary(std::string(wire::kPodResourcesList),
                     [&manager](std::string_view, const std::unique_ptr<rpc::UnaryCall>& call) {
                       call->Reply(wire::EncodePodResources(manager.ListPodResources()));
                     });
  return std::unique_ptr<PodResourcesServer>(new PodResourcesServer(std::move(listener)));
}

}  // namespace tenon::kubelet_service
