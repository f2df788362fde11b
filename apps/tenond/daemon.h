#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "config/config.h"
#include "device/event_ring.h"
#include "host/file_watch.h"
#include "host/host.h"
#include "host/uevent_socket.h"
#include "loop/event_loop.h"
#include "loop/signal_watch.h"
#include "plugin/plugin_directory.h"
#include "plugin_service/service_context.h"
#include "tenond/config_watch.h"
#include "tenond/control_api.h"
#include "tenond/options.h"
#include "tenond/resource_set.h"
#include "tenond/status_json.h"

namespace tenon::tenond {

/// The daemon's graph: who gets what is seen in Start(). Thread: the one that calls Run().
class Daemon final {
 public:
  Daemon(Options options, const base::Clock& clock, base::Log& log);
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;
  ~Daemon();

  /// Takes the control socket and begins to offer what `config` says. Errors: what cannot be had
  /// that it cannot work without; then nothing has been registered.
  Result<void> Start(const config::Config& config);
  /// Works until a signal ends it. Returns: the exit status.
  int Run();

 private:
  Result<void> Listen();
  void OnSignal(int signal);
  void OnHint();
  void Reload();
  void ShutDown();

  const Options options_;
  const base::Clock& clock_;
  base::Log& log_;
  base::MetricsRegistry metrics_;
  EventRing events_;
  StatusFacts facts_;
  int exit_status_ = 0;
  bool ending_ = false;

  // Made by Start(), in this order; each uses only what stands above it.
  std::unique_ptr<loop::EventLoop> loop_;
  std::unique_ptr<loop::SignalWatch> signals_;
  std::unique_ptr<host::Host> host_;
  std::unique_ptr<host::FileWatch> file_watch_;  ///< Null where inotify cannot be had.
  std::unique_ptr<host::UeventSocket> uevents_;  ///< Null where the kernel's events cannot be had.
  std::unique_ptr<plugin::PluginDirectory> directory_;
  std::unique_ptr<ResourceSet> resources_;
  std::unique_ptr<ControlApi> control_;
  std::unique_ptr<ConfigWatch> config_watch_;
};

}  // namespace tenon::tenond
