#pragma once

#include <functional>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace tenon::cli {

/// How every command ends; those that run a container end with its code instead.
enum ExitCode : int {
  kExitOk = 0,
  kExitFailed = 1,  ///< It could not be done; standard error says why.
  kExitUsage = 2,   ///< The command line is wrong.
};

/// What a command does once the command line is read. Returns: the exit code.
using RunFn = std::function<int()>;

/// One subcommand. Each has a file of its own, named after it.
struct Command {
  std::string_view name;
  std::string_view summary;
  /// Declares options, arguments and examples on `app`; the function returned owns what they
  /// are read into.
  RunFn (*add)(CLI::App& app);
};

/// All subcommands in the order in which the help shows them.
const std::vector<Command>& Commands();

RunFn AddCheckCommand(CLI::App& app);
RunFn AddCheckpointCommand(CLI::App& app);
RunFn AddDiscoverCommand(CLI::App& app);
RunFn AddDoctorCommand(CLI::App& app);
RunFn AddImportCommand(CLI::App& app);
RunFn AddKubeletCommand(CLI::App& app);
RunFn AddManifestsCommand(CLI::App& app);
RunFn AddNodeCommand(CLI::App& app);
RunFn AddPluginCommand(CLI::App& app);
RunFn AddPodCommand(CLI::App& app);
RunFn AddResourceCommand(CLI::App& app);
RunFn AddRunCommand(CLI::App& app);
RunFn AddStatusCommand(CLI::App& app);
RunFn AddVersionCommand(CLI::App& app);

}  // namespace tenon::cli
