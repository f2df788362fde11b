#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tenon::host {

/// One event of the kernel's device model.
struct Uevent {
  std::string action;     ///< "add", "remove", "change", "bind", …
  std::string path;       ///< Of the device below /sys: "/devices/pci0000:00/…".
  std::string subsystem;  ///< "usb", "tty", …; empty if it says none.
  bool operator==(const Uevent&) const = default;
};

/// Reads a message of the kernel's own format: "add@/devices/x" and then KEY=VALUE texts, each
/// ended by a zero byte. Nullopt for anything else, such as what udevd sends.
/// Source: Linux lib/kobject_uevent.c, alloc_uevent_skb and add_uevent_var.
std::optional<Uevent> ParseUevent(std::string_view bytes);

}  // namespace tenon::host
