#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/result.h"
#include "kubelet_service/token_bucket.h"
#include "loop/event_loop.h"
#include "manager/manager.h"
#include "rpc/server.h"

namespace tenon::kubelet_service {

/// Serves PodResources v1 and v1alpha1: which pod's container holds which device. All calls share
/// one rate limit, since each of them costs as much as there are devices. Thread: loop only.
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
  using Answer = std::function<void(std::string_view request, rpc::UnaryCall& call)>;

  PodResourcesServer(loop::EventLoop& loop, const manager::Manager& manager,
                     std::unique_ptr<rpc::Server> server)
      : loop_(loop), manager_(manager), server_(std::move(server)) {}
  void AddMethods();
  void AddLimited(std::string_view method, Answer answer);
  void Get(std::string_view request, rpc::UnaryCall& call) const;

  loop::EventLoop& loop_;
  const manager::Manager& manager_;
  /// Source: kubernetes pkg/kubelet/apis/podresources/constants.go, DefaultQPS and
  /// DefaultBurstTokens.
  TokenBucket limit_{std::chrono::milliseconds(10), 10};
  const std::unique_ptr<rpc::Server> server_;
};

}  // namespace tenon::kubelet_service
