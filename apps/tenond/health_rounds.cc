#include "tenond/health_rounds.h"

#include <algorithm>
#include <utility>

namespace tenon::tenond {
namespace {

constexpr size_t kMostAtATime = 4;

}  // namespace

void HealthRounds::SetDevices(std::vector<std::string> ids) {
  const bool is_new = std::ranges::any_of(
      ids, [this](const std::string& id) { return std::ranges::find(ids_, id) == ids_.end(); });
  ids_ = std::move(ids);
  std::erase_if(sick_, [this](const auto& entry) {
    return std::ranges::find(ids_, entry.first) == ids_.end();
  });
  if (is_new) round_ = ports_.loop.timers().After(base::Duration::zero(), [this] { BeginRound(); });
}

void HealthRounds::Stop(const std::string& id) {
  if (running_.erase(id) > 0) StartSome();
}

const HealthRounds::Sick* HealthRounds::Find(const std::string& id) const {
  auto sick = sick_.find(id);
  return sick == sick_.end() ? nullptr : &sick->second;
}

void HealthRounds::BeginRound() {
  round_ = ports_.loop.timers().After(period_, [this] { BeginRound(); });
  if (ports_.before_round)
    ports_.before_round([this] { AskAboutAll(); });
  else
    AskAboutAll();
}

void HealthRounds::AskAboutAll() {
  waiting_.assign(ids_.begin(), ids_.end());
  StartSome();
}

void HealthRounds::StartSome() {
  while (!waiting_.empty() && running_.size() < kMostAtATime) {
    const std::string id = std::move(waiting_.front());
    waiting_.pop_front();
    if (running_.contains(id)) continue;  // Still that of the last round.
    auto started = ports_.start(id, [this, id](const Result<std::string>& output) {
      running_.erase(id);
      OnDone(id, output ? std::nullopt : std::optional(output.error().message()));
      StartSome();
    });
    if (!started)
      OnDone(id, started.error().message());
    else if (*started)
      running_[id] = *std::move(started);
  }
}

void HealthRounds::OnDone(const std::string& id, std::optional<std::string> reason) {
  if (std::ranges::find(ids_, id) == ids_.end()) return;
  const Sick* before = Find(id);
  if (reason && before != nullptr && before->reason == *reason) return;
  if (!reason && before == nullptr) return;
  const std::string text = reason ? "unhealthy: " + *reason : "healthy";
  if (reason)
    sick_[id] = {*std::move(reason), before != nullptr ? before->since : ports_.clock.WallNow()};
  else
    sick_.erase(id);
  ports_.changed(id, text);
}

}  // namespace tenon::tenond
