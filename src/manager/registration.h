#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "device/plugin_api.h"
#include "loop/timer_queue.h"
#include "manager/plugin_client.h"

namespace tenon::manager {

/// What the kubelet checks of a Register call before it dials: version, name, endpoint.
/// Errors: kInvalidArgument, as the kubelet words them. The endpoint's rule is ours: one path
/// component, where the kubelet joins whatever comes; `any_endpoint` leaves it out.
/// Source: kubernetes pkg/kubelet/cm/devicemanager/plugin/v1beta1/server.go, Register.
Result<void> CheckRegisterRequest(const api::RegisterRequest& request, bool any_endpoint);

/// A device plugin that was found at its socket, instead of coming to kubelet.sock.
struct FoundPlugin {
  std::string resource_name;
  std::vector<std::string> versions;  ///< Of the device plugin API.
  std::string socket;                 ///< Where it serves that.
};

/// Errors: kInvalidArgument, as the kubelet words them.
/// Source: kubernetes pkg/kubelet/cm/devicemanager/plugin/v1beta1/handler.go, ValidatePlugin.
Result<void> CheckFoundPlugin(const FoundPlugin& plugin);

/// One Register call under way: dial the plugin, ask for its options. Destroying it gives up, as
/// when the plugin cancels its call; nothing is installed then. Any number may be under way.
/// Thread: loop only.
class Registration final {
 public:
  /// Takes over a plugin that has answered.
  using Install = std::function<void(std::unique_ptr<PluginClient>, api::PluginOptions)>;
  /// Runs once, from a turn of its own, so that it may destroy the registration.
  using Done = std::function<void(Result<void>)>;
  struct Deadlines {
    base::Duration dial;
    base::Duration options;
  };

  Registration(loop::TimerQueue& timers, PluginDialer& dialer, Deadlines deadlines, Install install,
               Done done);
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

  /// Requires: called once.
  void Start(const std::string& endpoint);

 private:
  void OnDialled(Result<std::unique_ptr<PluginClient>> client);
  void OnOptions(Result<api::PluginOptions> options);
  void End(Result<void> result);

  loop::TimerQueue& timers_;
  PluginDialer& dialer_;
  const Deadlines deadlines_;
  const Install install_;
  const Done done_;
  // The call ends before its client does.
  std::unique_ptr<PluginClient> client_;
  std::unique_ptr<PluginCall> call_;
  loop::TimerHandle ending_;
};

}  // namespace tenon::manager
