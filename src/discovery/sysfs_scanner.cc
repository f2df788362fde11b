#include "discovery/sysfs_scanner.h"

#include <algorithm>
#include <map>

#include "base/strings.h"
#include "discovery/path_scanner.h"
#include "discovery/sysfs.h"

namespace tenon::discovery {
namespace {

/// Where the members of a subsystem are: classes have it directly, buses in "devices".
std::string SubsystemDirectory(host::Host& host, const std::string& subsystem) {
  std::string directory = "/sys/class/" + subsystem;
  return host.Stat(directory) ? directory : "/sys/bus/" + subsystem + "/devices";
}

/// The last address on a bus that stays over replugs and reboots: a PCI function, or a USB device
/// or interface. Names below it, as input5, are given in the order of detection.
std::string BusAddress(std::string_view directory) {
  std::string address;
  for (std::string_view component : base::Split(directory, '/'))
    if (IsPciAddress(component) || IsUsbPort(component.substr(0, component.find(':'))))
      address = component;
  return address;
}

}  // namespace

Scan SysfsScanner::Look(host::Host& host) {
  Scan scan;
  auto add = [&scan](FoundDevice device) {
    CheckContainerPaths(device);
    scan.Add(std::move(device));
  };
  std::map<std::string, int> at_address;
  std::map<std::string, FoundDevice> together;  // By address.
  for (const Entry& entry : FindEntries(host, scan)) {
    const int before = at_address[entry.address]++;
    std::string id = options_.selector.subsystem + "-" + entry.address;
    if (before > 0 && !options_.together) id += "." + std::to_string(before);
    FoundDevice device{.id = entry.address.empty() ? PathDeviceId(entry.path) : MakeDeviceId(id)};
    device.numa_nodes = NumaNodes(host, entry.directory);
    const bool joins = options_.together && !entry.address.empty();
    FoundDevice& into = joins ? together.emplace(entry.address, device).first->second : device;
    auto added = AddFile(host, entry.path, options_.nodes, into, scan.directories);
    if (!added) MakeUnhealthy(into, entry.path + ": " + added.error().message());
    if (!joins) add(std::move(device));
  }
  for (auto& [address, device] : together) {
    if (device.health == Health::kUnhealthy) device.paths.clear();
    add(std::move(device));
  }
  return scan;
}

std::vector<SysfsScanner::Entry> SysfsScanner::FindEntries(host::Host& host, Scan& scan) const {
  std::vector<Entry> entries;
  const std::string directory = SubsystemDirectory(host, options_.selector.subsystem);
  WatchAlso(host, directory, scan.directories);
  WatchAlso(host, "/dev", scan.directories);
  auto names = host.List(directory);
  if (!names) return entries;
  std::ranges::sort(*names, base::NaturalLess);
  for (const std::string& name : *names) {
    if (!options_.selector.name.empty() && !WildcardMatches(options_.selector.name, name)) continue;
    auto real_path = host.RealPath(base::JoinPath(directory, name));
    if (!real_path || !Fits(host, *real_path)) continue;
    std::string path = DevicePath(host, *real_path);
    if (path.empty()) {
      scan.skipped.emplace(name, Skipped{base::LogLevel::kInfo, "has no device node"});
      continue;
    }
    std::string address = BusAddress(*real_path);
    entries.push_back({name, *std::move(real_path), std::move(path), std::move(address)});
  }
  return entries;
}

bool SysfsScanner::Fits(host::Host& host, const std::string& directory) const {
  return std::ranges::all_of(options_.selector.attributes, [&](const auto& wanted) {
    return WildcardMatches(wanted.second, ReadAttribute(host, directory, wanted.first));
  });
}

}  // namespace tenon::discovery
