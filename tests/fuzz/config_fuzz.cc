// Reads anything as a configuration: it is accepted, or there is an error; and what is accepted
// keeps the promises of config.h.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/check.h"
#include "config/allowed_paths.h"
#include "config/config.h"

namespace {

namespace config = tenon::config;

void CheckPath(const config::PathRule& rule, const config::NodeRule& nodes) {
  const std::string prefix = rule.path.LiteralPrefix();
  TENON_CHECK(prefix == "/dev" || prefix.starts_with("/dev/"));
  TENON_CHECK(!config::IsUnsafePath(prefix));
  TENON_CHECK(!rule.path.is_literal() || rule.path.Matches(prefix));
  TENON_CHECK(!nodes.unsafe);
}

void CheckUsb(const config::UsbRule& rule) {
  TENON_CHECK(!rule.any_of.empty());
  for (const config::UsbMatch& match : rule.any_of) {
    TENON_CHECK(match.vendor.empty() || match.vendor.size() == 4);
    TENON_CHECK(match != config::UsbMatch{});
  }
}

void CheckMember(const config::Member& member) {
  const config::NodeRule& nodes = member.nodes;
  TENON_CHECK(!nodes.permissions.empty() && nodes.permissions.size() <= 3);
  TENON_CHECK(!nodes.unsafe);
  for (const std::string& path : nodes.mount_paths)
    TENON_CHECK(path.starts_with('/'));
  if (const auto* path = std::get_if<config::PathRule>(&member.source)) CheckPath(*path, nodes);
  if (const auto* usb = std::get_if<config::UsbRule>(&member.source)) CheckUsb(*usb);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const config::ConfigOutcome outcome = config::Load(text, "fuzz");
  TENON_CHECK(outcome.config.has_value() == outcome.errors.empty());
  for (const std::string& error : outcome.errors)
    TENON_CHECK(error.starts_with("fuzz:") && error.find('\n') == std::string::npos);
  if (!outcome.config) return 0;
  TENON_CHECK(!outcome.config->resources.empty());
  for (const config::ResourceConfig& resource : outcome.config->resources) {
    TENON_CHECK(!resource.devices.empty());
    for (const config::DeviceRule& rule : resource.devices) {
      TENON_CHECK(!rule.members.empty() && (rule.group || rule.members.size() == 1));
      for (const config::Member& member : rule.members)
        CheckMember(member);
    }
  }
  return 0;
}
