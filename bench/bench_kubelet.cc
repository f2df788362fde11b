#include "bench_kubelet.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/check.h"
#include "base/strings.h"
#include "wire/messages.h"

namespace tenon::bench {
namespace {

[[noreturn]] void Fail(const std::string& what) {
  fmt::print(stderr, "plugin_bench: {}\n", what);
  std::exit(1);
}

}  // namespace

void BenchKubelet::Start() {
  auto server =
      rpc::Server::Listen(loop_, log_, base::JoinPath(directory_, api::kKubeletSocketName), {});
  if (!server) Fail(server.error().message());
  server_ = *std::move(server);
  server_->AddUnary(std::string(wire::kRegister),
                    [this](std::string_view request, std::unique_ptr<rpc::UnaryCall> call) {
                      OnRegister(request, std::move(call));
                    });
}

void BenchKubelet::StopAndWipe() {
  Forget();
  server_.reset();
  for (const auto& entry : std::filesystem::directory_iterator(directory_))
    if (entry.is_socket()) std::filesystem::remove(entry.path());
}

void BenchKubelet::Forget() {
  plugins_.clear();
  allocate_request_.clear();
  registrations_ = 0;
  lists_ = 0;
}

bool BenchKubelet::Listed(size_t resources) const {
  return plugins_.size() >= resources &&
         std::ranges::all_of(plugins_, [](const auto& p) { return !p.second.list.empty(); });
}

std::unique_ptr<rpc::ClientCall> BenchKubelet::Allocate(std::function<void()> done) {
  Plugin& plugin = plugins_.begin()->second;
  if (allocate_request_.empty()) {
    auto devices = wire::DecodeDeviceList(plugin.list);
    TENON_CHECK(devices && !devices->empty());
    allocate_request_ = wire::EncodeAllocateRequest({{.device_ids = {devices->front().id}}});
  }
  return plugin.channel->Unary(
      wire::kAllocate, allocate_request_, std::chrono::seconds(10),
      [done = std::move(done)](const rpc::Status& status, const std::string&) {
        if (!status.ok()) Fail("Allocate: " + rpc::ToString(status));
        done();
      });
}

void BenchKubelet::OnRegister(std::string_view bytes, std::unique_ptr<rpc::UnaryCall> call) {
  auto request = wire::DecodeRegisterRequest(bytes);
  if (!request) Fail(request.error().message());
  ++registrations_;
  allocate_request_.clear();
  Plugin& plugin = plugins_[request->resource_name];
  plugin = {};
  plugin.channel = rpc::Channel::Connect(loop_, base::JoinPath(directory_, request->endpoint), {});
  plugin.watch = plugin.channel->Stream(
      wire::kListAndWatch, "",
      [this, &plugin](std::string_view message) {
        plugin.list = message;
        ++lists_;
      },
      [](const rpc::Status&) {});
  call->Reply("");
}

}  // namespace tenon::bench
