#include "plugin_service/plugin_metrics.h"

#include <algorithm>
#include <utility>

namespace tenon::plugin_service {
namespace {

constexpr std::string_view kRegistrations = "tenon_plugin_registrations_total";
constexpr std::string_view kRegistrationsHelp = "Register calls to the kubelet by result.";
constexpr std::string_view kDevices = "tenon_devices";
constexpr std::string_view kDevicesHelp = "Devices offered to the kubelet by health.";

}  // namespace

PluginMetrics::PluginMetrics(base::MetricsRegistry& registry, std::string resource)
    : registry_(registry),
      resource_(std::move(resource)),
      accepted_(registry.GetCounter(kRegistrations, kRegistrationsHelp,
                                    {{"resource", resource_}, {"result", "accepted"}})),
      refused_(registry.GetCounter(kRegistrations, kRegistrationsHelp,
                                   {{"resource", resource_}, {"result", "failed"}})),
      reconnects_(registry.GetCounter("tenon_plugin_streams_lost_total",
                                      "Times that the kubelet's stream ended or was cut.",
                                      {{"resource", resource_}})),
      lists_(registry.GetCounter("tenon_plugin_lists_sent_total",
                                 "Device lists written to streams.", {{"resource", resource_}})),
      streams_(registry.GetGauge("tenon_plugin_streams", "Open ListAndWatch streams.",
                                 {{"resource", resource_}})),
      ready_(registry.GetGauge("tenon_plugin_ready",
                               "1 while the resource is registered and has a live stream.",
                               {{"resource", resource_}})),
      healthy_(registry.GetGauge(kDevices, kDevicesHelp,
                                 {{"resource", resource_}, {"health", "healthy"}})),
      unhealthy_(registry.GetGauge(kDevices, kDevicesHelp,
                                   {{"resource", resource_}, {"health", "unhealthy"}})),
      list_bytes_(registry.GetGauge("tenon_plugin_list_bytes",
                                    "Size of the encoded device list; a kubelet takes 4194304.",
                                    {{"resource", resource_}})) {}

void PluginMetrics::OnCall(std::string_view method, rpc::StatusCode code, base::Duration took) {
  const std::string name(method);
  registry_
      .GetCounter("tenon_plugin_calls_total", "Calls of the kubelet by method and status code.",
                  {{"resource", resource_},
                   {"method", name},
                   {"code", std::string(rpc::StatusCodeName(code))}})
      .Add();
  registry_
      .GetHistogram("tenon_plugin_call_seconds", "Time to answer a call of the kubelet.",
                    {0.0001, 0.0005, 0.001, 0.005, 0.025, 0.1, 1},
                    {{"resource", resource_}, {"method", name}})
      .Observe(std::chrono::duration<double>(took).count());
}

void PluginMetrics::OnRegisterDone(bool accepted) {
  (accepted ? accepted_ : refused_).Add();
}

void PluginMetrics::SetDevices(const std::vector<Device>& devices, size_t list_bytes) {
  const auto healthy = std::ranges::count_if(devices, &Device::healthy);
  healthy_.Set(static_cast<double>(healthy));
  unhealthy_.Set(static_cast<double>(static_cast<std::ptrdiff_t>(devices.size()) - healthy));
  list_bytes_.Set(static_cast<double>(list_bytes));
}

}  // namespace tenon::plugin_service
