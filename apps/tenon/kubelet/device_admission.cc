#include "tenon/kubelet/device_admission.h"

#include <algorithm>
#include <utility>

namespace tenon::kubelet {

void ManagerAdmission::Admit(const pod::Pod& pod, const std::vector<std::string>& running,
                             AdmitDone done) {
  manager::PodRequest request{
      .uid = pod.uid, .name = pod.name, .namespace_name = pod.namespace_name};
  const auto add = [&request, &running](const std::vector<pod::Container>& containers,
                                        manager::ContainerKind kind) {
    for (const pod::Container& container : containers) {
      request.containers.push_back(
          {.name = container.name,
           .kind = container.sidecar ? manager::ContainerKind::kSidecar : kind,
           .limits = pod::ExtendedLimits(container),
           .running = std::find(running.begin(), running.end(), container.name) != running.end()});
    }
  };
  add(pod.init_containers, manager::ContainerKind::kInit);
  add(pod.containers, manager::ContainerKind::kApp);
  manager_.AdmitPod(std::move(request), std::move(done));
}

std::vector<ContainerResources> ManagerAdmission::Held(const pod::Pod& pod) const {
  for (PodResources& held : manager_.ListPodResources()) {
    if (held.name == pod.name && held.namespace_name == pod.namespace_name) {
      return std::move(held.containers);
    }
  }
  return {};
}

}  // namespace tenon::kubelet
