#include "plugin_service/pod_resources_client.h"

#include <utility>

#include "plugin_service/status_code.h"
#include "rpc/channel.h"
#include "wire/pod_resources.h"

namespace tenon::plugin_service {
namespace {

struct OneCall final : PodResourcesCall {
  std::unique_ptr<rpc::Channel> channel;
  std::unique_ptr<rpc::ClientCall> call;  // Ends before its channel.
};

}  // namespace

std::unique_ptr<PodResourcesCall> ListPodResources(
    loop::EventLoop& loop, const std::string& socket, base::Duration deadline,
    std::function<void(Result<std::vector<PodResources>>)> done) {
  auto one = std::make_unique<OneCall>();
  one->channel = rpc::Channel::Connect(loop, socket, {.connect_timeout = deadline});
  one->call = one->channel->Unary(
      wire::kPodResourcesList, "", deadline,
      [report = std::move(done)](const rpc::Status& status, const std::string& response) {
        if (status.ok())
          report(wire::DecodePodResources(response));
        else
          report(ToError(status));
      });
  return one;
}

}  // namespace tenon::plugin_service
