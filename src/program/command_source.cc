#include "program/command_source.h"

#include <set>
#include <utility>

#include "base/strings.h"
#include "discovery/resolve.h"

namespace tenon::program {

CommandSource::CommandSource(const discovery::Surroundings& surroundings, Runner& runner,
                             CommandOptions options)
    : surroundings_(surroundings), runner_(runner), options_(std::move(options)) {}

void CommandSource::Start(ReportFn report) {
  report_ = std::move(report);
  Rescan();
}

void CommandSource::Rescan() {
  if (child_) return;
  timer_ = surroundings_.timers.After(options_.period, [this] { Rescan(); });
  auto started = runner_.Start(options_.program, {{"TENON_EVENT", "discover"}},
                               [this](const Result<std::string>& output) { OnDone(output); });
  if (!started) return Fail(started.error().message());
  child_ = *std::move(started);
}

void CommandSource::OnDone(const Result<std::string>& output) {
  child_.reset();
  if (!output) return Fail(output.error().message());
  auto told = ReadDeviceLines(*output);
  if (!told)
    return Fail(base::EscapeForLine(options_.program.argv.front()) + ": " + told.error().message());
  LogOnce(std::move(told->faults));
  told_ = std::move(told->devices);
  discovery::Snapshot snapshot;
  for (const ToldDevice& one : told_)
    snapshot.push_back(std::make_shared<const discovery::FoundDevice>(Look(one)));
  const ReportFn report = report_;  // The call may destroy this.
  report(std::move(snapshot));
}

discovery::FoundDevice CommandSource::Look(const ToldDevice& told) const {
  discovery::FoundDevice device;
  device.id = MakeDeviceId(told.id);
  device.numa_nodes = told.numa_nodes;
  device.env = told.env;
  device.annotations = told.annotations;
  std::set<std::string> unused;
  for (const ToldPath& path : told.paths) {
    discovery::NodeOptions nodes = options_.nodes;
    if (!path.mount_path.empty()) nodes.container_paths = {path.mount_path};
    if (!path.permissions.empty()) nodes.permissions = path.permissions;
    if (auto added = discovery::AddFile(surroundings_.host, path.path, nodes, device, unused);
        !added)
      discovery::MakeUnhealthy(
          device, base::EscapeForLine(path.path) + ": " + std::string(added.error().message()));
  }
  discovery::CheckContainerPaths(device);
  if (!told.healthy)
    discovery::MakeUnhealthy(device, told.reason.empty() ? "its helper program says so"
                                                         : base::EscapeForLine(told.reason));
  return device;
}

void CommandSource::Fail(const std::string& why) {
  LogOnce({why});
  discovery::Snapshot snapshot;
  for (const ToldDevice& one : told_) {
    discovery::FoundDevice device = Look(one);
    discovery::MakeUnhealthy(device, "not known: " + why);
    snapshot.push_back(std::make_shared<const discovery::FoundDevice>(std::move(device)));
  }
  const ReportFn report = report_;  // The call may destroy this.
  report(std::move(snapshot));
}

void CommandSource::LogOnce(std::vector<std::string> faults) {
  if (faults == faults_) return;
  faults_ = std::move(faults);
  for (const std::string& fault : faults_)
    surroundings_.log.Warning("a helper program's devices are not all known",
                              {{"path", options_.program.argv.front()}, {"why", fault}});
}

}  // namespace tenon::program
