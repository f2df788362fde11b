#include "discovery/path_source.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/strings.h"
#include "discovery/resolve.h"

namespace tenon::discovery {
namespace {

constexpr std::string_view kDev = "/dev/";
/// Scans in a row because directories came and went; then events and the poll go on from there.
constexpr int kMostScansInARow = 8;

std::string ContainerPath(const PathOptions& options, const std::string& host_path) {
  if (options.container_path.empty()) return host_path;
  if (!options.container_path.ends_with('/')) return options.container_path;
  return options.container_path + host_path.substr(host_path.rfind('/') + 1);
}

}  // namespace

DeviceId PathDeviceId(const std::string& path) {
  std::string_view name = path;
  if (name.starts_with(kDev)) name.remove_prefix(kDev.size());
  return MakeDeviceId(name);
}

PathSource::PathSource(const Surroundings& surroundings, PathOptions options,
                       const PathTiming& timing)
    : surroundings_(surroundings),
      options_(std::move(options)),
      timing_(timing),
      watches_(surroundings.host, surroundings.files, surroundings.log, [this] { OnEvent(); }) {}

void PathSource::Start(ReportFn report) {
  report_ = std::move(report);
  Rescan();
}

void PathSource::OnEvent() {
  base::MonotonicTime now = surroundings_.timers.now();
  if (!first_event_) first_event_ = now;
  base::MonotonicTime scan_at =
      std::min(now + timing_.settle, *first_event_ + timing_.longest_settle);
  settle_timer_ = surroundings_.timers.After(scan_at - now, [this] { Rescan(); });
}

void PathSource::Rescan() {
  first_event_.reset();
  settle_timer_.Cancel();
  Scan scan;
  int scans = 0;
  do {
    scan = LookAround();
  } while (watches_.Follow(scan.directories) && ++scans < kMostScansInARow);
  LogSkipped(std::move(scan.skipped));
  SchedulePoll();
  ReportFn report = report_;  // The call may destroy this.
  report(std::move(scan.devices));
}

void PathSource::SchedulePoll() {
  base::Duration period = watches_.complete() ? timing_.slow_poll : timing_.poll_without_watches;
  // At multiples of the period, so that all sources wake the process once.
  base::Duration into_period = surroundings_.timers.now().time_since_epoch() % period;
  poll_timer_ = surroundings_.timers.After(period - into_period, [this] { Rescan(); });
}

PathSource::Scan PathSource::LookAround() const {
  Scan scan;
  if (options_.path.is_literal())
    LookAtLiteral(scan);
  else
    LookAtMatches(scan);
  return scan;
}

void PathSource::LookAtLiteral(Scan& scan) const {
  std::string path = options_.path.LiteralPrefix();
  auto found = LookUp(surroundings_.host, path, options_.trust, scan.directories);
  if (found) {
    scan.devices.push_back(MakeDevice(*std::move(found)));
  } else if (found.error().code() != Code::kNotFound) {
    FoundDevice device{.id = PathDeviceId(path), .health = Health::kUnhealthy};
    device.reason = found.error().message();
    scan.devices.push_back(std::move(device));
  }
}

void PathSource::LookAtMatches(Scan& scan) const {
  GlobMatches matches = WalkGlob(surroundings_.host, options_.path, options_.trust);
  scan.directories = std::move(matches.directories);
  for (auto& [directory, why] : matches.unreadable)
    scan.skipped.emplace(directory, Skipped{base::LogLevel::kWarning, std::move(why)});
  std::map<std::string, std::string> offered_as;  // By real path.
  for (const std::string& path : matches.paths) {
    auto found = LookUp(surroundings_.host, path, options_.trust, scan.directories);
    if (!found) {
      if (found.error().code() != Code::kNotFound)
        scan.skipped.emplace(path, Skipped{base::LogLevel::kInfo, found.error().message()});
      continue;
    }
    auto [first, is_new] = offered_as.emplace(found->real_path, path);
    if (is_new)
      scan.devices.push_back(MakeDevice(*std::move(found)));
    else
      scan.skipped.emplace(path, Skipped{base::LogLevel::kDebug,
                                         "leads to the same device node as " + first->second});
  }
}

FoundDevice PathSource::MakeDevice(FoundPath found) const {
  FoundDevice device;
  device.id = PathDeviceId(found.host_path);
  device.device_number = DeviceNumber(found);
  found.container_path = ContainerPath(options_, found.host_path);
  found.permissions = options_.permissions;
  found.unsafe = options_.trust.unsafe;
  device.paths.push_back(std::move(found));
  return device;
}

void PathSource::LogSkipped(std::map<std::string, Skipped> skipped) {
  for (const auto& [path, now] : skipped) {
    auto before = logged_.find(path);
    if (before != logged_.end() && before->second == now) continue;
    surroundings_.log.Write(now.level, "a match is not offered",
                            {{"path", path}, {"why", now.why}});
  }
  logged_ = std::move(skipped);
}

}  // namespace tenon::discovery
