#include "plugin_service/device_plugin_server.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "plugin/socket_name.h"
#include "plugin_service/status_code.h"
#include "wire/messages.h"

namespace tenon::plugin_service {
namespace {

std::string JoinIds(const std::vector<api::AllocateRequest>& requests) {
  std::string text;
  for (const api::AllocateRequest& request : requests) {
    if (!text.empty()) text += "; ";
    text += base::Join(request.device_ids, ",");
  }
  return text;
}

}  // namespace

DevicePluginServer::DevicePluginServer(const ServiceContext& context, plugin::PluginCore& core,
                                       PluginMetrics& metrics, std::string directory,
                                       std::string name)
    : context_(context),
      core_(core),
      metrics_(metrics),
      directory_(std::move(directory)),
      name_(std::move(name)) {}

Result<void> DevicePluginServer::Serve() {
  Stop();
  for (const std::string& stale : plugin::RemoveStaleSockets(directory_, core_.resource()))
    context_.log.Info("removed the socket of a killed predecessor",
                      {{"resource", core_.resource().text()}, {"socket", stale}});
  TENON_TRY(auto server, rpc::Server::Listen(context_.loop, context_.log,
                                             base::JoinPath(directory_, name_), {}));
  AddMethods(*server);
  server_ = std::move(server);
  return {};
}

void DevicePluginServer::AddMethods(rpc::Server& server) {
  AddUnary(server, wire::kGetDevicePluginOptions, &DevicePluginServer::GetOptions);
  AddUnary(server, wire::kAllocate, &DevicePluginServer::Allocate);
  AddUnary(server, wire::kGetPreferredAllocation, &DevicePluginServer::Prefer);
  AddUnary(server, wire::kPreStartContainer, &DevicePluginServer::PreStart);
  server.AddStream(std::string(wire::kListAndWatch),
                   [this](std::string_view, std::unique_ptr<rpc::ServerStream> stream) {
                     Watch(std::move(stream));
                   });
}

void DevicePluginServer::AddUnary(rpc::Server& server, std::string_view path, Method method) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  server.AddUnary(std::string(path), [this, name, method](std::string_view request,
                                                          std::unique_ptr<rpc::UnaryCall> call) {
    const uint64_t id = next_call_++;
    calls_[id] = {std::move(call), name, context_.clock.Now()};
    (this->*method)(request, [this, id](Result<std::string> reply) {
      auto open = calls_.extract(id);
      if (!open.empty()) Reply(std::move(open.mapped()), std::move(reply));
    });
  });
}

void DevicePluginServer::Reply(OpenCall open, Result<std::string> reply) {
  rpc::Status status = reply ? rpc::Status{} : ToStatus(reply.error());
  const rpc::StatusCode code = status.code;
  if (reply)
    open.call->Reply(*std::move(reply));
  else
    open.call->Fail(std::move(status));
  metrics_.OnCall(open.method, code, context_.clock.Now() - open.start);
}

void DevicePluginServer::Prepare(const plugin::PrepareFn& hook, const std::vector<std::string>& ids,
                                 std::function<void(Result<void>)> next) {
  if (!hook) return next({});
  hook(ids, [alive = std::weak_ptr(alive_), next = std::move(next)](Result<void> done) {
    if (!alive.expired()) next(std::move(done));
  });
}

void DevicePluginServer::GetOptions(std::string_view, const Answer& answer) {
  answer(wire::EncodePluginOptions(core_.options()));
}

Result<std::string> DevicePluginServer::Plan(
    const std::vector<api::AllocateRequest>& containers) const {
  TENON_TRY(auto plan, core_.Allocate(containers));
  return wire::EncodeAllocateResponse(plan);
}

void DevicePluginServer::Allocate(std::string_view request, const Answer& answer) {
  auto containers = wire::DecodeAllocateRequest(request);
  if (!containers) return answer(std::move(containers).error());
  std::vector<std::string> ids;
  for (const api::AllocateRequest& container : *containers)
    ids.insert(ids.end(), container.device_ids.begin(), container.device_ids.end());
  auto finish = [this, containers = *containers, answer](Result<void> ready) {
    Result<std::string> reply = ready ? Plan(containers) : std::move(ready).error();
    if (on_allocate_) {
      if (reply)
        on_allocate_(JoinIds(containers));
      else
        on_allocate_(reply.error());
    }
    answer(std::move(reply));
  };
  Prepare(core_.hooks().before_allocate, ids, [this, ids, finish](Result<void> ready) {
    if (ready) ready = core_.CheckIds(ids);
    if (!ready) return finish(std::move(ready));
    Prepare(core_.hooks().on_allocate, ids, finish);
  });
}

void DevicePluginServer::Prefer(std::string_view request, const Answer& answer) {
  auto prefer = [this, request]() -> Result<std::string> {
    TENON_TRY(auto containers, wire::DecodePreferredRequest(request));
    TENON_TRY(auto answers, core_.Prefer(containers));
    return wire::EncodePreferredResponse(answers);
  };
  answer(prefer());
}

void DevicePluginServer::PreStart(std::string_view request, const Answer& answer) {
  auto ids = wire::DecodePreStartRequest(request);
  if (!ids) return answer(std::move(ids).error());
  if (auto checked = core_.CheckIds(*ids); !checked) return answer(std::move(checked).error());
  Prepare(core_.hooks().pre_start, *ids, [answer](Result<void> done) {
    answer(done ? Result<std::string>(std::string()) : std::move(done).error());
  });
}

void DevicePluginServer::Watch(std::unique_ptr<rpc::ServerStream> stream) {
  const uint64_t id = next_stream_++;
  rpc::ServerStream& writer = *stream;
  writer.OnClosed([this, id] { OnClosed(id); });
  OpenStream& open = streams_[id];
  open.stream = std::move(stream);
  open.subscription = core_.Watch([this, id, &writer](const plugin::ListBytes& list) {
    writer.Write(list, [this, id] { OnWritten(id); });
  });
  metrics_.SetStreams(streams_.size());
  if (events_.opened) events_.opened(id);
}

void DevicePluginServer::OnWritten(uint64_t id) {
  metrics_.OnListWritten();
  streams_.at(id).subscription->OnWritten();
  if (on_idle_ && idle()) on_idle_();
}

void DevicePluginServer::OnClosed(uint64_t id) {
  streams_.erase(id);
  metrics_.SetStreams(streams_.size());
  if (events_.closed) events_.closed(id);
  if (on_idle_ && idle()) on_idle_();
}

void DevicePluginServer::Stop() {
  EndStreams();
  calls_.clear();
  server_.reset();
}

bool DevicePluginServer::IsOurs() const {
  return server_ && server_->socket_is_ours();
}

void DevicePluginServer::EndStreams() {
  streams_.clear();
  metrics_.SetStreams(0);
}

bool DevicePluginServer::idle() const {
  return std::ranges::all_of(streams_,
                             [](const auto& open) { return open.second.subscription->idle(); });
}

void DevicePluginServer::Drain(base::Duration limit, std::function<void()> done) {
  if (server_)
    server_->Drain(limit, std::move(done));
  else
    drained_ = context_.loop.timers().After(base::Duration::zero(), std::move(done));
}

}  // namespace tenon::plugin_service
