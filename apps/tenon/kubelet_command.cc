#include <CLI/CLI.hpp>

#include "tenon/commands.h"
#include "tenon/terminal.h"

namespace tenon::cli {

RunFn AddKubeletCommand(CLI::App& app) {
  static_cast<void>(app);
  return [] {
    PrintError("kubelet: not part of this build");
    return kExitFailed;
  };
}

}  // namespace tenon::cli
