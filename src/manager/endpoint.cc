#include "manager/endpoint.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace tenon::manager {

/// Counts a call for as long as its owner keeps it.
class Endpoint::CountedCall final : public PluginCall {
 public:
  CountedCall(Endpoint& endpoint, PluginClient::Call call)
      : endpoint_(endpoint), call_(std::move(call)) {
    ++endpoint_.calls_;
  }
  ~CountedCall() override {
    call_.reset();
    --endpoint_.calls_;
    endpoint_.CloseWhenIdle();
  }

 private:
  Endpoint& endpoint_;
  PluginClient::Call call_;
};

Endpoint::Endpoint(loop::TimerQueue& timers, std::string resource, std::string socket,
                   std::unique_ptr<PluginClient> client, api::PluginOptions options)
    : timers_(timers),
      resource_(std::move(resource)),
      socket_(std::move(socket)),
      options_(options),
      client_(std::move(client)) {
  TENON_CHECK(client_ != nullptr);
}

Endpoint::Endpoint(loop::TimerQueue& timers, std::string resource)
    : timers_(timers), resource_(std::move(resource)), options_(), stopped_(true) {}

void Endpoint::Watch(PluginClient::ListFn on_list, PluginClient::EndFn on_end) {
  stream_ = client_->ListAndWatch(
      [this, on_list = std::move(on_list)](std::vector<api::ListedDevice> devices) {
        if (!stopped_) on_list(std::move(devices));
      },
      [this, on_end = std::move(on_end)](Error why) {
        if (!stopped_) on_end(std::move(why));
      });
}

void Endpoint::Stop() {
  stopped_ = true;
  CloseWhenIdle();
}

void Endpoint::CloseWhenIdle() {
  if (!stopped_ || calls_ > 0 || client_ == nullptr) return;
  // In a later turn, as this may be inside a callback of the stream or of a call.
  closing_ = timers_.After(base::Duration::zero(), [this] {
    stream_.reset();
    client_.reset();
  });
}

Error Endpoint::StoppedError() const {
  return {Code::kUnavailable, "endpoint " + resource_ + " has been stopped"};
}

Result<PluginClient::Call> Endpoint::Allocate(api::AllocateRequest request, base::Duration deadline,
                                              PluginClient::AllocateDone done) {
  if (stopped_) return StoppedError();
  PluginClient::Call call = client_->Allocate(std::move(request), deadline, std::move(done));
  return PluginClient::Call(std::make_unique<CountedCall>(*this, std::move(call)));
}

Result<PluginClient::Call> Endpoint::GetPreferredAllocation(api::PreferredRequest request,
                                                            base::Duration deadline,
                                                            PluginClient::PreferredDone done) {
  if (stopped_) return StoppedError();
  PluginClient::Call call =
      client_->GetPreferredAllocation(std::move(request), deadline, std::move(done));
  return PluginClient::Call(std::make_unique<CountedCall>(*this, std::move(call)));
}

Result<PluginClient::Call> Endpoint::PreStartContainer(std::vector<std::string> device_ids,
                                                       base::Duration deadline,
                                                       PluginClient::PreStartDone done) {
  if (stopped_) return StoppedError();
  PluginClient::Call call =
      client_->PreStartContainer(std::move(device_ids), deadline, std::move(done));
  return PluginClient::Call(std::make_unique<CountedCall>(*this, std::move(call)));
}

Endpoint* EndpointTable::Find(const std::string& resource) const {
  auto at = current_.find(resource);
  return at == current_.end() ? nullptr : at->second.back().get();
}

Endpoint* EndpointTable::FindAt(const std::string& resource, const std::string& socket) const {
  auto at = current_.find(resource);
  if (at == current_.end()) return nullptr;
  for (const auto& endpoint : at->second)
    if (!endpoint->stopped() && endpoint->socket() == socket) return endpoint.get();
  return nullptr;
}

Endpoint& EndpointTable::Install(const std::string& resource, const std::string& socket,
                                 std::unique_ptr<PluginClient> client, api::PluginOptions options) {
  Endpoints& endpoints = current_[resource];
  for (std::unique_ptr<Endpoint>& endpoint : endpoints)
    if (endpoint->stopped() || endpoint->socket() == socket) Retire(std::move(endpoint));
  std::erase(endpoints, nullptr);
  if (endpoints.size() == kMostEndpoints) {
    Retire(std::move(endpoints.front()));
    endpoints.erase(endpoints.begin());
  }
  return *endpoints.emplace_back(
      std::make_unique<Endpoint>(timers_, resource, socket, std::move(client), options));
}

Endpoint& EndpointTable::InstallPlaceholder(const std::string& resource) {
  Remove(resource);
  return *current_[resource].emplace_back(std::make_unique<Endpoint>(timers_, resource));
}

EndpointTable::Loss EndpointTable::Lose(Endpoint& endpoint) {
  Endpoints& endpoints = current_.at(endpoint.resource());
  endpoint.Stop();
  if (endpoints.size() == 1) return Loss::kOfLast;
  auto at = std::ranges::find(endpoints, &endpoint, &std::unique_ptr<Endpoint>::get);
  const bool spoke = std::next(at) == endpoints.end();
  Retire(std::move(*at));
  endpoints.erase(at);
  return spoke ? Loss::kPromoted : Loss::kOfStandby;
}

void EndpointTable::Remove(const std::string& resource) {
  auto at = current_.find(resource);
  if (at == current_.end()) return;
  for (std::unique_ptr<Endpoint>& endpoint : at->second)
    Retire(std::move(endpoint));
  current_.erase(at);
}

void EndpointTable::Retire(std::unique_ptr<Endpoint> endpoint) {
  std::erase_if(retired_, [](const auto& old) { return old->closed(); });
  endpoint->Stop();
  retired_.push_back(std::move(endpoint));
}

}  // namespace tenon::manager
