#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/plugin_core.h"
#include "plugin/ports.h"
#include "plugin_service/plugin_metrics.h"
#include "plugin_service/service_context.h"
#include "rpc/server.h"

namespace tenon::plugin_service {

/// Serves v1beta1.DevicePlugin for one resource on a socket of its own. Thread: loop only.
class DevicePluginServer final : public plugin::PluginSocket {
 public:
  /// Streams that their client opened and closed; see plugin::Registration.
  struct StreamEvents {
    std::function<void(uint64_t stream)> opened;
    std::function<void(uint64_t stream)> closed;
  };
  /// Told of each Allocate: the ids, or the error.
  using OnAllocate = std::function<void(const Result<std::string>& ids)>;

  /// `name` is the socket's file name in `directory`. It serves nothing until Serve().
  DevicePluginServer(const ServiceContext& context, plugin::PluginCore& core,
                     PluginMetrics& metrics, std::string directory, std::string name);

  void SetStreamEvents(StreamEvents events) { events_ = std::move(events); }
  void SetOnAllocate(OnAllocate on_allocate) { on_allocate_ = std::move(on_allocate); }

  Result<void> Serve() override;
  void Stop() override;
  bool IsOurs() const override;
  void EndStreams() override;

  /// Whether every open stream has the newest list; `callback` runs when that comes true again.
  bool idle() const;
  void SetOnIdle(std::function<void()> callback) { on_idle_ = std::move(callback); }

  /// Graceful stop, see rpc::Server::Drain(). `done` runs in a later turn, also when stopped.
  void Drain(base::Duration limit, std::function<void()> done);

  const std::string& name() const { return name_; }
  size_t streams() const { return streams_.size(); }

 private:
  struct OpenStream {
    std::unique_ptr<rpc::ServerStream> stream;
    std::unique_ptr<plugin::PluginCore::Subscription> subscription;  // Ends before the stream.
  };
  /// A call whose answer takes a while.
  struct OpenCall {
    std::unique_ptr<rpc::UnaryCall> call;
    std::string_view method;
    base::MonotonicTime start;
  };
  using Answer = std::function<void(Result<std::string>)>;
  /// Answers in the call or later.
  using Method = void (DevicePluginServer::*)(std::string_view request, const Answer& answer);

  void AddMethods(rpc::Server& server);
  void AddUnary(rpc::Server& server, std::string_view path, Method method);
  void Reply(OpenCall open, Result<std::string> reply);
  void GetOptions(std::string_view request, const Answer& answer);
  void Allocate(std::string_view request, const Answer& answer);
  void Prefer(std::string_view request, const Answer& answer);
  void PreStart(std::string_view request, const Answer& answer);
  /// Has `hook` prepare these ids, if there is one, and goes on with `next` if we still exist.
  void Prepare(const plugin::PrepareFn& hook, const std::vector<std::string>& ids,
               std::function<void(Result<void>)> next);
  Result<std::string> Plan(const std::vector<api::AllocateRequest>& containers) const;
  void Watch(std::unique_ptr<rpc::ServerStream> stream);
  void OnWritten(uint64_t id);
  void OnClosed(uint64_t id);

  const ServiceContext context_;
  plugin::PluginCore& core_;
  PluginMetrics& metrics_;
  const std::string directory_;
  const std::string name_;
  StreamEvents events_;
  OnAllocate on_allocate_;
  std::function<void()> on_idle_;
  std::unique_ptr<rpc::Server> server_;
  std::map<uint64_t, OpenStream> streams_;  // Ends before the server.
  std::map<uint64_t, OpenCall> calls_;      // Ends before the server.
  uint64_t next_stream_ = 1;
  uint64_t next_call_ = 1;
  // What was asked of others may be done when this is gone; gone with it.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  loop::TimerHandle drained_;
};

}  // namespace tenon::plugin_service
