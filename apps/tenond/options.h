#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"

namespace tenon::tenond {

/// What the command line asks for. docs/tenond.md describes it for users.
struct Options {
  enum class Action {
    kRun,
    kProbeLive,   ///< Ask a running daemon whether its loop turns.
    kProbeReady,  ///< Ask it whether every resource is on the node.
    kShowVersion,
    kShowHelp,
  };

  Action action = Action::kRun;
  std::vector<std::string> configs;  ///< Files and directories; not empty for kRun.
  std::string kubelet_dir = "/var/lib/kubelet";
  std::string plugin_dir;     ///< Default: device-plugins in kubelet_dir.
  std::string pod_resources;  ///< Default: pod-resources/kubelet.sock in kubelet_dir.
  std::string root = "/";
  std::string cdi_dir = "/var/run/cdi";
  std::vector<std::string> allow_paths;
  std::vector<std::string> allow_exec;
  std::string control = "/run/tenon/tenond.sock";
  std::string listen;  ///< Empty: no TCP.
  base::StreamLog::Format log_format = base::StreamLog::Format::kText;
  base::LogLevel log_level = base::LogLevel::kInfo;
};

/// Errors: kInvalidArgument, naming the argument and what would be right.
Result<Options> ParseOptions(std::span<const char* const> arguments);

/// The text of --help.
std::string HelpText();

}  // namespace tenon::tenond
