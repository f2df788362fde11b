#pragma once

#include <list>
#include <string>
#include <vector>

#include "admin/http_server.h"
#include "base/clock.h"
#include "host/host.h"
#include "tenon/kubelet/device_admission.h"
#include "tenon/kubelet/log_tail.h"
#include "tenon/kubelet/pod_store.h"
#include "tenon/kubelet/pods.h"
#include "tenon/kubelet/trial.h"

namespace tenon::kubelet {

/// The requests of the kubelet's control socket; docs/control-api.md has them. Thread: loop only.
/// Owner: outlives the server that it adds routes to.
class ControlApi final {
 public:
  struct Parts {
    loop::EventLoop& loop;
    Pods& pods;
    const PodStore& store;
    DeviceAdmission& devices;
    host::Host& machine;
    std::string image_dir;
    std::vector<std::string> cdi_directories;
    std::string node_name;
    base::WallTime started;
  };

  explicit ControlApi(Parts parts);
  ControlApi(const ControlApi&) = delete;
  ControlApi& operator=(const ControlApi&) = delete;

  void AddRoutes(admin::HttpServer& server);

 private:
  void CreatePods(const admin::HttpRequest& request, admin::Responder responder);
  void TryPod(const admin::HttpRequest& request, admin::Responder responder);
  void DeletePod(const admin::HttpRequest& request, admin::Responder responder);
  void ReadLog(const admin::HttpRequest& request, admin::Responder responder);
  admin::HttpResponse ListPods() const;
  admin::HttpResponse GetPod(const admin::HttpRequest& request) const;
  admin::HttpResponse GetNode() const;
  admin::HttpResponse GetStatus() const;

  const Parts parts_;
  LogTail logs_;
  // Those who wait for the answer to a request; a std::function cannot own what cannot be copied.
  std::list<admin::Responder> creations_;
  std::list<admin::Responder> deletions_;
  std::list<admin::Responder> tries_;
  Trials trials_;
};

}  // namespace tenon::kubelet
