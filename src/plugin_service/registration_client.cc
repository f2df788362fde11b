#include "plugin_service/registration_client.h"

#include <utility>

#include "plugin_service/status_code.h"
#include "rpc/channel.h"
#include "wire/messages.h"

namespace tenon::plugin_service {
namespace {

struct OneCall final : plugin::RegisterCall {
  std::unique_ptr<rpc::Channel> channel;
  std::unique_ptr<rpc::ClientCall> call;  // Ends before its channel.
};

}  // namespace

RegistrationClient::RegistrationClient(loop::EventLoop& loop, PluginMetrics& metrics,
                                       std::string kubelet_socket,
                                       const api::RegisterRequest& request)
    : loop_(loop),
      metrics_(metrics),
      kubelet_socket_(std::move(kubelet_socket)),
      request_(wire::EncodeRegisterRequest(request)) {}

std::unique_ptr<plugin::RegisterCall> RegistrationClient::Register(Done done) {
  auto one = std::make_unique<OneCall>();
  one->channel = rpc::Channel::Connect(loop_, kubelet_socket_, {.connect_timeout = kDeadline});
  one->call = one->channel->Unary(
      wire::kRegister, request_, kDeadline,
      [this, report = std::move(done)](const rpc::Status& status, const std::string&) {
        metrics_.OnRegisterDone(status.ok());
        if (status.ok())
          report({});
        else
          report(ToError(status));
      });
  return one;
}

}  // namespace tenon::plugin_service
