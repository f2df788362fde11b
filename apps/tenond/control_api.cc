#include "tenond/control_api.h"

#include <utility>

#include "base/strings.h"

namespace tenon::tenond {
namespace {

admin::HttpResponse Text(int status, std::string body) {
  return {.status = status, .content_type = "text/plain; charset=utf-8", .body = std::move(body)};
}

}  // namespace

ControlApi::ControlApi(const plugin_service::ServiceContext& context, const StatusFacts& facts,
                       const ResourceSet& resources, const EventRing& events,
                       std::string pod_resources)
    : context_(context),
      facts_(facts),
      resources_(resources),
      events_(events),
      pod_resources_(std::move(pod_resources)),
      server_(context.loop) {
  server_.Route("GET", "/api/v1/status",
                [this](const admin::HttpRequest&, admin::Responder responder) {
                  AnswerStatus(std::move(responder));
                });
  server_.Route("GET", "/healthz", [](const admin::HttpRequest&, admin::Responder responder) {
    responder.Send(Text(200, "ok\n"));
  });
  server_.Route("GET", "/readyz", [this](const admin::HttpRequest&, admin::Responder responder) {
    AnswerReady(std::move(responder));
  });
  server_.Route("GET", "/metrics", [this](const admin::HttpRequest&, admin::Responder responder) {
    AnswerMetrics(std::move(responder));
  });
}

void ControlApi::AnswerStatus(admin::Responder responder) {
  auto slot = waiting_.emplace(waiting_.end());
  slot->responder = std::move(responder);
  slot->call = plugin_service::ListPodResources(
      context_.loop, pod_resources_, kPodsDeadline,
      [this, slot](const Result<std::vector<PodResources>>& pods) {
        slot->responder.Send(
            {.body = ToJson(StatusJson(facts_, resources_, events_, pods)) + "\n"});
        waiting_.erase(slot);
      });
}

void ControlApi::AnswerReady(admin::Responder responder) const {
  std::string text;
  for (const std::string& reason : resources_.NotReady())
    text += base::EscapeForLine(reason) + "\n";
  responder.Send(text.empty() ? Text(200, "ok\n") : Text(503, std::move(text)));
}

void ControlApi::AnswerMetrics(admin::Responder responder) {
  context_.metrics
      .GetGauge("tenon_loop_lag_seconds",
                "Longest turn of the event loop since the last scrape: how late an event was seen.")
      .Set(std::chrono::duration<double>(context_.loop.TakeLongestTurn()).count());
  responder.Send({.status = 200,
                  .content_type = "text/plain; version=0.0.4; charset=utf-8",
                  .body = context_.metrics.RenderText()});
}

}  // namespace tenon::tenond
