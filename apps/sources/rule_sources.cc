#include "sources/rule_sources.h"

#include <utility>
#include <variant>

#include "discovery/group_scanner.h"
#include "discovery/path_scanner.h"
#include "discovery/pci_scanner.h"
#include "discovery/sysfs_scanner.h"
#include "discovery/usb_scanner.h"
#include "discovery/virtual_source.h"
#include "program/command_source.h"

namespace tenon {
namespace {

using Prefixes = std::vector<std::string>;

discovery::NodeOptions Nodes(const config::NodeRule& rule, const Prefixes& allowed_prefixes) {
  return {.container_paths = rule.mount_paths,
          .permissions = rule.permissions,
          .mount = rule.mount,
          .read_only = rule.read_only,
          .shared = rule.shared,
          .trust = {allowed_prefixes, rule.unsafe}};
}

std::unique_ptr<discovery::Scanner> MakeScanner(const config::PathRule& rule,
                                                discovery::NodeOptions nodes) {
  return std::make_unique<discovery::PathScanner>(
      discovery::PathOptions{.path = rule.path, .nodes = std::move(nodes)});
}

std::unique_ptr<discovery::Scanner> MakeScanner(const config::UsbRule& rule,
                                                discovery::NodeOptions nodes) {
  discovery::UsbOptions options{.subsystems = rule.subsystems, .nodes = std::move(nodes)};
  for (const config::UsbMatch& match : rule.any_of)
    options.any_of.push_back({.vendor = match.vendor,
                              .product = match.product,
                              .serial = match.serial,
                              .port = match.port,
                              .device_class = match.device_class,
                              .interface = match.interface});
  return std::make_unique<discovery::UsbScanner>(std::move(options));
}

std::unique_ptr<discovery::Scanner> MakeScanner(const config::PciRule& rule,
                                                discovery::NodeOptions nodes) {
  discovery::PciOptions options{
      .subsystems = rule.subsystems, .vfio = rule.vfio, .nodes = std::move(nodes)};
  for (const config::PciMatch& match : rule.any_of)
    options.any_of.push_back({.vendor = match.vendor,
                              .device = match.device,
                              .address = match.address,
                              .driver = match.driver,
                              .pci_class = match.pci_class,
                              .physical_function = match.physical_function,
                              .is_virtual = match.is_virtual});
  return std::make_unique<discovery::PciScanner>(std::move(options));
}

std::unique_ptr<discovery::Scanner> MakeScanner(const config::SysfsRule& rule,
                                                discovery::NodeOptions nodes) {
  return std::make_unique<discovery::SysfsScanner>(discovery::SysfsOptions{
      .selector = {.subsystem = rule.subsystem, .name = rule.name, .attributes = rule.attributes},
      .together = rule.together,
      .nodes = std::move(nodes)});
}

/// Virtual rules and programs are sources of their own and never part of a group.
std::unique_ptr<discovery::Scanner> MakeScanner(const config::VirtualRule&,
                                                const discovery::NodeOptions&) {
  return nullptr;
}
std::unique_ptr<discovery::Scanner> MakeScanner(const config::CommandRule&,
                                                const discovery::NodeOptions&) {
  return nullptr;
}

std::unique_ptr<discovery::Scanner> MakeScanner(const config::Member& member,
                                                const Prefixes& allowed_prefixes) {
  return std::visit(
      [&](const auto& rule) { return MakeScanner(rule, Nodes(member.nodes, allowed_prefixes)); },
      member.source);
}

std::unique_ptr<discovery::Scanner> MakeScanner(const config::DeviceRule& rule,
                                                const Prefixes& allowed_prefixes) {
  if (!rule.group) return MakeScanner(rule.members.front(), allowed_prefixes);
  std::vector<discovery::GroupMember> members;
  for (const config::Member& member : rule.members) {
    discovery::GroupMember& part = members.emplace_back();
    part.scanner = MakeScanner(member, allowed_prefixes);
    part.optional = member.optional;
    part.limit = static_cast<size_t>(member.limit);
  }
  return std::make_unique<discovery::GroupScanner>(std::move(members));
}

}  // namespace

program::Program ToProgram(const config::ProgramRule& rule) {
  return {.argv = rule.argv, .timeout = std::chrono::seconds(rule.timeout_s)};
}

std::vector<std::unique_ptr<discovery::Source>> MakeSources(
    const discovery::Surroundings& surroundings, program::Runner& runner,
    const config::ResourceConfig& resource, const std::vector<std::string>& allowed_prefixes) {
  std::vector<std::unique_ptr<discovery::Source>> sources;
  int counters = 0;
  for (const config::DeviceRule& rule : resource.devices) {
    const config::Member& first = rule.members.front();
    if (const auto* counter = std::get_if<config::VirtualRule>(&first.source)) {
      // "v-0" for the first rule, "v2-0" for the second: docs/ids.md.
      sources.push_back(std::make_unique<discovery::VirtualSource>(discovery::VirtualOptions{
          .count = counter->count,
          .prefix = ++counters == 1 ? "v" : "v" + std::to_string(counters),
          .env = counter->env,
          .annotations = counter->annotations}));
    } else if (const auto* command = std::get_if<config::CommandRule>(&first.source)) {
      sources.push_back(std::make_unique<program::CommandSource>(
          surroundings, runner,
          program::CommandOptions{.program = ToProgram(command->list.program),
                                  .period = std::chrono::seconds(command->list.every_s),
                                  .nodes = Nodes(first.nodes, allowed_prefixes)}));
    } else {
      sources.push_back(std::make_unique<discovery::ScanningSource>(
          surroundings, MakeScanner(rule, allowed_prefixes)));
    }
  }
  return sources;
}

}  // namespace tenon
