#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <memory>

#include "base/errno_error.h"
#include "base/strings.h"
#include "tenon/commands.h"
#include "tenon/options.h"
#include "tenon/terminal.h"

namespace tenon::cli {
namespace {

/// What plugins hard-code. Source: kubernetes pluginapi v1beta1 constants.go, DevicePluginPath.
constexpr const char* kKubeletDirectory = "/var/lib/kubelet";

struct PluginOptions {
  std::string kubelet_dir;
  std::vector<std::string> command;
};

/// A mount needs something to stand on; a machine without a kubelet has no such directory.
Result<void> MakeMountPoint() {
  if (::mkdir(kKubeletDirectory, 0700) == 0 || errno == EEXIST) return {};
  return base::ErrnoError("mkdir", kKubeletDirectory);
}

/// Makes `directory` this process's /var/lib/kubelet, and nobody else's.
Result<void> EnterNamespace(const std::string& directory) {
  if (::unshare(CLONE_NEWNS) != 0) return base::ErrnoError("unshare", "the mount namespace");
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return base::ErrnoError("make private", "/");
  if (::mount(directory.c_str(), kKubeletDirectory, nullptr, MS_BIND | MS_REC, nullptr) != 0)
    return base::ErrnoError("mount", directory + " on " + kKubeletDirectory);
  return {};
}

/// Becomes the plugin. Returns: only if it cannot.
Error Execute(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  for (const std::string& word : command)
    argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  std::signal(SIGPIPE, SIG_DFL);  // Ours is ignored, and that would be inherited.
  ::execvp(argv[0], argv.data());
  return base::ErrnoError("start", command[0]);
}

int Run(const PluginOptions& options) {
  const std::string sockets = base::JoinPath(options.kubelet_dir, "device-plugins");
  if (::access(sockets.c_str(), F_OK) != 0) {
    PrintError(base::ErrnoError("look at", sockets).message() +
               "; start 'tenon kubelet' first, or name its directory with --kubelet-dir");
    return kExitFailed;
  }
  if (auto made = MakeMountPoint(); !made) return Fail(made.error());
  if (auto entered = EnterNamespace(options.kubelet_dir); !entered) return Fail(entered.error());
  return Fail(Execute(options.command));
}

}  // namespace

RunFn AddPluginCommand(CLI::App& app) {
  auto options = std::make_shared<PluginOptions>();
  AddKubeletDirOption(app, options->kubelet_dir);
  app.add_option("command", options->command, "The plugin and its arguments, after --")
      ->type_name("COMMAND")
      ->required();
  app.footer(
      "The plugin finds the directory of the 'tenon kubelet' as /var/lib/kubelet, in a mount\n"
      "namespace of its own; a kubelet of this machine is not touched. Needs root.\n\n"
      "Examples:\n"
      "  tenon plugin -- /usr/bin/nvidia-device-plugin\n"
      "  tenon plugin -- generic-device-plugin --device 'name: fuse, groups: [...]'");
  return [options] { return Run(*options); };
}

}  // namespace tenon::cli
