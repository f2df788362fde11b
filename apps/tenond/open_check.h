#pragma once

#include <span>
#include <string>
#include <vector>

#include "discovery/source.h"
#include "host/host.h"

namespace tenon::tenond {

struct OpenCheckRule {
  /// Of the device nodes that may be opened.
  std::vector<std::string> subsystems;
  base::Duration period = std::chrono::seconds(60);
  bool shared = false;  ///< Also while a container holds them.
  bool operator==(const OpenCheckRule&) const = default;
};

/// How this program is started to open the device nodes of a device, as a sick driver can keep
/// whoever opens one for ever. Returns: empty if there is none that the rule lets be opened.
std::vector<std::string> OpenCheckCommand(host::Host& host, const discovery::FoundDevice& device,
                                          const OpenCheckRule& rule);

/// The other side of OpenCheckCommand(): `arguments` behind the program's name. Returns: whether
/// they are such.
bool IsOpenCheck(std::span<const char* const> arguments);
/// Opens what they name, for reading and without waiting, and closes it again. Returns: the exit
/// status; what cannot be opened is told on standard error.
int OpenDevices(std::span<const char* const> arguments);

}  // namespace tenon::tenond
