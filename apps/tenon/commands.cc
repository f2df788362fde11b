#include "tenon/commands.h"

namespace tenon::cli {

const std::vector<Command>& Commands() {
  static const std::vector<Command> commands = {
      {"check", "Find every mistake in configurations of tenond", AddCheckCommand},
      {"discover", "Show what a configuration finds on this machine", AddDiscoverCommand},
      {"import", "Turn another plugin's configuration into one of tenond", AddImportCommand},
      {"manifests", "Print what installs tenond on a cluster", AddManifestsCommand},
      {"status", "Show what tenond offers, how it stands and who holds it", AddStatusCommand},
      {"doctor", "Find out why devices of a node do not reach pods", AddDoctorCommand},
      {"kubelet", "Run a device manager that behaves as the kubelet's does", AddKubeletCommand},
      {"node", "Show capacity and allocatable of a 'tenon kubelet'", AddNodeCommand},
      {"pod", "Run pods on a 'tenon kubelet'", AddPodCommand},
      {"plugin", "Run a device plugin that knows only /var/lib/kubelet", AddPluginCommand},
      {"run", "Run one program in a container that is given devices", AddRunCommand},
      {"resource", "Advertise extended resources of kube nodes without a plugin",
       AddResourceCommand},
      {"checkpoint", "Verify and explain the checkpoint of any kubelet", AddCheckpointCommand},
      {"version", "Print the version", AddVersionCommand},
  };
  return commands;
}

}  // namespace tenon::cli
