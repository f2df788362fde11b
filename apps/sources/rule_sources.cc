#include "sources/rule_sources.h"

#include <utility>
#include <variant>

#include "discovery/virtual_source.h"

namespace tenon {

std::vector<std::unique_ptr<discovery::Source>> MakeSources(
    const discovery::Surroundings& surroundings, const config::ResourceConfig& resource,
    const std::vector<std::string>& allowed_prefixes) {
  std::vector<std::unique_ptr<discovery::Source>> sources;
  int counters = 0;
  for (const config::DeviceRule& rule : resource.devices) {
    if (const auto* path = std::get_if<config::PathRule>(&rule.source)) {
      sources.push_back(std::make_unique<discovery::PathSource>(
          surroundings, discovery::PathOptions{.path = path->path,
                                               .container_path = path->mount_path,
                                               .permissions = path->permissions,
                                               .trust = {allowed_prefixes, path->unsafe}}));
    } else {
      // "v-0" for the first rule, "v2-0" for the second: docs/ids.md.
      sources.push_back(std::make_unique<discovery::VirtualSource>(discovery::VirtualOptions{
          .count = std::get<config::VirtualRule>(rule.source).count,
          .prefix = ++counters == 1 ? "v" : "v" + std::to_string(counters)}));
    }
  }
  return sources;
}

}  // namespace tenon
