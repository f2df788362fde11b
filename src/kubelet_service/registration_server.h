#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/result.h"
#include "device/plugin_api.h"
#include "loop/event_loop.h"
#include "manager/manager.h"
#include "rpc/server.h"

namespace tenon::kubelet_service {

/// Serves kubelet.sock: plugins register there. Calls wait for their plugin beside each other, and
/// one that its plugin cancels is given up. All failures have code Unknown, as the kubelet's.
/// Thread: loop only. Owner: before the manager ends.
class RegistrationServer final {
 public:
  /// Errors: the socket cannot be made.
  static Result<std::unique_ptr<RegistrationServer>> Listen(loop::EventLoop& loop, base::Log& log,
                                                            manager::Manager& manager,
                                                            const std::string& directory);
  RegistrationServer(const RegistrationServer&) = delete;
  RegistrationServer& operator=(const RegistrationServer&) = delete;

 private:
  struct Pending {
    api::RegisterRequest request;
    std::unique_ptr<rpc::UnaryCall> call;
    std::unique_ptr<manager::Registration> registration;
  };

  RegistrationServer(base::Log& log, manager::Manager& manager, std::unique_ptr<rpc::Server> server)
      : log_(log), manager_(manager), server_(std::move(server)) {}
  void OnRegister(std::string_view bytes, std::unique_ptr<rpc::UnaryCall> call);
  void OnDone(uint64_t number, const Result<void>& result);

  base::Log& log_;
  manager::Manager& manager_;
  const std::unique_ptr<rpc::Server> server_;
  // Ends before the server.
  std::map<uint64_t, Pending> pending_;
  uint64_t next_number_ = 1;
};

}  // namespace tenon::kubelet_service
