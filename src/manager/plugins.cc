#include "manager/plugins.h"

#include <utility>

#include "base/strings.h"

namespace tenon::manager {
namespace {

/// How many ids a log line names.
constexpr size_t kNamedIds = 5;

std::string NameSome(std::vector<std::string> ids) {
  size_t all = ids.size();
  if (all > kNamedIds) ids.resize(kNamedIds);
  return base::Join(ids, ", ") + (all > kNamedIds ? ", …" : "");
}

}  // namespace

Plugins::Plugins(loop::TimerQueue& timers, base::Log& log, PluginDialer& dialer,
                 const ManagerOptions& options, Events events)
    : timers_(timers),
      log_(log),
      dialer_(dialer),
      options_(options),
      events_(std::move(events)),
      endpoints_(timers) {}

Result<std::unique_ptr<Registration>> Plugins::Register(const api::RegisterRequest& request,
                                                        Registration::Done done) {
  TENON_TRY_VOID(CheckRegisterRequest(request, options_.any_endpoint));
  return Start(dialer_, request.resource_name, request.endpoint, std::move(done));
}

Result<std::unique_ptr<Registration>> Plugins::RegisterFound(const FoundPlugin& plugin,
                                                             PluginDialer& dialer,
                                                             Registration::Done done) {
  TENON_TRY_VOID(CheckFoundPlugin(plugin));
  return Start(dialer, plugin.resource_name, plugin.socket, std::move(done));
}

std::unique_ptr<Registration> Plugins::Start(PluginDialer& dialer, const std::string& resource,
                                             const std::string& socket, Registration::Done done) {
  auto registration = std::make_unique<Registration>(
      timers_, dialer, Registration::Deadlines{options_.dial_timeout, options_.options_deadline},
      [this, resource, socket](std::unique_ptr<PluginClient> client, api::PluginOptions options) {
        Install(resource, socket, std::move(client), options);
      },
      std::move(done));
  registration->Start(socket);
  return registration;
}

void Plugins::Disconnect(const std::string& resource, const std::string& socket) {
  if (Endpoint* endpoint = endpoints_.FindAt(resource, socket))
    OnStreamEnd(*endpoint, Error(Code::kUnavailable, "its socket was removed"));
}

void Plugins::AddPlaceholder(const std::string& resource) {
  endpoints_.InstallPlaceholder(resource);
  table_.MarkLost(resource);
  StartGrace(resource);
}

void Plugins::Install(const std::string& resource, const std::string& socket,
                      std::unique_ptr<PluginClient> client, api::PluginOptions options) {
  log_.Info("device plugin registered", {{"resource", resource}, {"socket", socket}});
  grace_.erase(resource);
  if (Endpoint* before = endpoints_.Find(resource); before != nullptr && !before->stopped())
    if (auto list = table_.List(resource)) before->KeepList(*std::move(list));
  Endpoint& endpoint = endpoints_.Install(resource, socket, std::move(client), options);
  endpoint.Watch(
      [this, &endpoint](std::vector<api::ListedDevice> devices) {
        OnList(endpoint, std::move(devices));
      },
      [this, &endpoint](const Error& why) { OnStreamEnd(endpoint, why); });
}

void Plugins::OnList(Endpoint& endpoint, std::vector<api::ListedDevice> devices) {
  log_.Debug("device plugin sent its list", {{"resource", endpoint.resource()},
                                             {"socket", endpoint.socket()},
                                             {"devices", std::ssize(devices)}});
  if (endpoints_.Find(endpoint.resource()) != &endpoint)
    return endpoint.KeepList(std::move(devices));
  SetList(endpoint.resource(), std::move(devices));
}

void Plugins::SetList(const std::string& resource, std::vector<api::ListedDevice> devices) {
  DeviceTable::Update update = table_.SetList(resource, std::move(devices));
  if (!update.duplicates.empty())
    log_.Warning("device plugin listed devices more than once, the last entry of each counts",
                 {{"resource", resource}, {"devices", NameSome(std::move(update.duplicates))}});
  if (update.added || options_.compat) events_.resources();
  events_.health(resource, update.changed);
  events_.capacity();
}

void Plugins::OnStreamEnd(Endpoint& endpoint, const Error& why) {
  const std::string resource = endpoint.resource();
  const base::LogFields fields = {
      {"resource", resource}, {"socket", endpoint.socket()}, {"why", why.message()}};
  switch (endpoints_.Lose(endpoint)) {
    case EndpointTable::Loss::kOfStandby:
      return log_.Info("device plugin that stood by is lost", fields);
    case EndpointTable::Loss::kPromoted:
      log_.Info("device plugin is lost, one that stood by takes over", fields);
      return Promote(*endpoints_.Find(resource));
    case EndpointTable::Loss::kOfLast:
      break;
  }
  // A list over the receive limit is not a plugin that went away: it will do it again.
  bool too_large = why.code() == Code::kResourceExhausted;
  log_.Write(too_large ? base::LogLevel::kError : base::LogLevel::kWarning,
             "device plugin is lost, its devices are unhealthy until it registers again", fields);
  bool added = table_.Find(resource) == nullptr;
  table_.MarkLost(resource);
  StartGrace(resource);
  if (added) events_.resources();
  events_.capacity();
}

void Plugins::Promote(Endpoint& endpoint) {
  if (auto list = endpoint.TakeKeptList()) return SetList(endpoint.resource(), *std::move(list));
  // It has not said which devices it has.
  if (table_.Find(endpoint.resource()) == nullptr) return;
  table_.MarkLost(endpoint.resource());
  events_.capacity();
}

void Plugins::StartGrace(const std::string& resource) {
  grace_[resource] =
      timers_.After(options_.stop_grace, [this, resource] { OnGraceOver(resource); });
}

void Plugins::OnGraceOver(const std::string& resource) {
  log_.Warning("device plugin did not come back, its resource is removed",
               {{"resource", resource}});
  grace_.erase(resource);
  endpoints_.Remove(resource);
  table_.Remove(resource);
  events_.resources();
  events_.capacity();
}

}  // namespace tenon::manager
