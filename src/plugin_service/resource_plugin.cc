#include "plugin_service/resource_plugin.h"

#include <utility>

#include "base/strings.h"
#include "plugin/socket_name.h"
#include "wire/messages.h"

namespace tenon::plugin_service {
namespace {

using State = plugin::Registration::State;

}  // namespace

ResourcePlugin::ResourcePlugin(const ServiceContext& context, plugin::PluginDirectory& directory,
                               EventRing& events, const Options& options, plugin::PluginHooks hooks)
    : context_(context),
      events_(events),
      name_(options.resource.text()),
      metrics_(context.metrics, name_),
      core_(options.resource, std::move(hooks), &wire::EncodeDeviceList),
      server_(context, core_, metrics_, directory.path(),
              plugin::SocketName(options.resource, options.process_token)),
      client_(context.loop, metrics_, base::JoinPath(directory.path(), api::kKubeletSocketName),
              {.version = std::string(api::kVersion),
               .endpoint = server_.name(),
               .resource_name = name_,
               .options = core_.options()}),
      registration_({.seed = options.seed, .resource = name_}, context.loop.timers(), context.log,
                    directory, server_, client_),
      since_(context.clock.WallNow()) {
  server_.SetStreamEvents(
      {.opened = [this](uint64_t stream) { registration_.OnStreamOpened(stream); },
       .closed = [this](uint64_t stream) { registration_.OnStreamClosed(stream); }});
  server_.SetOnAllocate([this](const Result<std::string>& ids) { OnAllocate(ids); });
  registration_.SetOnChange([this](State before, State now) { OnStateChange(before, now); });
}

ResourcePlugin::~ResourcePlugin() {
  // Streams hold subscriptions of the core.
  server_.Stop();
}

void ResourcePlugin::Publish(DeviceSetPtr devices) {
  if (auto published = core_.Publish(std::move(devices)); !published) {
    if (publish_error_ != published.error().message())
      context_.log.Error("the device list is refused, the former one stays",
                         {{"resource", name_}, {"error", published.error().message()}});
    publish_error_ = published.error().message();
    return;
  }
  publish_error_.clear();
  metrics_.SetDevices(core_.devices()->devices, core_.list_bytes());
}

void ResourcePlugin::Record(std::string text) {
  events_.Add({context_.clock.WallNow(), name_, "", std::move(text)});
}

void ResourcePlugin::OnStateChange(State before, State now) {
  since_ = context_.clock.WallNow();
  metrics_.SetReady(now == State::kStreaming);
  if (before == State::kStreaming && now != State::kStopped) metrics_.OnStreamLost();
  std::string text(plugin::StateName(now));
  if (!registration_.detail().empty()) text += ": " + registration_.detail();
  context_.log.Debug(text, {{"resource", name_}});
  Record(std::move(text));
}

void ResourcePlugin::OnAllocate(const Result<std::string>& ids) {
  if (ids) {
    context_.log.Info("allocated", {{"resource", name_}, {"devices", *ids}});
    Record("allocated " + *ids);
  } else {
    context_.log.Warning("allocation refused",
                         {{"resource", name_}, {"error", ids.error().message()}});
    Record("allocation refused: " + ids.error().message());
  }
}

void ResourcePlugin::Drain(base::Duration limit, std::function<void()> done) {
  registration_.Stop();
  server_.Drain(limit, std::move(done));
}

void ResourcePlugin::Retire(base::Duration limit, std::function<void()> done) {
  registration_.Stop();
  Publish(std::make_shared<const DeviceSet>());
  auto drain = [this, limit, done = std::move(done)] {
    server_.SetOnIdle(nullptr);
    server_.Drain(limit, done);
  };
  if (server_.idle()) return drain();
  // A kubelet that does not read must not keep the resource alive.
  drain_timer_ = context_.loop.timers().After(limit, drain);
  server_.SetOnIdle([this, drain] {
    drain_timer_ = context_.loop.timers().After(base::Duration::zero(), drain);
  });
}

}  // namespace tenon::plugin_service
