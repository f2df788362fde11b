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

/// Asks a program about the health of each device, again and again. A program that hangs delays a
/// few others and nothing else: several run at a time. Thread: loop only.
class HealthRounds final {
 public:
  using DoneFn = program::Runner::DoneFn;  ///< Its error is why the device is unhealthy.
  struct Ports {
    loop::EventLoop& loop;
    const base::Clock& clock;
    /// Calls `go` when a round may begin, or never: then there is none this time. Optional.
    std::function<void(std::function<void()> go)> before_round;
    /// Asks about one device. Null: it is left alone, and what is known of it stays.
    std::function<Result<std::unique_ptr<process::Child>>(const std::string& id, DoneFn done)>
        start;
    /// Find() of a device is another; `text` says how.
    std::function<void(const std::string& id, const std::string& text)> changed;
  };

  HealthRounds(Ports ports, base::Duration period) : ports_(std::move(ports)), period_(period) {}
  HealthRounds(const HealthRounds&) = delete;
  HealthRounds& operator=(const HealthRounds&) = delete;

  /// Which devices are asked about, from the next round on; a device that was not among them is
  /// looked at without delay.
  void SetDevices(std::vector<std::string> ids);
  /// Ends what asks about the device now; what is known of it stays.
  void Stop(const std::string& id);
  struct Sick {
    std::string reason;
    base::WallTime since;
  };
  /// Why the device is unhealthy, or null.
  const Sick* Find(const std::string& id) const;

 private:
  void BeginRound();
  void AskAboutAll();
  void StartSome();
  void OnDone(const std::string& id, std::optional<std::string> reason);

  const Ports ports_;
  const base::Duration period_;
  std::vector<std::string> ids_;
  std::deque<std::string> waiting_;
  std::map<std::string, std::unique_ptr<process::Child>> running_;
  std::map<std::string, Sick> sick_;
  loop::TimerHandle round_;
};

}  // namespace tenon::tenond
