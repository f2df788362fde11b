#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "device/allocation.h"
#include "device/plugin_api.h"

namespace tenon::manager {

/// Owns one call to a plugin: destroying it, also from inside its own callback, cancels the call,
/// and after that none of its callbacks runs.
class PluginCall {
 public:
  PluginCall() = default;
  PluginCall(const PluginCall&) = delete;
  PluginCall& operator=(const PluginCall&) = delete;
  virtual ~PluginCall() = default;
};

/// A plugin's answer to Allocate for one container: the bytes, which the checkpoint keeps as they
/// came, and what they say.
struct AllocateAnswer {
  std::string encoded;
  ContainerAllocation allocation;
};

/// What the manager needs of a plugin: one connection, which has no other identity than this
/// object. Destroying it closes the connection and cancels its calls.
///
/// Every unary call is answered exactly once and in a later turn, by its deadline at the latest.
/// Errors of calls read as grpc-go prints them, "rpc error: code = NotFound desc = no such id":
/// they become part of admission messages that people search for.
/// Owner: outlives its calls; not to be destroyed inside one of their callbacks.
class PluginClient {
 public:
  using OptionsDone = std::function<void(Result<api::PluginOptions>)>;
  /// A whole list of devices, never a delta.
  using ListFn = std::function<void(std::vector<api::ListedDevice>)>;
  using EndFn = std::function<void(Error why)>;
  /// nullopt: the plugin answered, but with no container in it.
  using AllocateDone = std::function<void(Result<std::optional<AllocateAnswer>>)>;
  /// The ids as the plugin answered them, unchecked; none when it has no preference.
  using PreferredDone = std::function<void(Result<std::vector<std::string>>)>;
  using PreStartDone = std::function<void(Result<void>)>;
  using Call = std::unique_ptr<PluginCall>;

  PluginClient() = default;
  PluginClient(const PluginClient&) = delete;
  PluginClient& operator=(const PluginClient&) = delete;
  virtual ~PluginClient() = default;

  [[nodiscard]] virtual Call GetOptions(base::Duration deadline, OptionsDone done) = 0;
  /// Has no deadline; `on_end` runs once, last, also when the connection is lost.
  [[nodiscard]] virtual Call ListAndWatch(ListFn on_list, EndFn on_end) = 0;
  [[nodiscard]] virtual Call Allocate(api::AllocateRequest request, base::Duration deadline,
                                      AllocateDone done) = 0;
  [[nodiscard]] virtual Call GetPreferredAllocation(api::PreferredRequest request,
                                                    base::Duration deadline,
                                                    PreferredDone done) = 0;
  [[nodiscard]] virtual Call PreStartContainer(std::vector<std::string> device_ids,
                                               base::Duration deadline, PreStartDone done) = 0;
};

/// Connects to plugins.
class PluginDialer {
 public:
  using Done = std::function<void(Result<std::unique_ptr<PluginClient>>)>;

  PluginDialer() = default;
  PluginDialer(const PluginDialer&) = delete;
  PluginDialer& operator=(const PluginDialer&) = delete;
  virtual ~PluginDialer() = default;

  /// Connects to the socket `endpoint` in the device plugin directory, trying again until `limit`
  /// has passed; `done` runs exactly once and in a later turn.
  /// Errors: "context deadline exceeded"; what is wrong with the socket.
  [[nodiscard]] virtual std::unique_ptr<PluginCall> Dial(const std::string& endpoint,
                                                         base::Duration limit, Done done) = 0;
};

}  // namespace tenon::manager
