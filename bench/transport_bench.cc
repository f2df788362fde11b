// What the parts of the transport cost: messages, and calls between two ends in one process.

#include <benchmark/benchmark.h>
#include <sys/socket.h>

#include <unistd.h>
#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "rpc/channel.h"
#include "rpc/server.h"
#include "wire/messages.h"

namespace tenon {
namespace {

std::vector<Device> Devices(int64_t count) {
  std::vector<Device> devices(static_cast<size_t>(count));
  for (size_t i = 0; i < devices.size(); ++i) {
    devices[i].id.value = "usb-serial-" + std::to_string(100000 + i);
    devices[i].health = Health::kHealthy;
    devices[i].numa_nodes = {0};
  }
  return devices;
}

void EncodeDeviceList(benchmark::State& state) {
  std::vector<Device> devices = Devices(state.range(0));
  for (auto _ : state)
    benchmark::DoNotOptimize(wire::EncodeDeviceList(devices));
}
BENCHMARK(EncodeDeviceList)->Arg(8)->Arg(1000)->Arg(10000);

void DecodeDeviceList(benchmark::State& state) {
  std::string bytes = wire::EncodeDeviceList(Devices(state.range(0)));
  for (auto _ : state)
    benchmark::DoNotOptimize(wire::DecodeDeviceList(bytes));
}
BENCHMARK(DecodeDeviceList)->Arg(8)->Arg(1000)->Arg(10000);

void DecodeAllocateRequest(benchmark::State& state) {
  std::string bytes = wire::EncodeAllocateRequest({{.device_ids = {"usb-serial-100000"}}});
  for (auto _ : state)
    benchmark::DoNotOptimize(wire::DecodeAllocateRequest(bytes));
}
BENCHMARK(DecodeAllocateRequest);

/// A server and a channel to it, on one loop.
class BothEnds final {
 public:
  BothEnds() {
    server_->AddUnary("/t.S/Echo",
                      [](std::string_view request, std::unique_ptr<rpc::UnaryCall> call) {
                        call->Reply(std::string(request));
                      });
    server_->AddStream("/t.S/Watch",
                       [this](std::string_view, auto stream) { stream_ = std::move(stream); });
  }
  ~BothEnds() { std::filesystem::remove(path_); }

  /// `width` calls of `request`, each begun before the first has ended.
  void Call(const std::string& request, int64_t width) {
    int64_t done = 0;
    std::vector<std::unique_ptr<rpc::ClientCall>> calls;
    for (int64_t i = 0; i < width; ++i)
      calls.push_back(channel_->Unary("/t.S/Echo", request, std::chrono::seconds(10),
                                      [&](const rpc::Status& status, const std::string&) {
                                        TENON_CHECK(status.ok());
                                        ++done;
                                      }));
    TENON_CHECK(loop_->RunUntil([&] { return done == width; }, std::chrono::seconds(10)));
  }
  void OpenStream() {
    watch_ = channel_->Stream(
        "/t.S/Watch", "", [this](std::string_view) { ++received_; }, [](const rpc::Status&) {});
    TENON_CHECK(loop_->RunUntil([&] { return stream_ != nullptr; }, std::chrono::seconds(10)));
  }
  void Send(const rpc::Payload& message) {
    int before = received_;
    stream_->Write(message, [] {});
    TENON_CHECK(loop_->RunUntil([&] { return received_ > before; }, std::chrono::seconds(10)));
  }

 private:
  const std::string path_ = "/tmp/transport_bench." + std::to_string(::getpid());
  base::SystemClock clock_;
  base::NullLog log_;
  std::unique_ptr<loop::EventLoop> loop_ = *loop::EventLoop::Create(clock_);
  std::unique_ptr<rpc::Server> server_ = *rpc::Server::Listen(*loop_, log_, path_, {});
  std::unique_ptr<rpc::ServerStream> stream_;
  std::unique_ptr<rpc::Channel> channel_ = rpc::Channel::Connect(*loop_, path_, {});
  std::unique_ptr<rpc::ClientCall> watch_;
  int received_ = 0;
};

void UnaryCalls(benchmark::State& state) {
  BothEnds ends;
  std::string request(64, 'x');
  ends.Call(request, 1);
  for (auto _ : state)
    ends.Call(request, state.range(0));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(UnaryCalls)->Arg(1)->Arg(16);

void SendDeviceList(benchmark::State& state) {
  BothEnds ends;
  ends.OpenStream();
  std::vector<Device> devices = Devices(state.range(0));
  for (auto _ : state)
    ends.Send(std::make_shared<const std::string>(wire::EncodeDeviceList(devices)));
}
BENCHMARK(SendDeviceList)->Arg(8)->Arg(1000)->Arg(10000);

}  // namespace
}  // namespace tenon
