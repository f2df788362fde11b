#pragma once

#include <functional>
#include <memory>
#include <string>

#include "device/plugin_api.h"
#include "loop/event_loop.h"
#include "plugin/ports.h"
#include "plugin_service/plugin_metrics.h"

namespace tenon::plugin_service {

/// Calls v1beta1.Registration/Register on kubelet.sock, a new connection each time.
class RegistrationClient final : public plugin::KubeletClient {
 public:
  /// The kubelet dials us and asks for our options before it answers, for which it takes up to
  /// ten seconds itself. Source: kubernetes plugin/v1beta1/client.go.
  static constexpr base::Duration kDeadline = std::chrono::seconds(10);

  RegistrationClient(loop::EventLoop& loop, PluginMetrics& metrics, std::string kubelet_socket,
                     const api::RegisterRequest& request);

  [[nodiscard]] std::unique_ptr<plugin::RegisterCall> Register(Done done) override;

 private:
  loop::EventLoop& loop_;
  PluginMetrics& metrics_;
  const std::string kubelet_socket_;
  const std::string request_;
};

}  // namespace tenon::plugin_service
