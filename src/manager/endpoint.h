#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "loop/timer_queue.h"
#include "manager/plugin_client.h"

namespace tenon::manager {

/// The manager's view of one plugin: one connection for one resource. The object is the
/// connection's identity, so whatever a replaced plugin still says finds nobody to harm.
///
/// A stopped endpoint refuses new calls; those under way may end, and then the connection is
/// closed: a plugin that is replaced while it answers an Allocate does not cost the pod its life.
/// Thread: loop only. Owner: outlives the calls made through it.
class Endpoint final {
 public:
  /// Requires: `client` is connected.
  Endpoint(loop::TimerQueue& timers, std::string resource, std::unique_ptr<PluginClient> client,
           api::PluginOptions options);
  /// A placeholder, stopped from birth: the checkpoint says that there was a plugin.
  Endpoint(loop::TimerQueue& timers, std::string resource);
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  const std::string& resource() const { return resource_; }
  /// What the plugin said of itself; all false for a placeholder.
  const api::PluginOptions& options() const { return options_; }
  bool stopped() const { return stopped_; }
  /// Whether the connection is closed and no call is under way.
  bool closed() const { return client_ == nullptr; }

  /// Opens the stream of lists; neither callback runs once the endpoint is stopped.
  void Watch(PluginClient::ListFn on_list, PluginClient::EndFn on_end);
  void Stop();

  /// Errors of the three at once: the endpoint is stopped.
  Result<PluginClient::Call> Allocate(api::AllocateRequest request, base::Duration deadline,
                                      PluginClient::AllocateDone done);
  Result<PluginClient::Call> GetPreferredAllocation(api::PreferredRequest request,
                                                    base::Duration deadline,
                                                    PluginClient::PreferredDone done);
  Result<PluginClient::Call> PreStartContainer(std::vector<std::string> device_ids,
                                               base::Duration deadline,
                                               PluginClient::PreStartDone done);

 private:
  class CountedCall;

  Error StoppedError() const;
  void CloseWhenIdle();

  loop::TimerQueue& timers_;
  const std::string resource_;
  const api::PluginOptions options_;
  bool stopped_ = false;
  int calls_ = 0;
  // The stream ends before its client does.
  std::unique_ptr<PluginClient> client_;
  PluginClient::Call stream_;
  loop::TimerHandle closing_;
};

/// The endpoint of each resource, and the replaced ones whose last calls are not over.
/// Thread: loop only.
class EndpointTable final {
 public:
  explicit EndpointTable(loop::TimerQueue& timers) : timers_(timers) {}
  EndpointTable(const EndpointTable&) = delete;
  EndpointTable& operator=(const EndpointTable&) = delete;

  /// Null when the resource has none.
  Endpoint* Find(const std::string& resource) const;
  /// Puts a plugin that has just connected in the place of what was there.
  Endpoint& Install(const std::string& resource, std::unique_ptr<PluginClient> client,
                    api::PluginOptions options);
  Endpoint& InstallPlaceholder(const std::string& resource);
  void Remove(const std::string& resource);

  const std::map<std::string, std::unique_ptr<Endpoint>>& endpoints() const { return current_; }

 private:
  Endpoint& Put(std::unique_ptr<Endpoint> endpoint);
  void Retire(std::unique_ptr<Endpoint> endpoint);

  loop::TimerQueue& timers_;
  std::map<std::string, std::unique_ptr<Endpoint>> current_;
  std::vector<std::unique_ptr<Endpoint>> retired_;
};

}  // namespace tenon::manager
