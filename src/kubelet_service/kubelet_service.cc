#include "kubelet_service/kubelet_service.h"

#include <utility>

#include "wire/messages.h"

namespace tenon::kubelet_service {

KubeletService::KubeletService(loop::EventLoop& loop, base::Log& log,
                               std::unique_ptr<KubeletDirectory> directory, const Options& options)
    : directory_(std::move(directory)),
      worker_(loop.handle()),
      file_(worker_, directory_->plugin_directory()),
      dialer_(loop, directory_->plugin_directory(),
              {.max_response_bytes = options.max_response_bytes,
               .any_endpoint = options.manager.any_endpoint}),
      manager_(loop.timers(), log, dialer_, file_, wire::DecodeContainerAllocation,
               options.manager) {}

Result<std::unique_ptr<KubeletService>> KubeletService::Start(
    loop::EventLoop& loop, base::Log& log, std::unique_ptr<KubeletDirectory> directory,
    const Options& options) {
  std::unique_ptr<KubeletService> service(
      new KubeletService(loop, log, std::move(directory), options));
  TENON_TRY_VOID(service->manager_.Restore());
  TENON_TRY(service->pod_resources_,
            PodResourcesServer::Listen(loop, log, service->manager_,
                                       service->directory_->pod_resources_socket()));
  TENON_TRY(service->registration_,
            RegistrationServer::Listen(loop, log, service->manager_,
                                       service->directory_->plugin_directory()));
  TENON_TRY(
      service->registry_,
      PluginRegistry::Start(loop, log, service->manager_, service->directory_->plugin_registry(),
                            {.dialer = {.max_response_bytes = options.max_response_bytes,
                                        .any_endpoint = options.manager.any_endpoint}}));
  return service;
}

}  // namespace tenon::kubelet_service
