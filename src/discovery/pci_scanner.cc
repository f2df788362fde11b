#include "discovery/pci_scanner.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "discovery/sysfs.h"

namespace tenon::discovery {
namespace {

constexpr std::string_view kDevices = "/sys/bus/pci/devices";
constexpr std::string_view kGroups = "/sys/kernel/iommu_groups";
constexpr std::string_view kBridgeClass = "0x06";
constexpr std::string_view kVfioDriver = "vfio-pci";

std::string WithoutPrefix(const std::string& text) {
  return text.starts_with("0x") ? text.substr(2) : text;
}

/// What forbids to hand out a group of which `matched` functions are meant, or an empty text.
std::string GroupFault(host::Host& host, const std::string& group,
                       const std::set<std::string>& matched) {
  const std::string directory = base::JoinPath(base::JoinPath(kGroups, group), "devices");
  auto members = host.List(directory);
  if (!members) return "IOMMU group " + group + ": " + members.error().message();
  for (const std::string& address : *members) {
    const std::string function = base::JoinPath(directory, address);
    if (ReadAttribute(host, function, "class").starts_with(kBridgeClass)) continue;
    if (!matched.contains(address))
      return fmt::format(
          "IOMMU group {} contains {}, too, which this rule does not match; a group is given as a "
          "whole",
          group, address);
    const std::string driver = LinkName(host, function, "driver");
    if (driver != kVfioDriver)
      return fmt::format("{} is bound to {}, not to {}", address,
                         driver.empty() ? "no driver" : driver, kVfioDriver);
  }
  return {};
}

}  // namespace

bool PciScanner::Concerns(const host::Uevent& event) const {
  return event.subsystem == "pci" || event.subsystem == "vfio" ||
         std::ranges::find(options_.subsystems, event.subsystem) != options_.subsystems.end();
}

Scan PciScanner::Look(host::Host& host) {
  Scan scan;
  WatchAlso(host, std::string(kDevices), scan.directories);
  if (options_.vfio || !options_.subsystems.empty()) WatchAlso(host, "/dev", scan.directories);
  const std::vector<Function> functions = FindFunctions(host);
  std::map<std::string, std::vector<const Function*>> groups;
  for (const Function& function : functions) {
    if (!options_.vfio) {
      AddFunction(host, function, scan);
    } else if (std::string group = LinkName(host, function.directory, "iommu_group");
               !group.empty()) {
      groups[group].push_back(&function);
    } else {
      FoundDevice device{.id = MakeDeviceId(function.address)};
      MakeUnhealthy(device, "is in no IOMMU group; VFIO needs an IOMMU that is switched on");
      scan.Add(std::move(device));
    }
  }
  for (const auto& [group, matched] : groups)
    AddGroup(host, group, matched, scan);
  return scan;
}

std::vector<PciScanner::Function> PciScanner::FindFunctions(host::Host& host) const {
  std::vector<Function> functions;
  auto names = host.List(std::string(kDevices));  // Sorted: addresses have a fixed width.
  if (!names) return functions;
  for (const std::string& name : *names) {
    if (!IsPciAddress(name)) continue;
    auto directory = host.RealPath(base::JoinPath(kDevices, name));
    if (!directory) continue;  // Gone since it was listed.
    Function function{name, *std::move(directory)};
    if (std::ranges::any_of(options_.any_of, [&](const PciSelector& selector) {
          return Fits(host, selector, function);
        }))
      functions.push_back(std::move(function));
  }
  return functions;
}

bool PciScanner::Fits(host::Host& host, const PciSelector& selector,
                      const Function& function) const {
  auto attribute = [&](std::string_view name) {
    return WithoutPrefix(ReadAttribute(host, function.directory, name));
  };
  if (!selector.address.empty() && selector.address != function.address) return false;
  if (!selector.vendor.empty() && attribute("vendor") != selector.vendor) return false;
  if (!selector.device.empty() && attribute("device") != selector.device) return false;
  if (!attribute("class").starts_with(selector.pci_class)) return false;
  if (!selector.driver.empty() && LinkName(host, function.directory, "driver") != selector.driver)
    return false;
  if (!selector.is_virtual && selector.physical_function.empty()) return true;
  const std::string physical = LinkName(host, function.directory, "physfn");
  if (selector.is_virtual && *selector.is_virtual == physical.empty()) return false;
  return selector.physical_function.empty() || selector.physical_function == physical;
}

void PciScanner::AddFunction(host::Host& host, const Function& function, Scan& scan) const {
  FoundDevice device{.id = MakeDeviceId(function.address)};
  device.numa_nodes = NumaNodes(host, function.directory);
  device.env_lists = {{"PCIDEVICE", function.address}, {"PCI_RESOURCE", function.address}};
  std::set<std::string> missing(options_.subsystems.begin(), options_.subsystems.end());
  if (!missing.empty()) {
    for (const SysfsNode& child : NodesBelow(host, function.directory, &IsPciAddress)) {
      if (std::ranges::find(options_.subsystems, child.subsystem) == options_.subsystems.end())
        continue;
      missing.erase(child.subsystem);
      auto added = AddFile(host, child.path, options_.nodes, device, scan.directories);
      if (!added) MakeUnhealthy(device, child.path + ": " + added.error().message());
    }
  }
  if (!missing.empty()) {
    scan.skipped.emplace(
        function.address,
        Skipped{base::LogLevel::kInfo, "has no device node of \"" + *missing.begin() + "\""});
    return;
  }
  if (device.health == Health::kUnhealthy) device.paths.clear();
  CheckContainerPaths(device);
  scan.Add(std::move(device));
}

void PciScanner::AddGroup(host::Host& host, const std::string& group,
                          const std::vector<const Function*>& matched, Scan& scan) const {
  FoundDevice device{.id = MakeDeviceId(matched.front()->address)};
  device.numa_nodes = NumaNodes(host, matched.front()->directory);
  std::set<std::string> addresses;
  std::string list;
  for (const Function* function : matched) {
    addresses.insert(function->address);
    list.append(list.empty() ? "" : ",").append(function->address);
  }
  device.env_lists = {{"PCIDEVICE", list}, {"PCI_RESOURCE", list}};
  if (std::string fault = GroupFault(host, group, addresses); !fault.empty()) {
    MakeUnhealthy(device, std::move(fault));
  } else {
    auto add = [&](const std::string& path, const NodeOptions& options) {
      auto added = AddFile(host, path, options, device, scan.directories);
      if (!added) MakeUnhealthy(device, path + ": " + added.error().message());
    };
    add("/dev/vfio/" + group, options_.nodes);
    NodeOptions container = options_.nodes;
    container.shared = true;  // The door to VFIO itself; what is handed out is the group.
    add("/dev/vfio/vfio", container);
  }
  if (device.health == Health::kUnhealthy) device.paths.clear();
  CheckContainerPaths(device);
  scan.Add(std::move(device));
}

}  // namespace tenon::discovery
