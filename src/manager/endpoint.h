#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
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
  /// `socket`: what it was dialled at. Requires: `client` is connected.
  Endpoint(loop::TimerQueue& timers, std::string resource, std::string socket,
           std::unique_ptr<PluginClient> client, api::PluginOptions options);
  /// A placeholder, stopped from birth: the checkpoint says that there was a plugin.
  Endpoint(loop::TimerQueue& timers, std::string resource);
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  const std::string& resource() const { return resource_; }
  const std::string& socket() const { return socket_; }
  /// What the plugin said of itself; all false for a placeholder.
  const api::PluginOptions& options() const { return options_; }
  bool stopped() const { return stopped_; }
  /// Whether the connection is closed and no call is under way.
  bool closed() const { return client_ == nullptr; }

  /// Opens the stream of lists; neither callback runs once the endpoint is stopped.
  void Watch(PluginClient::ListFn on_list, PluginClient::EndFn on_end);
  void Stop();

  /// What it listed last, kept while another endpoint speaks for the resource.
  void KeepList(std::vector<api::ListedDevice> list) { kept_list_ = std::move(list); }
  std::optional<std::vector<api::ListedDevice>> TakeKeptList() {
    return std::exchange(kept_list_, std::nullopt);
  }

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
  const std::string socket_;
  const api::PluginOptions options_;
  std::optional<std::vector<api::ListedDevice>> kept_list_;
  bool stopped_ = false;
  int calls_ = 0;
  // The stream ends before its client does.
  std::unique_ptr<PluginClient> client_;
  PluginClient::Call stream_;
  loop::TimerHandle closing_;
};

/// The endpoints of each resource, and the replaced ones whose last calls are not over.
///
/// While a plugin is upgraded two instances of it serve the same resource from different sockets.
/// The one that registered last speaks for the resource; the others stand by, and the youngest of
/// them takes over when it ends. One that registers again at the same socket replaces itself.
/// Thread: loop only.
class EndpointTable final {
 public:
  /// What the end of one endpoint means to its resource.
  enum class Loss {
    kOfStandby,  ///< Nothing.
    kPromoted,   ///< Find() has another one.
    kOfLast,     ///< Find() still has it, stopped.
  };

  explicit EndpointTable(loop::TimerQueue& timers) : timers_(timers) {}
  EndpointTable(const EndpointTable&) = delete;
  EndpointTable& operator=(const EndpointTable&) = delete;

  /// The one that speaks for the resource; null when it has none.
  Endpoint* Find(const std::string& resource) const;
  /// Null when there is none that lives.
  Endpoint* FindAt(const std::string& resource, const std::string& socket) const;
  /// Lets a plugin that has just connected speak for the resource. What was stopped goes.
  Endpoint& Install(const std::string& resource, const std::string& socket,
                    std::unique_ptr<PluginClient> client, api::PluginOptions options);
  Endpoint& InstallPlaceholder(const std::string& resource);
  /// Stops it. Requires: it is in the table and not stopped.
  Loss Lose(Endpoint& endpoint);
  void Remove(const std::string& resource);

 private:
  /// More standbys of one resource than this are a plugin that leaks its connections.
  static constexpr size_t kMostEndpoints = 5;
  using Endpoints = std::vector<std::unique_ptr<Endpoint>>;

  void Retire(std::unique_ptr<Endpoint> endpoint);

  loop::TimerQueue& timers_;
  std::map<std::string, Endpoints> current_;  ///< The last one speaks.
  Endpoints retired_;
};

}  // namespace tenon::manager
