#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "loop/timer_queue.h"
#include "manager/device_table.h"
#include "manager/endpoint.h"
#include "manager/options.h"
#include "manager/plugin_client.h"
#include "manager/registration.h"

namespace tenon::manager {

/// The plugin side of the manager: who is registered, and what they list.
///
/// A plugin is installed only once it has answered. It then speaks for the resource; one that was
/// there before stands by if it has another socket, as while a plugin is upgraded, and is replaced
/// if it has the same. When the last one is lost it leaves its devices, all unhealthy, for the
/// grace period. It is never called back: plugins register again. Thread: loop only.
class Plugins final {
 public:
  struct Events {
    std::function<void()> capacity;   ///< DeviceTable::Capacity() changed.
    std::function<void()> resources;  ///< A resource came into the table or left it.
    /// Devices are new or have another health.
    std::function<void(const std::string& resource, const std::vector<std::string>& ids)> health;
  };

  Plugins(loop::TimerQueue& timers, base::Log& log, PluginDialer& dialer,
          const ManagerOptions& options, Events events);
  Plugins(const Plugins&) = delete;
  Plugins& operator=(const Plugins&) = delete;

  /// See Manager::Register.
  Result<std::unique_ptr<Registration>> Register(const api::RegisterRequest& request,
                                                 Registration::Done done);
  /// See Manager::RegisterFound.
  Result<std::unique_ptr<Registration>> RegisterFound(const FoundPlugin& plugin,
                                                      PluginDialer& dialer,
                                                      Registration::Done done);
  /// See Manager::Disconnect.
  void Disconnect(const std::string& resource, const std::string& socket);
  /// The checkpoint says that the resource had a plugin: it is there, lost, with no devices.
  void AddPlaceholder(const std::string& resource);

  const DeviceTable& table() const { return table_; }
  const EndpointTable& endpoints() const { return endpoints_; }

 private:
  std::unique_ptr<Registration> Start(PluginDialer& dialer, const std::string& resource,
                                      const std::string& socket, Registration::Done done);
  void Install(const std::string& resource, const std::string& socket,
               std::unique_ptr<PluginClient> client, api::PluginOptions options);
  void OnList(Endpoint& endpoint, std::vector<api::ListedDevice> devices);
  void OnStreamEnd(Endpoint& endpoint, const Error& why);
  void Promote(Endpoint& endpoint);
  void SetList(const std::string& resource, std::vector<api::ListedDevice> devices);
  void StartGrace(const std::string& resource);
  void OnGraceOver(const std::string& resource);

  loop::TimerQueue& timers_;
  base::Log& log_;
  PluginDialer& dialer_;
  const ManagerOptions options_;
  const Events events_;
  DeviceTable table_;
  EndpointTable endpoints_;
  std::map<std::string, loop::TimerHandle> grace_;
};

}  // namespace tenon::manager
