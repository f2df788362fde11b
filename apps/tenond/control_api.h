#pragma once

#include <list>
#include <memory>
#include <string>

#include "admin/http_server.h"
#include "device/event_ring.h"
#include "plugin_service/pod_resources_client.h"
#include "plugin_service/service_context.h"
#include "tenond/resource_set.h"
#include "tenond/status_json.h"

namespace tenon::tenond {

/// The daemon's HTTP endpoint: status, health, metrics. docs/control-api.md is its page.
/// Thread: loop only.
class ControlApi final {
 public:
  /// How long a status waits for the kubelet to say who holds what.
  static constexpr base::Duration kPodsDeadline = std::chrono::seconds(1);

  /// All references outlive it. `facts` may change meanwhile.
  ControlApi(const plugin_service::ServiceContext& context, const StatusFacts& facts,
             const ResourceSet& resources, const EventRing& events, std::string pod_resources);
  ControlApi(const ControlApi&) = delete;
  ControlApi& operator=(const ControlApi&) = delete;

  /// Errors: as admin::HttpServer.
  Result<void> ListenUnix(const std::string& path) { return server_.ListenUnix(path); }
  Result<std::string> ListenTcp(const std::string& address) { return server_.ListenTcp(address); }

 private:
  /// A status that waits for the kubelet.
  struct Waiting {
    admin::Responder responder;
    std::unique_ptr<plugin_service::PodResourcesCall> call;
  };

  void AnswerStatus(admin::Responder responder);
  void AnswerReady(admin::Responder responder) const;
  void AnswerMetrics(admin::Responder responder);

  const plugin_service::ServiceContext context_;
  const StatusFacts& facts_;
  const ResourceSet& resources_;
  const EventRing& events_;
  const std::string pod_resources_;
  std::list<Waiting> waiting_;
  admin::HttpServer server_;
};

}  // namespace tenon::tenond
