#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "device/event_ring.h"
#include "discovery/inventory.h"
#include "discovery/resolve.h"
#include "host/file_watch.h"
#include "host/host.h"
#include "host/uevent_socket.h"
#include "plugin/plugin_directory.h"
#include "plugin_service/resource_plugin.h"
#include "plugin_service/service_context.h"
#include "policy/preferred.h"
#include "program/runner.h"
#include "tenond/cdi_book.h"
#include "tenond/held_book.h"
#include "tenond/upkeep.h"

namespace tenon::tenond {

/// All resources of the configuration in force, and those that are leaving. Thread: loop only.
class ResourceSet final {
 public:
  using Plugins = std::map<std::string, std::unique_ptr<plugin_service::ResourcePlugin>>;

  /// All of it outlives the set.
  struct Surroundings {
    host::Host& host;
    host::FileWatch* file_watch;  ///< Null where inotify cannot be had.
    host::UeventSocket* uevents;  ///< Null where the kernel's events cannot be had.
    plugin::PluginDirectory& directory;
    EventRing& events;
    std::string pod_resources;  ///< The kubelet's socket that tells who holds what.
    std::string cdi_dir;        ///< Where CDI specs are written.
  };

  /// What the command line lets the configuration reach.
  struct Allowed {
    std::vector<std::string> paths;
    std::vector<std::string> programs;  ///< Directories.
  };

  ResourceSet(const plugin_service::ServiceContext& context, const Surroundings& surroundings,
              std::string process_token, Allowed allowed);
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
  /// What an offered device, maybe a replica, is made of; null for one that is not known. Valid
  /// until the resource changes.
  const discovery::FoundDevice* Find(const std::string& resource, std::string_view id) const;
  /// "example.com/serial: waiting for the kubelet: …" for each resource that no pod can get.
  std::vector<std::string> NotReady() const;

 private:
  /// A resource that the kubelet is being told of the end of.
  struct Leaving {
    std::string name;
    std::unique_ptr<plugin_service::ResourcePlugin> plugin;
    loop::TimerHandle gone;
  };

  /// What the configuration says about a resource beside its devices.
  struct Terms {
    int64_t share = 1;
    policy::Preference prefer = policy::Preference::kInOrder;
    bool operator==(const Terms&) const = default;
  };

  void Publish(const std::string& resource, const DeviceSetPtr& devices);
  std::unique_ptr<plugin_service::ResourcePlugin> MakePlugin(const ResourceName& resource,
                                                             bool pre_start);
  /// Has the programs of a resource prepare devices; `moment` is one of PluginHooks.
  plugin::PrepareFn PrepareBy(const std::string& resource,
                              void (Upkeep::*moment)(const std::vector<std::string>& ids,
                                                     const Upkeep::DoneFn& done));
  void SetUpkeep(const config::ResourceConfig& resource);
  void OnHoldings(const std::vector<discovery::Holding>& holdings);
  void UpdateMatters();
  void WriteCdiSpec(const std::string& resource);
  discovery::SourcesByResource MakeAllSources(const config::Config& config);
  /// What is there now. Errors: also if another container has it.
  Result<discovery::ResolvedNode> ResolvePath(const std::string& resource, const DeviceId& id,
                                              const discovery::FoundPath& path);
  /// Errors: see plugin::ResolveFn.
  Result<plugin::DeviceParts> Resolve(const std::string& resource, const Device& device);
  /// The defaults for one that is not in the configuration: it may still be leaving.
  Terms TermsOf(const std::string& resource) const;
  std::string BaseId(const std::string& resource, const std::string& id) const;
  void Retire(const std::string& name, std::unique_ptr<plugin_service::ResourcePlugin> plugin);

  const plugin_service::ServiceContext context_;
  const Surroundings surroundings_;
  const std::string process_token_;
  const std::vector<std::string> allow_paths_;
  program::Runner runner_;
  std::map<std::string, Terms> terms_;  ///< Of all resources in `plugins_`.
  Plugins plugins_;
  std::list<Leaving> leaving_;
  std::map<std::string, std::unique_ptr<Upkeep>> upkeeps_;  ///< Of resources with programs.
  size_t draining_ = 0;
  std::function<void()> drained_;
  CdiBook cdi_;
  HeldBook held_;
  discovery::Inventory inventory_;  // Ends first: it publishes to the plugins.
};

}  // namespace tenon::tenond
