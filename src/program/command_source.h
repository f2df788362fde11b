#pragma once

#include <memory>
#include <string>
#include <vector>

#include "discovery/node_options.h"
#include "discovery/scanning_source.h"
#include "discovery/source.h"
#include "program/device_lines.h"
#include "program/runner.h"

namespace tenon::program {

struct CommandOptions {
  Program program;
  base::Duration period = std::chrono::seconds(60);  ///< From one start to the next.
  discovery::NodeOptions nodes;                      ///< Where the program says nothing else.
};

/// Devices that a helper program prints, for what no other source knows. It is started now and
/// then; each run is a full snapshot. While it fails, the devices of the last good run are
/// unhealthy and say why: a sick helper makes no device vanish.
class CommandSource final : public discovery::Source {
 public:
  /// `runner` outlives it.
  CommandSource(const discovery::Surroundings& surroundings, Runner& runner,
                CommandOptions options);

  void Start(ReportFn report) override;
  /// Starts the program, unless it is running.
  void Rescan() override;

 private:
  void OnDone(const Result<std::string>& output);
  void Fail(const std::string& why);
  discovery::FoundDevice Look(const ToldDevice& told) const;
  void LogOnce(std::vector<std::string> faults);

  const discovery::Surroundings surroundings_;
  Runner& runner_;
  const CommandOptions options_;
  ReportFn report_;
  std::vector<ToldDevice> told_;     ///< By the last good run.
  std::vector<std::string> faults_;  ///< That were logged.
  std::unique_ptr<process::Child> child_;
  loop::TimerHandle timer_;
};

}  // namespace tenon::program
