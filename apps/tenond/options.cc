#include "tenond/options.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/strings.h"

namespace tenon::tenond {
namespace {

using Action = Options::Action;

struct Flag {
  std::string_view name;
  std::string_view value;  ///< What the value is called; empty: the flag takes none.
  std::string_view help;
  Result<void> (*apply)(Options& options, const std::string& value);
};

Error BadValue(const std::string& value, std::string_view wanted) {
  return {Code::kInvalidArgument, "'" + value + "' is not " + std::string(wanted)};
}

Error MissingValue(const Flag& flag) {
  std::string text(flag.name);
  text.append(" needs a value: ").append(flag.name).append(" ").append(flag.value);
  return {Code::kInvalidArgument, std::move(text)};
}

template <std::string Options::*member>
Result<void> SetText(Options& options, const std::string& value) {
  if (value.empty()) return BadValue(value, "a value");
  options.*member = value;
  return {};
}

template <std::string Options::*member>
Result<void> SetPath(Options& options, const std::string& value) {
  if (!value.starts_with('/')) return BadValue(value, "an absolute path");
  options.*member = value;
  return {};
}

template <Action action>
Result<void> SetAction(Options& options, const std::string&) {
  options.action = action;
  return {};
}

Result<void> AddConfig(Options& options, const std::string& value) {
  if (value.empty()) return BadValue(value, "a value");
  options.configs.push_back(value);
  return {};
}

Result<void> AddAllowedPath(Options& options, const std::string& value) {
  options.allow_paths.push_back(value);  // The config module checks them.
  return {};
}

Result<void> AddAllowedPrograms(Options& options, const std::string& value) {
  if (!value.starts_with('/')) return BadValue(value, "an absolute path");
  options.allow_exec.push_back(value);
  return {};
}

Result<void> SetProbe(Options& options, const std::string& value) {
  if (value != "live" && value != "ready") return BadValue(value, "live or ready");
  options.action = value == "live" ? Action::kProbeLive : Action::kProbeReady;
  return {};
}

Result<void> SetLogFormat(Options& options, const std::string& value) {
  if (value != "text" && value != "json") return BadValue(value, "text or json");
  options.log_format =
      value == "text" ? base::StreamLog::Format::kText : base::StreamLog::Format::kJson;
  return {};
}

Result<void> SetLogLevel(Options& options, const std::string& value) {
  constexpr std::array<std::pair<std::string_view, base::LogLevel>, 4> kLevels = {{
      {"debug", base::LogLevel::kDebug},
      {"info", base::LogLevel::kInfo},
      {"warning", base::LogLevel::kWarning},
      {"error", base::LogLevel::kError},
  }};
  for (const auto& [name, level] : kLevels) {
    if (value != name) continue;
    options.log_level = level;
    return {};
  }
  return BadValue(value, "debug, info, warning or error");
}

// clang-format off
constexpr std::array kFlags = {
    Flag{"--config", "PATH", "what to offer: a file, or a directory of them; may be repeated",
         &AddConfig},
    Flag{"--kubelet-dir", "DIR", "where the kubelet keeps its sockets (default /var/lib/kubelet)",
         &SetPath<&Options::kubelet_dir>},
    Flag{"--plugin-dir", "DIR", "device-plugin directory (default KUBELET-DIR/device-plugins)",
         &SetPath<&Options::plugin_dir>},
    Flag{"--pod-resources", "SOCKET",
         "PodResources socket (default KUBELET-DIR/pod-resources/kubelet.sock)",
         &SetPath<&Options::pod_resources>},
    Flag{"--root", "DIR", "look for /dev and /sys below DIR (default /)",
         &SetPath<&Options::root>},
    Flag{"--cdi-dir", "DIR", "where CDI specs are written (default /var/run/cdi)",
         &SetPath<&Options::cdi_dir>},
    Flag{"--allow-path", "PREFIX", "let rules reach PREFIX beside /dev; may be repeated",
         &AddAllowedPath},
    Flag{"--allow-exec", "DIR", "let the configuration name programs in DIR; may be repeated",
         &AddAllowedPrograms},
    Flag{"--control", "SOCKET", "control socket, mode 0600 (default /run/tenon/tenond.sock)",
         &SetPath<&Options::control>},
    Flag{"--listen", "ADDR:PORT", "serve metrics, health and status on TCP, too (default off)",
         &SetText<&Options::listen>},
    Flag{"--log-format", "FORMAT", "text or json (default text)", &SetLogFormat},
    Flag{"--log-level", "LEVEL", "debug, info, warning or error (default info)", &SetLogLevel},
    Flag{"--probe", "WHAT", "ask a running tenond if it is live or ready; exit 0 or 1", &SetProbe},
    Flag{"--version", "", "print the version", &SetAction<Action::kShowVersion>},
    Flag{"--help", "", "print this text", &SetAction<Action::kShowHelp>},
};
// clang-format on

void SetDefaults(Options& options) {
  if (options.plugin_dir.empty())
    options.plugin_dir = base::JoinPath(options.kubelet_dir, "device-plugins");
  if (options.pod_resources.empty())
    options.pod_resources = base::JoinPath(options.kubelet_dir, "pod-resources/kubelet.sock");
}

}  // namespace

Result<Options> ParseOptions(std::span<const char* const> arguments) {
  Options options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    const size_t equals = argument.find('=');
    const std::string name(argument.substr(0, equals));
    const auto* flag = std::ranges::find(kFlags, name, &Flag::name);
    if (flag == kFlags.end())
      return Error(Code::kInvalidArgument, "unknown argument '" + name + "'; see tenond --help");
    std::string value;
    if (equals != std::string_view::npos)
      value = argument.substr(equals + 1);
    else if (!flag->value.empty() && i + 1 < arguments.size())
      value = arguments[++i];
    else if (!flag->value.empty())
      return MissingValue(*flag);
    if (flag->value.empty() && equals != std::string_view::npos)
      return Error(Code::kInvalidArgument, name + " takes no value");
    if (auto applied = flag->apply(options, value); !applied)
      return std::move(applied).error().Wrap(name);
  }
  if (options.action == Action::kRun && options.configs.empty())
    return Error(Code::kInvalidArgument, "--config PATH is required; see tenond --help");
  SetDefaults(options);
  return options;
}

std::string HelpText() {
  std::string text =
      "usage: tenond --config PATH [options]\n"
      "\n"
      "Offers devices of this machine to the kubelet as extended resources.\n"
      "\n";
  constexpr size_t kColumn = 27;
  for (const Flag& flag : kFlags) {
    std::string line = "  ";
    line += flag.name;
    if (!flag.value.empty()) line.append(" ").append(flag.value);
    line.resize(std::max(line.size() + 1, kColumn), ' ');
    text.append(line).append(flag.help).append("\n");
  }
  text +=
      "\n"
      "SIGHUP reads the configuration again, as does a change of its files; SIGTERM and SIGINT\n"
      "end it. Exit status: 0 after a signal or a good probe, 1 when it cannot go on, 2 for a\n"
      "wrong command line or configuration.\n";
  return text;
}

}  // namespace tenon::tenond
