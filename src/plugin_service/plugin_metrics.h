#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/metrics.h"
#include "device/device.h"
#include "rpc/status.h"

namespace tenon::plugin_service {

/// The metrics of one resource; docs/metrics.md lists them. They leave the registry together.
/// Thread: loop only.
class PluginMetrics final {
 public:
  PluginMetrics(base::MetricsRegistry& registry, std::string resource);
  PluginMetrics(const PluginMetrics&) = delete;
  PluginMetrics& operator=(const PluginMetrics&) = delete;
  ~PluginMetrics() { registry_.RemoveSeries("resource", resource_); }

  /// A call of the kubelet has been answered. `method` as in "Allocate".
  void OnCall(std::string_view method, rpc::StatusCode code, base::Duration took);
  void OnRegisterDone(bool accepted);
  void OnStreamLost() { reconnects_.Add(); }
  void OnListWritten() { lists_.Add(); }
  void SetStreams(size_t open) { streams_.Set(static_cast<double>(open)); }
  void SetReady(bool ready) { ready_.Set(ready ? 1 : 0); }
  void SetDevices(const std::vector<Device>& devices, size_t list_bytes);

 private:
  base::MetricsRegistry& registry_;
  const std::string resource_;
  base::Counter& accepted_;
  base::Counter& refused_;
  base::Counter& reconnects_;
  base::Counter& lists_;
  base::Gauge& streams_;
  base::Gauge& ready_;
  base::Gauge& healthy_;
  base::Gauge& unhealthy_;
  base::Gauge& list_bytes_;
};

}  // namespace tenon::plugin_service
