#pragma once

#include "base/clock.h"
#include "base/log.h"
#include "loop/event_loop.h"
#include "runtime/container_runtime.h"
#include "tenon/kubelet/device_admission.h"
#include "tenon/kubelet/pod_store.h"

namespace tenon::kubelet {

/// What pods live in; all of it outlives them.
struct PodEnvironment {
  loop::EventLoop& loop;
  const base::Clock& clock;
  base::Log& log;
  DeviceAdmission& devices;
  PodStore& store;
  runtime::ContainerRuntime* runtime;  ///< Null: pods are admitted, containers never run.
};

}  // namespace tenon::kubelet
