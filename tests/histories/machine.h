#pragma once

#include <map>
#include <random>
#include <string>

#include "host/memory_host.h"

namespace tenon::histories {

/// USB sticks with a serial port each, as the kernel and udevd show them.
class Machine {
 public:
  struct Stick {
    std::string serial;  ///< Twins have the same one; some have none.
    std::string port;    ///< Empty: not plugged in.
    unsigned number = 0;
    unsigned tty = 0;
  };

  explicit Machine(std::mt19937_64& random) : random_(random) {
    host.Directory("/sys/bus/usb/devices");
    host.Directory("/sys/class/tty");
    host.Directory("/dev/serial/by-id");
    for (const char* serial : {"A", "B", "TWIN", "TWIN", ""})
      sticks.push_back({.serial = serial});
  }

  /// Plugs it in at a port, with numbers, that nobody has; as of the former one if `after` says so.
  void Plug(Stick& stick, const Stick* after = nullptr) {
    auto is_free = [this](const std::string& path) { return !host.Has(path); };
    auto free_port = [&](unsigned n) { return is_free("/sys/bus/usb/devices/" + Port(n)); };
    stick.port = after != nullptr ? after->port : Port(Draw(free_port));
    auto free_number = [&](unsigned n) { return is_free(UsbNode(n)); };
    stick.number = after != nullptr ? after->number : Draw(free_number);
    auto free_tty = [&](unsigned n) { return is_free(TtyNode(n)); };
    stick.tty = after != nullptr ? after->tty : Draw(free_tty);
    const std::string directory = Directory(stick);
    const std::string tty = Tty(stick.tty);
    const std::string child = directory + "/" + stick.port + ":1.0/" + tty + "/tty/" + tty;
    for (const auto& [name, text] :
         std::map<std::string, std::string>{{"idVendor", "0403"},
                                            {"idProduct", "6001"},
                                            {"busnum", "1"},
                                            {"devnum", std::to_string(stick.number)}})
      host.File(directory + "/" + name, text + "\n");
    if (!stick.serial.empty()) host.File(directory + "/serial", stick.serial + "\n");
    host.Link(directory + "/subsystem", "/sys/bus/usb");
    host.File(child + "/dev", "188:" + std::to_string(stick.tty) + "\n");
    host.File(child + "/uevent", "DEVNAME=" + tty + "\n");
    host.Link(child + "/subsystem", "/sys/class/tty");
    host.Link("/sys/class/tty/" + tty, child);
    host.Link("/sys/bus/usb/devices/" + stick.port, directory);
    host.CharacterDevice(UsbNode(stick.number), 189, stick.number - 1);
    host.CharacterDevice(TtyNode(stick.tty), 188, stick.tty);
    host.Link(ById(stick), TtyNode(stick.tty));
  }

  void Unplug(Stick& stick) {
    host.Remove("/sys/class/tty/" + Tty(stick.tty));
    host.Remove("/sys/bus/usb/devices/" + stick.port);
    host.Remove(Directory(stick));
    host.Remove(UsbNode(stick.number));
    // A twin's link may have taken the place of ours.
    if (auto target = host.RealPath(ById(stick)); target && *target == TtyNode(stick.tty))
      host.Remove(ById(stick));
    host.Remove(TtyNode(stick.tty));
    stick.port.clear();
  }

  host::MemoryHost host;
  std::vector<Stick> sticks;

 private:
  static std::string Port(unsigned n) { return "1-1." + std::to_string(n); }
  static std::string Tty(unsigned n) { return "ttyUSB" + std::to_string(n); }
  static std::string TtyNode(unsigned n) { return "/dev/" + Tty(n); }
  static std::string UsbNode(unsigned n) {
    return std::string("/dev/bus/usb/001/00") + std::to_string(n);
  }
  static std::string Directory(const Stick& stick) {
    return "/sys/devices/pci0000:00/0000:00:14.0/usb1/1-1/" + stick.port;
  }
  static std::string ById(const Stick& stick) {
    return "/dev/serial/by-id/usb-" + (stick.serial.empty() ? "FTDI" : stick.serial);
  }
  /// A number from 1 to 9 that is free: few, so that they come again soon.
  template <class IsFree>
  unsigned Draw(const IsFree& is_free) {
    auto n = static_cast<unsigned>(1 + random_() % 6);
    while (!is_free(n))
      n = n % 9 + 1;
    return n;
  }

  std::mt19937_64& random_;
};

}  // namespace tenon::histories
