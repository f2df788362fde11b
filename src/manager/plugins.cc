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
  auto registration = std::make_unique<Registration>(
      timers_, dialer_, Registration::Deadlines{options_.dial_timeout, options_.options_deadline},
      [this, resource = request.resource_name](std::unique_ptr<PluginClient> client,
                                               api::PluginOptions options) {
        Install(resource, std::move(client), options);
      },
      std::move(done));
  registration->Start(request.endpoint);
  return registration;
}

void Plugins::AddPlaceholder(const std::string& resource) {
  endpoints_.InstallPlaceholder(resource);
  table_.MarkLost(resource);
  StartGrace(resource);
}

void Plugins::Install(const std::string& resource, std::unique_ptr<PluginClient> client,
                      api::PluginOptions options) {
  log_.Info("device plugin registered", {{"resource", resource}});
  grace_.erase(resource);
  endpoints_.Install(resource, std::move(client), options)
      .Watch([this, resource](
                 const std::vector<api::ListedDevice>& devices) { OnList(resource, devices); },
             [this, resource](const Error& why) { OnStreamEnd(resource, why); });
}

void Plugins::OnList(const std::string& resource, const std::vector<api::ListedDevice>& devices) {
  DeviceTable::Update update = table_.SetList(resource, devices);
  if (!update.duplicates.empty())
    log_.Warning("device plugin listed devices more than once, the last entry of each counts",
                 {{"resource", resource}, {"devices", NameSome(std::move(update.duplicates))}});
  log_.Debug("device plugin sent its list",
             {{"resource", resource}, {"devices", std::ssize(devices)}});
  if (update.added) events_.resources();
  events_.capacity();
}

void Plugins::OnStreamEnd(const std::string& resource, const Error& why) {
  // A list over the receive limit is not a plugin that went away: it will do it again.
  bool too_large = why.code() == Code::kResourceExhausted;
  log_.Write(too_large ? base::LogLevel::kError : base::LogLevel::kWarning,
             "device plugin is lost, its devices are unhealthy until it registers again",
             {{"resource", resource}, {"why", why.message()}});
  bool added = table_.Find(resource) == nullptr;
  table_.MarkLost(resource);
  endpoints_.Find(resource)->Stop();
  StartGrace(resource);
  if (added) events_.resources();
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
