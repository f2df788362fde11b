#include "tenond/daemon.h"

#include <csignal>
#include <utility>

#include "base/strings.h"
#include "plugin/socket_name.h"

namespace tenon::tenond {
namespace {

constexpr size_t kEventsKept = 256;
/// How long calls in flight may take when the process ends.
constexpr base::Duration kDrainLimit = std::chrono::seconds(5);

}  // namespace

Daemon::Daemon(Options options, const base::Clock& clock, base::Log& log)
    : options_(std::move(options)), clock_(clock), log_(log), events_(kEventsKept) {
  facts_ = {.version = TENON_VERSION,
            .started_at = clock_.WallNow(),
            .config_file = base::Join(options_.configs, ", "),
            .plugin_dir = options_.plugin_dir};
}

Daemon::~Daemon() = default;

Result<void> Daemon::Start(const config::Config& config) {
  TENON_TRY(loop_, loop::EventLoop::Create(clock_));
  TENON_TRY(signals_, loop::SignalWatch::Create(*loop_, {SIGTERM, SIGINT, SIGHUP},
                                                [this](int signal) { OnSignal(signal); }));
  TENON_TRY(host_, host::PosixHost::Open(options_.root));
  if (auto watch = host::FileWatch::Create(*loop_); watch)
    file_watch_ = *std::move(watch);
  else
    log_.Warning("polling instead of waiting for changes", {{"error", watch.error().message()}});
  if (auto uevents = host::UeventSocket::Open(*loop_); uevents)
    uevents_ = *std::move(uevents);
  else
    log_.Warning("no events from the kernel, looking for USB and PCI devices every few seconds",
                 {{"error", uevents.error().message()}});
  TENON_TRY(std::string token, plugin::NewProcessToken());
  directory_ = std::make_unique<plugin::PluginDirectory>(
      plugin::PluginDirectory::Options{}, loop_->timers(), file_watch_.get(), options_.plugin_dir);
  const plugin_service::ServiceContext context{*loop_, clock_, log_, metrics_};
  resources_ = std::make_unique<ResourceSet>(
      context,
      ResourceSet::Surroundings{*host_, file_watch_.get(), uevents_.get(), *directory_, events_,
                                options_.pod_resources, options_.cdi_dir},
      std::move(token), ResourceSet::Allowed{options_.allow_paths, options_.allow_exec});
  control_ =
      std::make_unique<ControlApi>(context, facts_, *resources_, events_, options_.pod_resources);
  TENON_TRY_VOID(Listen());
  metrics_.GetGauge("tenon_build_info", "Always 1.", {{"version", facts_.version}}).Set(1);
  log_.Info("tenond starts", {{"version", facts_.version},
                              {"config", facts_.config_file},
                              {"plugin_dir", options_.plugin_dir}});
  resources_->Apply(config);
  directory_->OnHint([this] { OnHint(); });
  config_watch_ = std::make_unique<ConfigWatch>(*loop_, options_.configs, [this] { Reload(); });
  return {};
}

Result<void> Daemon::Listen() {
  if (auto listening = control_->ListenUnix(options_.control); !listening)
    return std::move(listening).error().Wrap("control socket");
  if (options_.listen.empty()) return {};
  auto address = control_->ListenTcp(options_.listen);
  if (!address) return std::move(address).error().Wrap("--listen " + options_.listen);
  log_.Info("serving HTTP", {{"address", *address}});
  return {};
}

int Daemon::Run() {
  loop_->Run();
  return exit_status_;
}

void Daemon::OnSignal(int signal) {
  if (signal == SIGHUP) return Reload();
  log_.Info("ending on a signal", {{"signal", signal}});
  ShutDown();
}

void Daemon::ShutDown() {
  // Whoever asks twice does not want to wait.
  if (std::exchange(ending_, true)) return loop_->Stop();
  config_watch_.reset();
  resources_->Drain(kDrainLimit, [this] { loop_->Stop(); });
}

void Daemon::OnHint() {
  if (ending_) return;
  resources_->Check();
  if (config_watch_) config_watch_->Check();
  if (!directory_->deleted()) return;
  log_.Error(
      "the path leads to a deleted directory, most likely a stale bind mount; only a new "
      "process can see its successor",
      {{"directory", options_.plugin_dir}});
  exit_status_ = 1;
  ShutDown();
}

void Daemon::Reload() {
  if (ending_) return;
  config::ConfigOutcome outcome = config::LoadPaths(
      options_.configs, {.allow_paths = options_.allow_paths, .allow_exec = options_.allow_exec});
  facts_.config_errors = std::move(outcome.errors);
  metrics_.GetGauge("tenon_config_errors", "Errors in the newest configuration; 0: it is in force.")
      .Set(static_cast<double>(facts_.config_errors.size()));
  for (const std::string& error : facts_.config_errors)
    log_.Error("the configuration is wrong, the last good one stays", {{"error", error}});
  if (!outcome.config) return;
  log_.Info("configuration read", {{"config", facts_.config_file}});
  resources_->Apply(*outcome.config);
}

}  // namespace tenon::tenond
