#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "host/host.h"
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
  host::Host& machine;
  runtime::ContainerRuntime* runtime;  ///< Null: pods are admitted, containers never run.
  std::string image_dir;
  std::vector<std::string> cdi_directories;
};

}  // namespace tenon::kubelet
