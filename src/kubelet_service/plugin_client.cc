#include "kubelet_service/plugin_client.h"

#include <optional>
#include <string_view>
#include <utility>

#include "wire/messages.h"

namespace tenon::kubelet_service {
namespace {

using manager::AllocateAnswer;
using manager::PluginCall;

Code CodeOf(rpc::StatusCode code) {
  switch (code) {
    case rpc::StatusCode::kInvalidArgument:
      return Code::kInvalidArgument;
    case rpc::StatusCode::kDeadlineExceeded:
      return Code::kDeadlineExceeded;
    case rpc::StatusCode::kNotFound:
      return Code::kNotFound;
    case rpc::StatusCode::kPermissionDenied:
      return Code::kPermissionDenied;
    case rpc::StatusCode::kResourceExhausted:
      return Code::kResourceExhausted;
    case rpc::StatusCode::kFailedPrecondition:
      return Code::kFailedPrecondition;
    case rpc::StatusCode::kUnimplemented:
      return Code::kUnimplemented;
    case rpc::StatusCode::kUnavailable:
      return Code::kUnavailable;
    case rpc::StatusCode::kDataLoss:
      return Code::kDataLoss;
    default:
      return Code::kInternal;
  }
}

Error ToError(const rpc::Status& status) {
  return {CodeOf(status.code), rpc::ToString(status)};
}

Error UnmarshalError(const Error& why) {
  return ToError({rpc::StatusCode::kInternal,
                  "grpc: failed to unmarshal the received message: " + why.message()});
}

class UnaryPluginCall final : public PluginCall {
 public:
  explicit UnaryPluginCall(std::unique_ptr<rpc::ClientCall> call) : call_(std::move(call)) {}

 private:
  std::unique_ptr<rpc::ClientCall> call_;
};

/// `decode` turns the response into a T, `done` takes a Result<T>.
template <class T, class Decode>
rpc::Channel::UnaryDone Decoded(Decode decode, std::function<void(Result<T>)> done) {
  return [decode, done = std::move(done)](const rpc::Status& status, const std::string& response) {
    if (!status.ok()) return done(ToError(status));
    Result<T> decoded = decode(response);
    done(decoded ? std::move(decoded) : UnmarshalError(decoded.error()));
  };
}

Result<std::optional<AllocateAnswer>> DecodeFirstContainer(std::string_view response) {
  TENON_TRY(std::vector<std::string> containers, wire::SplitAllocateResponse(response));
  if (containers.empty()) return std::optional<AllocateAnswer>();
  TENON_TRY(ContainerAllocation allocation, wire::DecodeContainerAllocation(containers[0]));
  return std::optional(AllocateAnswer{std::move(containers[0]), std::move(allocation)});
}

Result<std::vector<std::string>> DecodeFirstPreference(std::string_view response) {
  TENON_TRY(std::vector<std::vector<std::string>> containers,
            wire::DecodePreferredResponse(response));
  return containers.empty() ? std::vector<std::string>() : std::move(containers[0]);
}

/// A stream of lists; a list that cannot be read ends it.
class ListStream final : public PluginCall {
 public:
  ListStream(rpc::Channel& channel, manager::PluginClient::ListFn on_list,
             manager::PluginClient::EndFn on_end)
      : on_list_(std::move(on_list)), on_end_(std::move(on_end)) {
    call_ = channel.Stream(
        wire::kListAndWatch, "", [this](std::string_view message) { OnMessage(message); },
        [this](const rpc::Status& status) { OnEnd(status); });
  }

 private:
  void OnMessage(std::string_view message) {
    Result<std::vector<api::ListedDevice>> list = wire::DecodeDeviceList(message);
    if (list) return on_list_(*std::move(list));
    call_.reset();
    on_end_(UnmarshalError(list.error()));
  }
  void OnEnd(const rpc::Status& status) {
    on_end_(status.ok() ? Error(Code::kUnavailable, "EOF") : ToError(status));
  }

  const manager::PluginClient::ListFn on_list_;
  const manager::PluginClient::EndFn on_end_;
  std::unique_ptr<rpc::ClientCall> call_;
};

}  // namespace

manager::PluginClient::Call RpcPluginClient::GetOptions(base::Duration deadline, OptionsDone done) {
  return std::make_unique<UnaryPluginCall>(
      channel_->Unary(wire::kGetDevicePluginOptions, "", deadline,
                      Decoded<api::PluginOptions>(wire::DecodePluginOptions, std::move(done))));
}

manager::PluginClient::Call RpcPluginClient::ListAndWatch(ListFn on_list, EndFn on_end) {
  return std::make_unique<ListStream>(*channel_, std::move(on_list), std::move(on_end));
}

manager::PluginClient::Call RpcPluginClient::Allocate(api::AllocateRequest request,
                                                      base::Duration deadline, AllocateDone done) {
  return std::make_unique<UnaryPluginCall>(channel_->Unary(
      wire::kAllocate, wire::EncodeAllocateRequest({std::move(request)}), deadline,
      Decoded<std::optional<AllocateAnswer>>(DecodeFirstContainer, std::move(done))));
}

manager::PluginClient::Call RpcPluginClient::GetPreferredAllocation(api::PreferredRequest request,
                                                                    base::Duration deadline,
                                                                    PreferredDone done) {
  return std::make_unique<UnaryPluginCall>(channel_->Unary(
      wire::kGetPreferredAllocation, wire::EncodePreferredRequest({std::move(request)}), deadline,
      Decoded<std::vector<std::string>>(DecodeFirstPreference, std::move(done))));
}

manager::PluginClient::Call RpcPluginClient::PreStartContainer(std::vector<std::string> device_ids,
                                                               base::Duration deadline,
                                                               PreStartDone done) {
  return std::make_unique<UnaryPluginCall>(
      channel_->Unary(wire::kPreStartContainer, wire::EncodePreStartRequest(device_ids), deadline,
                      Decoded<void>(wire::CheckPreStartResponse, std::move(done))));
}

}  // namespace tenon::kubelet_service
