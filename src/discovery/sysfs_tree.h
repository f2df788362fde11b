#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "discovery/scanner.h"
#include "host/temp_tree.h"

namespace tenon::discovery {

/// A fake machine with devices in /sys and /dev, for tests.
class SysfsTree {
 public:
  using Attributes = std::map<std::string, std::string>;

  /// A device at `path` below /sys/devices, listed in `list` ("bus/usb/devices", "class/tty").
  /// Returns: its directory.
  std::string Device(const std::string& path, const std::string& list,
                     const Attributes& attributes = {}) {
    const std::string directory = "/sys/devices/" + path;
    tree.Directory(directory);
    for (const auto& [name, text] : attributes)
      tree.File(directory + "/" + name, text + "\n");
    const std::string subsystem = list.substr(0, list.find("/devices"));
    tree.Directory("/sys/" + list);
    if (!std::filesystem::is_symlink(tree.Real(directory + "/subsystem")))
      tree.Link(directory + "/subsystem", "/sys/" + subsystem);
    tree.Link("/sys/" + list + "/" + path.substr(path.rfind('/') + 1), directory);
    return directory;
  }
  /// A USB device with its device node; the port is the last component of `path`.
  [[nodiscard]] bool Usb(const std::string& path, unsigned bus, unsigned number,
                         Attributes attributes) {
    attributes["busnum"] = std::to_string(bus);
    attributes["devnum"] = std::to_string(number);
    Device(path, "bus/usb/devices", attributes);
    return tree.CharacterDevice(UsbNode(bus, number), 189, (bus - 1) * 128 + number - 1);
  }
  static std::string UsbNode(unsigned bus, unsigned number) {
    auto digits = [](unsigned n) {
      std::string text = std::to_string(n);
      return std::string(3 - text.size(), '0') + text;
    };
    return "/dev/bus/usb/" + digits(bus) + "/" + digits(number);
  }
  /// A class device with a device node in /dev.
  [[nodiscard]] bool Node(const std::string& path, const std::string& subsystem,
                          const std::string& devname, unsigned major, unsigned minor) {
    const std::string number = std::to_string(major) + ":" + std::to_string(minor);
    Device(
        path, "class/" + subsystem,
        {{"dev", number}, {"uevent", "MAJOR=" + std::to_string(major) + "\nDEVNAME=" + devname}});
    return tree.CharacterDevice("/dev/" + devname, major, minor);
  }
  void Unplug(const std::string& path, const std::string& list) {
    tree.Remove("/sys/" + list + "/" + path.substr(path.rfind('/') + 1));
    tree.Remove("/sys/devices/" + path);
  }

  host::TempTree tree;
};

/// "id /dev/a /dev/b", "id: why it is unhealthy", and for aliases or other names in the container
/// "/dev/a=/dev/inside".
inline std::vector<std::string> Texts(const Snapshot& devices) {
  std::vector<std::string> texts;
  for (const FoundDevicePtr& device : devices) {
    std::string text = device->id.value;
    if (device->health == Health::kUnhealthy) text += ": " + device->reason;
    for (const FoundPath& path : device->paths) {
      text += " " + path.real_path;
      if (path.container_path != path.real_path) text += "=" + path.container_path;
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace tenon::discovery
