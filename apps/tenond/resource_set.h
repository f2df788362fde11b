#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "config/config.h"
#include "device/event_ring.h"
#include "discovery/inventory.h"
#include "host/file_watch.h"
#include "host/host.h"
#include "plugin/plugin_directory.h"
#include "plugin_service/resource_plugin.h"
#include "plugin_service/service_context.h"

namespace tenon::tenond {

/// All resources of the configuration in force, and those that are leaving. Thread: loop only.
class ResourceSet final {
 public:
  using Plugins = std::map<std::string, std::unique_ptr<plugin_service::ResourcePlugin>>;

  /// All of it outlives the set.
  struct Surroundings {
    host::Host& host;
    host::FileWatch* file_watch;  ///< Null where inotify cannot be had.
    plugin::PluginDirectory& directory;
    EventRing& events;
  };

  ResourceSet(const plugin_service::ServiceContext& context, const Surroundings& surroundings,
              std::string process_token, std::vector<std::string> allow_paths);
  ResourceSet(const ResourceSet&) = delete;
  ResourceSet& operator=(const ResourceSet&) = delete;

  /// Makes the resources those of `config`: new ones start, those that are gone from it retire,
  /// those with other rules get other devices and stay registered, the rest is not disturbed.
  void Apply(const config::Config& config);
  /// The device-plugin directory may have changed.
  void Check();
  /// Graceful end of the process; `done` runs when all plugins have drained.
  void Drain(base::Duration limit, std::function<void()> done);

  const Plugins& plugins() const { return plugins_; }
  const discovery::Inventory& inventory() const { return inventory_; }
  /// "example.com/serial: waiting for the kubelet: …" for each resource that no pod can get.
  std::vector<std::string> NotReady() const;

 private:
  /// A resource that the kubelet is being told of the end of.
  struct Leaving {
    std::string name;
    std::unique_ptr<plugin_service::ResourcePlugin> plugin;
    loop::TimerHandle gone;
  };

  std::unique_ptr<plugin_service::ResourcePlugin> MakePlugin(const ResourceName& resource);
  discovery::SourcesByResource MakeAllSources(const config::Config& config) const;
  Result<ContainerAllocation> Resolve(const std::string& resource, const Device& device) const;
  void Retire(const std::string& name, std::unique_ptr<plugin_service::ResourcePlugin> plugin);

  const plugin_service::ServiceContext context_;
  const Surroundings surroundings_;
  const std::string process_token_;
  const std::vector<std::string> allow_paths_;
  Plugins plugins_;
  std::list<Leaving> leaving_;
  size_t draining_ = 0;
  std::function<void()> drained_;
  discovery::Inventory inventory_;  // Ends first: it publishes to the plugins.
};

}  // namespace tenon::tenond
