#pragma once

#include <memory>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "loop/event_loop.h"
#include "manager/manager.h"
#include "rpc/server.h"

namespace tenon::kubelet_service {

/// Serves PodResources v1 List: which pod's container holds which device. Thread: loop only.
/// Owner: ends before the manager.
class PodResourcesServer final {
 public:
  /// Errors: the socket cannot be made.
  static Result<std::unique_ptr<PodResourcesServer>> Listen(loop::EventLoop& loop, base::Log& log,
                                                            const manager::Manager& manager,
                                                            std::string path);
  PodResourcesServer(const PodResourcesServer&) = delete;
  PodResourcesServer& operator=(const PodResourcesServer&) = delete;

 private:
  explicit PodResourcesServer(std::unique_ptr<rpc::Server> server) : server_(std::move(server)) {}

  const std::unique_ptr<rpc::Server> server_;
};

}  // namespace tenon::kubelet_service
