#include "spine/fake_kubelet.h"

#include <unistd.h>

#include <filesystem>
#include <utility>

#include "base/check.h"
#include "base/strings.h"
#include "wire/messages.h"
#include "wire/pod_resources.h"

namespace tenon::spine {
namespace {

constexpr base::Duration kDialTimeout = std::chrono::seconds(10);

}  // namespace

FakeKubelet::FakeKubelet(loop::EventLoop& loop, std::string directory)
    : loop_(loop), directory_(std::move(directory)) {}

void FakeKubelet::Start() {
  for (const auto& entry : std::filesystem::directory_iterator(directory_))
    if (entry.is_socket()) std::filesystem::remove(entry.path());
  Listen();
}

void FakeKubelet::Kill() {
  registering_.clear();
  calls_.clear();
  plugins_.clear();
  // The server unlinks its own file, a killed one does not: keep the file under another name.
  const std::string path = base::JoinPath(directory_, api::kKubeletSocketName);
  const std::string aside = base::JoinPath(directory_, ".aside");
  std::filesystem::rename(path, aside);
  server_.reset();
  std::filesystem::rename(aside, path);
}

void FakeKubelet::RecreateSocketOnly() {
  registering_.clear();
  server_.reset();
  Listen();
}

void FakeKubelet::DropStreams() {
  plugins_.clear();
}

void FakeKubelet::Listen() {
  auto server =
      rpc::Server::Listen(loop_, log_, base::JoinPath(directory_, api::kKubeletSocketName), {});
  TENON_CHECK(server.has_value());
  server_ = *std::move(server);
  server_->AddUnary(std::string(wire::kRegister),
                    [this](std::string_view request, std::unique_ptr<rpc::UnaryCall> call) {
                      OnRegister(request, std::move(call));
                    });
}

void FakeKubelet::OnRegister(std::string_view request, std::unique_ptr<rpc::UnaryCall> call) {
  ++registrations_;
  auto decoded = wire::DecodeRegisterRequest(request);
  TENON_CHECK(decoded.has_value());
  if (refusals_ > 0) {
    --refusals_;
    call->Fail({rpc::StatusCode::kUnknown, "not today"});
    return;
  }
  auto& registering = *registering_.emplace_back(std::make_unique<Registering>());
  registering.resource = decoded->resource_name;
  registering.answer = std::move(call);
  registering.plugin = std::make_unique<Plugin>();
  Plugin& plugin = *registering.plugin;
  plugin.endpoint = decoded->endpoint;
  plugin.channel = rpc::Channel::Connect(loop_, base::JoinPath(directory_, plugin.endpoint),
                                         {.connect_timeout = kDialTimeout});
  registering.options = plugin.channel->Unary(
      wire::kGetDevicePluginOptions, "", kDialTimeout,
      [this, &registering](const rpc::Status& status, const std::string& response) {
        if (!status.ok()) {
          registering.answer->Fail(
              {rpc::StatusCode::kUnknown,
               "failed to get device plugin options: " + rpc::ToString(status)});
          return;
        }
        registering.plugin->options = *wire::DecodePluginOptions(response);
        registering.delay =
            loop_.timers().After(delay_, [this, &registering] { Accept(registering); });
      });
}

void FakeKubelet::Accept(Registering& registering) {
  registering.answer->Reply("");
  const std::string resource = registering.resource;
  std::unique_ptr<Plugin> plugin = std::move(registering.plugin);
  registering.options.reset();
  // The slot stays until the end: this runs inside its timer.
  if (forgets_ > 0)
    --forgets_;
  else
    OpenStream(resource, *plugin);
  plugins_[resource] = std::move(plugin);
}

void FakeKubelet::OpenStream(const std::string&, Plugin& plugin) {
  plugin.streaming = true;
  plugin.stream = plugin.channel->Stream(
      wire::kListAndWatch, "",
      [&plugin](std::string_view message) {
        auto devices = wire::DecodeDeviceList(message);
        TENON_CHECK(devices.has_value());
        plugin.devices = *std::move(devices);
        ++plugin.lists;
      },
      [&plugin](const rpc::Status&) { plugin.streaming = false; });
}

void FakeKubelet::ServePodResources(const std::string& socket, std::vector<PodResources> pods) {
  pod_resources_.reset();  // What it said before is over, and its path free.
  auto server = rpc::Server::Listen(loop_, log_, socket, {});
  TENON_CHECK(server.has_value());
  pod_resources_ = *std::move(server);
  pod_resources_->AddUnary(
      std::string(wire::kPodResourcesList),
      [bytes = wire::EncodePodResources(pods)](
          std::string_view, std::unique_ptr<rpc::UnaryCall> call) { call->Reply(bytes); });
}

const FakeKubelet::Plugin* FakeKubelet::Find(const std::string& resource) const {
  auto found = plugins_.find(resource);
  return found == plugins_.end() ? nullptr : found->second.get();
}

bool FakeKubelet::Has(const std::string& resource, size_t devices) const {
  const Plugin* plugin = Find(resource);
  return plugin != nullptr && plugin->streaming && plugin->lists > 0 &&
         plugin->devices.size() == devices;
}

void FakeKubelet::Allocate(const std::string& resource,
                           const std::vector<api::AllocateRequest>& containers, AllocateDone done) {
  const auto& plugin = plugins_.at(resource);
  calls_.push_back(plugin->channel->Unary(
      wire::kAllocate, wire::EncodeAllocateRequest(containers), kDialTimeout,
      [done = std::move(done)](rpc::Status status, const std::string& response) {
        std::vector<ContainerAllocation> allocations;
        if (status.ok()) {
          auto parts = wire::SplitAllocateResponse(response);
          TENON_CHECK(parts.has_value());
          for (const std::string& part : *parts)
            allocations.push_back(*wire::DecodeContainerAllocation(part));
        }
        done(std::move(status), std::move(allocations));
      }));
}

void FakeKubelet::PreStart(const std::string& resource, const std::vector<std::string>& ids,
                           std::function<void(rpc::Status)> done) {
  const auto& plugin = plugins_.at(resource);
  calls_.push_back(plugin->channel->Unary(
      wire::kPreStartContainer, wire::EncodePreStartRequest(ids), kDialTimeout,
      [done = std::move(done)](rpc::Status status, const std::string&) {
        done(std::move(status));
      }));
}

}  // namespace tenon::spine
