#include "tenon/commands.h"

namespace tenon::cli {

const std::vector<Command>& Commands() {
  static const std::vector<Command> kCommands = {
      {"kubelet", "run a device manager that behaves as the kubelet's does", AddKubeletCommand},
      {"version", "print the version", AddVersionCommand},
  };
  return kCommands;
}

}  // namespace tenon::cli
