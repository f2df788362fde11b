#pragma once

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "loop/event_loop.h"

namespace tenon::plugin_service {

/// What everything here needs of the process. All of it outlives its users.
struct ServiceContext {
  loop::EventLoop& loop;
  const base::Clock& clock;
  base::Log& log;
  base::MetricsRegistry& metrics;
};

}  // namespace tenon::plugin_service
