#pragma once

#include <functional>
#include <memory>
#include <string>

#include "device/event_ring.h"
#include "plugin/plugin_core.h"
#include "plugin/plugin_directory.h"
#include "plugin/registration.h"
#include "plugin_service/device_plugin_server.h"
#include "plugin_service/plugin_metrics.h"
#include "plugin_service/registration_client.h"
#include "plugin_service/service_context.h"

namespace tenon::plugin_service {

/// One resource as a complete device plugin: its devices, its socket, its place in the kubelet.
/// Thread: loop only.
class ResourcePlugin final {
 public:
  struct Options {
    ResourceName resource;
    std::string process_token;  ///< See plugin::SocketName().
    uint64_t seed = 1;          ///< Of the back-off's jitter.
  };

  /// `directory` and `events` outlive the plugin. What happens to the registration and to
  /// allocations goes into `events`.
  ResourcePlugin(const ServiceContext& context, plugin::PluginDirectory& directory,
                 EventRing& events, const Options& options, plugin::PluginHooks hooks);
  ResourcePlugin(const ResourcePlugin&) = delete;
  ResourcePlugin& operator=(const ResourcePlugin&) = delete;
  ~ResourcePlugin();

  /// Begins to register. Publish() first, else the kubelet sees an empty list for a moment.
  void Start() { registration_.Start(); }
  /// Offers these devices. A list that no kubelet takes is logged, and the former one stays.
  void Publish(DeviceSetPtr devices);
  /// The directory may have changed, see plugin::Registration.
  void Check() { registration_.Check(); }

  /// Graceful end of the process: calls in flight are answered, streams ended, the socket removed.
  /// The kubelet keeps the capacity and shows 0 allocatable. `done` runs at `limit` at the latest;
  /// it may destroy the plugin.
  void Drain(base::Duration limit, std::function<void()> done);
  /// Graceful end of the resource: the kubelet is sent an empty list first, so that its capacity
  /// goes, too.
  void Retire(base::Duration limit, std::function<void()> done);

  bool ready() const { return registration_.ready(); }
  const std::string& endpoint() const { return server_.name(); }  ///< The socket's file name.
  const plugin::Registration& registration() const { return registration_; }
  const plugin::PluginCore& core() const { return core_; }
  base::WallTime since() const { return since_; }  ///< Of the registration's present state.
  /// Why the newest devices are not the offered ones; empty when they are.
  const std::string& publish_error() const { return publish_error_; }

 private:
  void OnStateChange(plugin::Registration::State before, plugin::Registration::State now);
  void OnAllocate(const Result<std::string>& ids);
  void Record(std::string text);

  const ServiceContext context_;
  EventRing& events_;
  const std::string name_;
  PluginMetrics metrics_;
  plugin::PluginCore core_;
  DevicePluginServer server_;
  RegistrationClient client_;
  plugin::Registration registration_;
  base::WallTime since_;
  std::string publish_error_;
  loop::TimerHandle drain_timer_;
};

}  // namespace tenon::plugin_service
