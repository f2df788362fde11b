#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <span>

#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "tenond/daemon.h"
#include "tenond/open_check.h"
#include "tenond/options.h"
#include "tenond/probe.h"

namespace tenon::tenond {
namespace {

constexpr int kExitFailure = 1;  ///< It cannot go on.
constexpr int kExitUsage = 2;    ///< The command line or the configuration is wrong.

int Run(const Options& options, const base::Clock& clock) {
  config::ConfigOutcome outcome = config::LoadPaths(
      options.configs, {.allow_paths = options.allow_paths, .allow_exec = options.allow_exec});
  if (!outcome.config) {
    for (const std::string& error : outcome.errors)
      std::fprintf(stderr, "%s\n", error.c_str());
    return kExitUsage;
  }
  base::StreamLog log(STDERR_FILENO, options.log_format, options.log_level, clock);
  Daemon daemon(options, clock, log);
  if (auto started = daemon.Start(*outcome.config); !started) {
    log.Error("cannot start", {{"error", started.error().message()}});
    return kExitFailure;
  }
  return daemon.Run();
}

int Main(std::span<const char* const> arguments) {
  // A peer that went away is an error of the write, not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  if (IsOpenCheck(arguments)) return OpenDevices(arguments);
  auto options = ParseOptions(arguments);
  if (!options) {
    std::fprintf(stderr, "tenond: %s\n", options.error().message().c_str());
    return kExitUsage;
  }
  const base::SystemClock clock;
  switch (options->action) {
    case Options::Action::kRun:
      return Run(*options, clock);
    case Options::Action::kProbeLive:
      return Probe(clock, options->control, "/healthz");
    case Options::Action::kProbeReady:
      return Probe(clock, options->control, "/readyz");
    case Options::Action::kShowVersion:
      std::printf("tenond %s\n", TENON_VERSION);
      return 0;
    case Options::Action::kShowHelp:
      std::fputs(HelpText().c_str(), stdout);
      return 0;
  }
  return kExitFailure;
}

}  // namespace
}  // namespace tenon::tenond

// What could be thrown here is bad_alloc, and that ends the process.
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char** argv) {
  return tenon::tenond::Main(std::span<const char* const>(argv + 1, static_cast<size_t>(argc - 1)));
}
