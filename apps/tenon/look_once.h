#pragma once

#include "discovery/source.h"
#include "host/host.h"
#include "loop/event_loop.h"
#include "program/runner.h"

namespace tenon::cli {

/// Where sources look. All of it is borrowed.
struct Machine {
  host::Host& host;
  loop::EventLoop& loop;
  program::Runner& runner;
};

/// What a source finds the first time; a program takes until its timeout.
discovery::Snapshot LookOnce(loop::EventLoop& loop, discovery::Source& source);

}  // namespace tenon::cli
