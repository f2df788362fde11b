#include "tenon/kubelet/kubelet.h"

#include <unistd.h>

#include <array>
#include <csignal>
#include <memory>
#include <optional>
#include <utility>

#include "admin/http_server.h"
#include "base/clock.h"
#include "base/strings.h"
#include "checkpoint/checkpoint.h"
#include "host/host.h"
#include "kubelet_service/kubelet_directory.h"
#include "kubelet_service/kubelet_service.h"
#include "loop/event_loop.h"
#include "loop/signal_watch.h"
#include "loop/worker.h"
#include "process/environment.h"
#include "runtime/cri_runtime.h"
#include "runtime/process_watch.h"
#include "runtime/runc.h"
#include "tenon/kubelet/control_api.h"
#include "tenon/kubelet/device_admission.h"
#include "tenon/kubelet/node_publisher.h"
#include "tenon/kubelet/pods.h"
#include "tenon/kubelet/static_pods.h"
#include "tenon/resource/connection.h"
#include "tenon/resource/wish.h"

namespace tenon::kubelet {
namespace {

std::string HostName() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

/// What a late command could leave behind is no reason not to start.
void AwaitCommandsOfOthers(loop::EventLoop& loop, base::Log& log, const std::string& state_dir) {
  if (auto ended = runtime::AwaitOtherCommands(loop, state_dir); !ended)
    log.Warning("a container that nobody knows of may stay behind",
                {{"why", ended.error().message()}});
}

Result<std::unique_ptr<runtime::ContainerRuntime>> MakeRuntime(loop::EventLoop& loop,
                                                               base::Log& log, host::Host& machine,
                                                               const KubeletOptions& options,
                                                               const std::string& state_dir) {
  std::unique_ptr<runtime::ContainerRuntime> out;
  switch (options.runtime) {
    case RuntimeKind::kNone:
      break;
    case RuntimeKind::kRunc:
      TENON_TRY_VOID(runtime::CheckRunc(loop, options.runtime_path));
      TENON_TRY_VOID(runtime::AdoptOrphans());
      AwaitCommandsOfOthers(loop, log, state_dir);
      out = std::make_unique<runtime::Runc>(
          loop, machine,
          runtime::Runc::Options{.program = options.runtime_path,
                                 .state_dir = state_dir,
                                 .image_dir = options.image_dir,
                                 .cdi_directories = options.cdi_directories});
      break;
    case RuntimeKind::kCri: {
      TENON_TRY(out, runtime::CriRuntime::Connect(loop, machine,
                                                  {.socket = options.runtime_path,
                                                   .cdi_directories = options.cdi_directories}));
      break;
    }
  }
  return out;
}

/// Source of the limit: gRPC's default, which the kubelet leaves as it is.
constexpr size_t kKubeletsResponseBytes = size_t{4} << 20;

Result<kubelet_service::KubeletService::Options> ServiceOptions(const KubeletOptions& options,
                                                                host::Host& machine) {
  kubelet_service::KubeletService::Options service;
  if (options.compat) {
    service.manager = manager::CompatibleOptions();
    service.max_response_bytes = kKubeletsResponseBytes;
  }
  TENON_TRY(service.manager.topology,
            manager::ParseTopologyOptions(options.topology_policy, options.topology_scope,
                                          options.topology_options));
  TENON_TRY(service.manager.numa, manager::ReadNumaMachine(machine));
  TENON_TRY_VOID(manager::CheckTopology(service.manager.topology, service.manager.numa));
  return service;
}

/// The Node object of a cluster that follows our device manager, if one is to.
class Publication final {
 public:
  Result<void> Begin(loop::EventLoop& loop, base::Log& log, const KubeletOptions& options,
                     manager::Manager& manager, bool forget) {
    if (options.published_node.empty()) return {};
    TENON_TRY_VOID(cli::CheckNodeName(options.published_node));
    TENON_TRY(connection_,
              cli::Connection::Open(loop, options.connection, process::OurEnvironment()));
    publisher_ = std::make_unique<NodePublisher>(
        loop, connection_->client(), log, [&manager] { return manager.Capacity(); },
        NodePublisher::Options{.kube_node = options.published_node, .forget = forget});
    manager.OnCapacityChange([this] { publisher_->Refresh(); });
    return {};
  }

 private:
  std::unique_ptr<cli::Connection> connection_;
  std::unique_ptr<NodePublisher> publisher_;
};

}  // namespace

Result<void> RunKubelet(const KubeletOptions& options) {
  const base::SystemClock clock;
  base::StreamLog log(STDERR_FILENO, options.log_format, options.log_level, clock);
  TENON_TRY(const auto loop, loop::EventLoop::Create(clock));
  TENON_TRY(const auto signals,
            loop::SignalWatch::Create(*loop, {SIGTERM, SIGINT}, [&loop](int) { loop->Stop(); }));
  TENON_TRY(const auto machine, host::PosixHost::Open("/"));
  TENON_TRY(const auto service_options, ServiceOptions(options, *machine));
  TENON_TRY(auto directory,
            kubelet_service::KubeletDirectory::Open(options.directory, options.take_over));
  const std::string root = directory->root();
  // The service writes one at its start.
  const bool forget =
      !machine->Stat(base::JoinPath(root + "/device-plugins", checkpoint::kFileName));
  TENON_TRY(const auto runtime,
            MakeRuntime(*loop, log, *machine, options, base::JoinPath(root, "runc")));
  TENON_TRY(const auto service, kubelet_service::KubeletService::Start(
                                    *loop, log, std::move(directory), service_options));

  ManagerAdmission devices(service->manager());
  loop::Worker worker(loop->handle());
  PodStore store(worker, base::JoinPath(root, "pods"));
  Pods pods({.loop = *loop,
             .clock = clock,
             .log = log,
             .devices = devices,
             .store = store,
             .runtime = runtime.get()});
  TENON_TRY_VOID(pods.Load());
  const std::string node_name = options.node_name.empty() ? HostName() : options.node_name;
  ControlApi api({.loop = *loop,
                  .pods = pods,
                  .store = store,
                  .devices = devices,
                  .machine = *machine,
                  .image_dir = options.image_dir,
                  .cdi_directories = options.cdi_directories,
                  .node_name = node_name,
                  .started = clock.WallNow()});
  admin::HttpServer server(*loop);
  api.AddRoutes(server);
  const std::string control =
      options.control.empty() ? base::JoinPath(root, "tenon-kubelet.sock") : options.control;
  TENON_TRY_VOID(server.ListenUnix(control));
  StaticPods static_pods(*loop, log, *machine, pods,
                         {.directory = options.manifest_dir, .node_name = node_name});
  if (!options.manifest_dir.empty()) static_pods.Start();
  Publication publication;
  TENON_TRY_VOID(publication.Begin(*loop, log, options, service->manager(), forget));
  log.Info("kubelet ready", {{"directory", root}, {"control", control}});
  loop->Run();
  log.Info("kubelet ends, containers are left running");
  return {};
}

}  // namespace tenon::kubelet
