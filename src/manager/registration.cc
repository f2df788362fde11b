#include "manager/registration.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "device/resource_name.h"

namespace tenon::manager {

Result<void> CheckRegisterRequest(const api::RegisterRequest& request, bool any_endpoint) {
  auto invalid = [](std::string text) { return Error(Code::kInvalidArgument, std::move(text)); };
  if (request.version != api::kVersion)
    return invalid(
        fmt::format(R"(requested API version "{}" is not supported by kubelet. Supported version )"
                    R"(is ["{}"])",
                    request.version, api::kVersion));
  if (!ResourceName::Parse(request.resource_name))
    return invalid(fmt::format(R"(the ResourceName "{}" is invalid)", request.resource_name));
  const std::string& endpoint = request.endpoint;
  if (!any_endpoint && (endpoint.empty() || endpoint == "." || endpoint == ".." ||
                        endpoint.find('/') != std::string::npos))
    return invalid(fmt::format(
        R"(the endpoint "{}" is invalid: it must be the name of a socket beside kubelet.sock)",
        endpoint));
  return {};
}

Result<void> CheckFoundPlugin(const FoundPlugin& plugin) {
  auto invalid = [](std::string text) { return Error(Code::kInvalidArgument, std::move(text)); };
  if (std::ranges::find(plugin.versions, api::kVersion) == plugin.versions.end())
    return invalid(fmt::format("manager version, {}, is not among plugin supported versions [{}]",
                               api::kVersion, base::Join(plugin.versions, " ")));
  if (!ResourceName::Parse(plugin.resource_name))
    return invalid(
        fmt::format(R"(invalid name of device plugin socket: the ResourceName "{}" is invalid)",
                    plugin.resource_name));
  return {};
}

Registration::Registration(loop::TimerQueue& timers, PluginDialer& dialer, Deadlines deadlines,
                           Install install, Done done)
    : timers_(timers),
      dialer_(dialer),
      deadlines_(deadlines),
      install_(std::move(install)),
      done_(std::move(done)) {}

void Registration::Start(const std::string& endpoint) {
  call_ = dialer_.Dial(
      endpoint, deadlines_.dial,
      [this](Result<std::unique_ptr<PluginClient>> client) { OnDialled(std::move(client)); });
}

void Registration::OnDialled(Result<std::unique_ptr<PluginClient>> client) {
  if (!client) return End(std::move(client).error().Wrap("failed to dial device plugin"));
  client_ = *std::move(client);
  call_ = client_->GetOptions(deadlines_.options, [this](Result<api::PluginOptions> options) {
    OnOptions(std::move(options));
  });
}

void Registration::OnOptions(Result<api::PluginOptions> options) {
  if (!options) return End(std::move(options).error().Wrap("failed to get device plugin options"));
  call_.reset();
  install_(std::move(client_), *options);
  End({});
}

void Registration::End(Result<void> result) {
  ending_ = timers_.After(base::Duration::zero(),
                          [done = done_, result = std::move(result)] { done(result); });
}

}  // namespace tenon::manager
