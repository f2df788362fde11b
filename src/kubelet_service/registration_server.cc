#include "kubelet_service/registration_server.h"

#include <utility>

#include "base/errno_error.h"
#include "base/strings.h"
#include "wire/messages.h"

namespace tenon::kubelet_service {

Result<std::unique_ptr<RegistrationServer>> RegistrationServer::Listen(
    loop::EventLoop& loop, base::Log& log, manager::Manager& manager,
    const std::string& directory) {
  TENON_TRY(std::unique_ptr<rpc::Server> listener,
            rpc::Server::Listen(loop, log, base::JoinPath(directory, api::kKubeletSocketName), {}));
  std::unique_ptr<RegistrationServer> server(
      new RegistrationServer(log, manager, std::move(listener)));
  server->server_->AddUnary(
      std::string(wire::kRegister),
      [s = server.get()](std::string_view bytes, std::unique_ptr<rpc::UnaryCall> call) {
        s->OnRegister(bytes, std::move(call));
      });
  return server;
}

void RegistrationServer::OnRegister(std::string_view bytes, std::unique_ptr<rpc::UnaryCall> call) {
  Result<api::RegisterRequest> request = wire::DecodeRegisterRequest(bytes);
  if (!request)
    return call->Fail({rpc::StatusCode::kInternal,
                       "grpc: error unmarshalling request: " + request.error().message()});
  uint64_t number = next_number_++;
  Pending& pending = pending_[number];
  pending.request = *std::move(request);
  pending.call = std::move(call);
  auto registration = manager_.Register(
      pending.request, [this, number](const Result<void>& result) { OnDone(number, result); });
  if (!registration) return OnDone(number, std::move(registration).error());
  pending.registration = *std::move(registration);
  pending.call->OnCancelled([this, number] { pending_.erase(number); });
}

void RegistrationServer::OnDone(uint64_t number, const Result<void>& result) {
  auto at = pending_.find(number);
  Pending pending = std::move(at->second);
  pending_.erase(at);
  if (result) return pending.call->Reply("");
  base::LogFields fields = {{"resource", pending.request.resource_name},
                            {"endpoint", pending.request.endpoint},
                            {"why", result.error().message()}};
  if (result.error().os_errno() != 0)
    fields.emplace_back("socket", base::ErrnoText(result.error().os_errno()));
  log_.Warning("device plugin was not registered", fields);
  pending.call->Fail({rpc::StatusCode::kUnknown, result.error().message()});
}

}  // namespace tenon::kubelet_service
