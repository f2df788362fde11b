#include "discovery/usb_scanner.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "discovery/sysfs.h"

namespace tenon::discovery {
namespace {

constexpr std::string_view kDevices = "/sys/bus/usb/devices";

/// "/dev/bus/usb/001/014" of busnum and devnum, which are decimal.
std::string UsbDevicePath(host::Host& host, const std::string& directory) {
  auto bus = base::ParseInt64(ReadAttribute(host, directory, "busnum"));
  auto number = base::ParseInt64(ReadAttribute(host, directory, "devnum"));
  if (!bus || !number || *bus < 0 || *number < 0) return {};
  return fmt::format("/dev/bus/usb/{:03}/{:03}", *bus, *number);
}

/// Whether one of the interfaces has the attribute at this value.
bool HasInterface(host::Host& host, const std::string& directory, const std::string& port,
                  std::string_view attribute, const std::string& value) {
  auto names = host.List(directory);
  if (!names) return false;
  return std::ranges::any_of(*names, [&](const std::string& name) {
    return name.starts_with(port + ":") &&
           ReadAttribute(host, base::JoinPath(directory, name), attribute) == value;
  });
}

std::string SerialId(const std::string& vendor, const std::string& product,
                     const std::string& serial) {
  return vendor + ":" + product + ":" + serial;
}

}  // namespace

bool UsbScanner::Concerns(const host::Uevent& event) const {
  return event.subsystem == "usb" || event.path.find("/usb") != std::string::npos;
}

Scan UsbScanner::Look(host::Host& host) {
  Scan scan;
  WatchAlso(host, std::string(kDevices), scan.directories);
  WatchAlso(host, "/dev", scan.directories);
  std::vector<Stick> sticks = FindSticks(host, scan);
  RememberSerials(sticks, scan);
  for (const Stick& stick : sticks)
    AddDevice(host, stick, scan);
  return scan;
}

std::vector<UsbScanner::Stick> UsbScanner::FindSticks(host::Host& host, Scan& scan) const {
  std::vector<Stick> sticks;
  auto names = host.List(std::string(kDevices));
  if (!names) return sticks;
  std::ranges::sort(*names, base::NaturalLess);
  for (const std::string& name : *names) {
    if (!IsUsbPort(name)) continue;
    const std::string link = base::JoinPath(kDevices, name);
    Stick stick{.port = name,
                .vendor = ReadAttribute(host, link, "idVendor"),
                .product = ReadAttribute(host, link, "idProduct")};
    auto selector = std::ranges::find_if(options_.any_of, [&](const UsbSelector& one) {
      return (one.vendor.empty() || one.vendor == stick.vendor) &&
             (one.product.empty() || one.product == stick.product) &&
             (one.port.empty() || one.port == stick.port);
    });
    if (selector == options_.any_of.end()) continue;
    auto directory = host.RealPath(link);
    if (!directory) continue;  // Gone since it was listed.
    stick.directory = *std::move(directory);
    stick.serial = ReadAttribute(host, stick.directory, "serial");
    stick.device_path = UsbDevicePath(host, stick.directory);
    // The first selector that fits in all.
    selector = std::find_if(selector, options_.any_of.end(),
                            [&](const UsbSelector& one) { return Fits(host, one, stick); });
    if (selector == options_.any_of.end()) continue;
    stick.interface = selector->interface;
    if (stick.device_path.empty())
      scan.skipped.emplace(name, Skipped{base::LogLevel::kInfo, "has no number on its bus"});
    else
      sticks.push_back(std::move(stick));
  }
  return sticks;
}

bool UsbScanner::Fits(host::Host& host, const UsbSelector& selector, const Stick& stick) const {
  auto fits = [](const std::string& wanted, const std::string& is) {
    return wanted.empty() || wanted == is;
  };
  if (!fits(selector.vendor, stick.vendor) || !fits(selector.product, stick.product) ||
      !fits(selector.port, stick.port))
    return false;
  if (!selector.serial.empty() && !WildcardMatches(selector.serial, stick.serial)) return false;
  if (!selector.device_class.empty() &&
      ReadAttribute(host, stick.directory, "bDeviceClass") != selector.device_class &&
      !HasInterface(host, stick.directory, stick.port, "bInterfaceClass", selector.device_class))
    return false;
  return selector.interface.empty() ||
         HasInterface(host, stick.directory, stick.port, "bInterfaceNumber", selector.interface);
}

void UsbScanner::RememberSerials(const std::vector<Stick>& sticks, Scan& scan) {
  if (options_.any_of.size() > 1) return;
  std::map<std::string, std::vector<const Stick*>> by_serial;
  for (const Stick& stick : sticks)
    if (!stick.serial.empty())
      by_serial[SerialId(stick.vendor, stick.product, stick.serial)].push_back(&stick);
  for (const auto& [serial, twins] : by_serial) {
    auto known = serials_.find(serial);
    if (twins.size() == 1) {
      // Moved to another port, it is still itself; once it was no name, it stays none.
      if (known == serials_.end() || !known->second.empty()) serials_[serial] = twins[0]->port;
      continue;
    }
    const bool has_owner = known != serials_.end() &&
                           std::ranges::find(twins, known->second, &Stick::port) != twins.end();
    if (!has_owner) serials_[serial].clear();
    for (const Stick* twin : twins)
      if (serials_[serial] != twin->port)
        scan.skipped.emplace("serial number of " + twin->port,
                             Skipped{base::LogLevel::kWarning,
                                     "another device has it, too; the port is the id instead"});
  }
}

DeviceId UsbScanner::IdOf(const Stick& stick) const {
  const std::string serial = SerialId(stick.vendor, stick.product, stick.serial);
  auto known = serials_.find(serial);
  if (!stick.serial.empty() && known != serials_.end() && known->second == stick.port)
    return MakeDeviceId(serial);
  return MakeDeviceId("usb-" + stick.port);
}

void UsbScanner::AddDevice(host::Host& host, const Stick& stick, Scan& scan) const {
  FoundDevice device{.id = IdOf(stick)};
  device.numa_nodes = NumaNodes(host, stick.directory);
  // "001:014", as KubeVirt writes it.
  device.env_lists["USB_RESOURCE"] =
      stick.device_path.substr(13, 3) + ":" + stick.device_path.substr(17);
  if (!options_.subsystems.empty()) {
    if (!AddChildren(host, stick, device, scan)) return;
  } else {
    auto added = AddFile(host, stick.device_path, options_.nodes, device, scan.directories);
    if (!added) MakeUnhealthy(device, stick.device_path + ": " + added.error().message());
  }
  CheckContainerPaths(device);
  scan.Add(std::move(device));
}

bool UsbScanner::AddChildren(host::Host& host, const Stick& stick, FoundDevice& device,
                             Scan& scan) const {
  auto is_another = [&stick](std::string_view name) {
    if (IsUsbPort(name)) return true;  // Behind this hub.
    if (stick.interface.empty() || !name.starts_with(stick.port + ":")) return false;
    // "1-1.4:1.0" is interface 0 in decimal; the selector says it in hex, as lsusb does.
    auto number = base::ParseInt64(name.substr(name.rfind('.') + 1));
    return !number || fmt::format("{:02x}", *number) != stick.interface;
  };
  std::set<std::string> missing(options_.subsystems.begin(), options_.subsystems.end());
  std::vector<SysfsNode> children = NodesBelow(host, stick.directory, is_another);
  std::ranges::stable_sort(children, base::NaturalLess, &SysfsNode::path);
  std::string error;
  for (const SysfsNode& child : children) {
    if (std::ranges::find(options_.subsystems, child.subsystem) == options_.subsystems.end())
      continue;
    missing.erase(child.subsystem);
    auto added = AddFile(host, child.path, options_.nodes, device, scan.directories);
    if (!added && error.empty()) error = child.path + ": " + added.error().message();
  }
  if (!missing.empty()) {
    scan.skipped.emplace(stick.port, Skipped{base::LogLevel::kInfo,
                                             "has no device node of \"" + *missing.begin() + "\""});
    return false;
  }
  if (!error.empty()) MakeUnhealthy(device, std::move(error));
  return true;
}

}  // namespace tenon::discovery
