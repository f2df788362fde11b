#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/strict_mapping.h"

/// What stands behind "usb:", "pci:", "sysfs:" and "virtual:". Each returns nullopt, with at least
/// one fault added, for what is none; what is returned may have added faults, too.
namespace tenon::config {

/// A mapping, or a list of them: any of which may fit. `nodes` are the subsystems of "nodes".
std::optional<UsbRule> ReadUsb(const Value& value, std::vector<std::string> nodes, Faults& faults);
std::optional<PciRule> ReadPci(const Value& value, std::vector<std::string> nodes, Faults& faults);
std::optional<SysfsRule> ReadSysfs(const Value& value, Faults& faults);
std::optional<VirtualRule> ReadVirtual(const Value& value, Faults& faults);

}  // namespace tenon::config
