#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "loop/event_loop.h"
#include "program/runner.h"

namespace tenon::tenond {

struct HealthRule {
  program::Program program;
  base::Duration period = std::chrono::seconds(60);
  bool operator==(const HealthRule&) const = default;
};

/// Asks a program about the health of each device, again and again. A program that hangs delays a
/// few others and nothing else: several run at a time. Thread: loop only.
class HealthRounds final {
 public:
  using Variables = std::map<std::string, std::string>;
  struct Ports {
    loop::EventLoop& loop;
    const base::Clock& clock;
    program::Runner& runner;
    std::function<Variables(const std::string& id)> variables;
    /// Find() of a device is another; `text` says how.
    std::function<void(const std::string& id, const std::string& text)> changed;
  };

  HealthRounds(Ports ports, HealthRule rule) : ports_(std::move(ports)), rule_(std::move(rule)) {}
  HealthRounds(const HealthRounds&) = delete;
  HealthRounds& operator=(const HealthRounds&) = delete;

  /// Which devices are asked about, from the next round on; a device that was not among them is
  /// looked at without delay.
  void SetDevices(std::vector<std::string> ids);
  struct Sick {
    std::string reason;
    base::WallTime since;
  };
  /// Why the device is unhealthy, or null.
  const Sick* Find(const std::string& id) const;

 private:
  void BeginRound();
  void StartSome();
  void OnDone(const std::string& id, std::optional<std::string> reason);

  const Ports ports_;
  const HealthRule rule_;
  std::vector<std::string> ids_;
  std::deque<std::string> waiting_;
  std::map<std::string, std::unique_ptr<process::Child>> running_;
  std::map<std::string, Sick> sick_;
  loop::TimerHandle round_;
};

}  // namespace tenon::tenond
