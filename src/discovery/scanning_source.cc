#include "discovery/scanning_source.h"

#include <algorithm>
#include <utility>

namespace tenon::discovery {
namespace {

/// Scans in a row because directories came and went; then events and the poll go on from there.
constexpr int kMostScansInARow = 8;
/// More names than this at once are no reason to be choosy.
constexpr size_t kMostChangedNames = 64;

}  // namespace

ScanningSource::ScanningSource(const Surroundings& surroundings, std::unique_ptr<Scanner> scanner,
                               const ScanTiming& timing)
    : surroundings_(surroundings),
      scanner_(std::move(scanner)),
      timing_(timing),
      watches_(surroundings.host, surroundings.files, surroundings.log,
               [this](const std::string& directory, const std::string& name) {
                 OnChange(directory, name);
               }) {}

void ScanningSource::Start(ReportFn report) {
  report_ = std::move(report);
  if (scanner_->needs_uevents() && surroundings_.uevents != nullptr)
    uevents_ = surroundings_.uevents->Subscribe([this](const host::Uevent* e) { OnUevent(e); });
  Rescan();
}

void ScanningSource::OnUevent(const host::Uevent* event) {
  if (event != nullptr && !scanner_->Concerns(*event)) return;
  changed_.reset();
  LookSoon();
}

void ScanningSource::OnChange(const std::string& directory, const std::string& name) {
  if (changed_) changed_->emplace(directory, name);
  if (name.empty() || (changed_ && changed_->size() > kMostChangedNames)) changed_.reset();
  LookSoon();
}

void ScanningSource::LookSoon() {
  base::MonotonicTime now = surroundings_.timers.now();
  if (!first_event_) first_event_ = now;
  base::MonotonicTime scan_at =
      std::min(now + timing_.settle, *first_event_ + timing_.longest_settle);
  settle_timer_ = surroundings_.timers.After(scan_at - now, [this] { LookNow(); });
}

void ScanningSource::Rescan() {
  changed_.reset();
  LookNow();
}

void ScanningSource::LookNow() {
  first_event_.reset();
  settle_timer_.Cancel();
  const std::optional<ChangedNames> changed = std::exchange(changed_, ChangedNames());
  Scan scan = changed && watches_.complete() ? scanner_->LookAgain(surroundings_.host, *changed)
                                             : scanner_->Look(surroundings_.host);
  bool all_told = !watches_.Follow(scan.directories);
  for (int scans = 1; !all_told && scans < kMostScansInARow; ++scans) {
    scan = scanner_->Look(surroundings_.host);
    all_told = !watches_.Follow(scan.directories);
  }
  if (!all_told) changed_.reset();
  LogSkipped(std::move(scan.skipped));
  SchedulePoll();
  ReportFn report = report_;  // The call may destroy this.
  report(std::move(scan.devices));
}

void ScanningSource::SchedulePoll() {
  const bool events = watches_.complete() && (!scanner_->needs_uevents() || uevents_ != nullptr);
  base::Duration period = events ? timing_.slow_poll : timing_.poll_without_events;
  // At multiples of the period, so that all sources wake the process once.
  base::Duration into_period = surroundings_.timers.now().time_since_epoch() % period;
  poll_timer_ = surroundings_.timers.After(period - into_period, [this] { Rescan(); });
}

void ScanningSource::LogSkipped(std::map<std::string, Skipped> skipped) {
  for (const auto& [path, now] : skipped) {
    auto before = logged_.find(path);
    if (before != logged_.end() && before->second == now) continue;
    surroundings_.log.Write(now.level, "a match is not offered",
                            {{"path", path}, {"why", now.why}});
  }
  logged_ = std::move(skipped);
}

}  // namespace tenon::discovery
