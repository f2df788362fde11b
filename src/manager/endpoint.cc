#include "manager/endpoint.h"

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

Endpoint::Endpoint(loop::TimerQueue& timers, std::string resource,
                   std::unique_ptr<PluginClient> client, api::PluginOptions options)
    : timers_(timers),
      resource_(std::move(resource)),
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
  return at == current_.end() ? nullptr : at->second.get();
}

Endpoint& EndpointTable::Install(const std::string& resource, std::unique_ptr<PluginClient> client,
                                 api::PluginOptions options) {
  return Put(std::make_unique<Endpoint>(timers_, resource, std::move(client), options));
}

Endpoint& EndpointTable::InstallPlaceholder(const std::string& resource) {
  return Put(std::make_unique<Endpoint>(timers_, resource));
}

void EndpointTable::Remove(const std::string& resource) {
  auto at = current_.find(resource);
  if (at == current_.end()) return;
  Retire(std::move(at->second));
  current_.erase(at);
}

Endpoint& EndpointTable::Put(std::unique_ptr<Endpoint> endpoint) {
  std::unique_ptr<Endpoint>& place = current_[endpoint->resource()];
  if (place != nullptr) Retire(std::move(place));
  place = std::move(endpoint);
  return *place;
}

void EndpointTable::Retire(std::unique_ptr<Endpoint> endpoint) {
  std::erase_if(retired_, [](const auto& old) { return old->closed(); });
  endpoint->Stop();
  retired_.push_back(std::move(endpoint));
}

}  // namespace tenon::manager
