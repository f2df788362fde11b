#include <CLI/CLI.hpp>

#include "tenon/commands.h"
#include "tenon/terminal.h"

namespace tenon::cli {

RunFn AddVersionCommand(CLI::App& app) {
  static_cast<void>(app);
  return [] {
    Print("tenon " TENON_VERSION "\n");
    return kExitOk;
  };
}

}  // namespace tenon::cli
