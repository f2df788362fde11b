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

void CheckPath(const config::PathRule& rule) {
  const std::string prefix = rule.path.LiteralPrefix();
  TENON_CHECK(prefix == "/dev" || prefix.starts_with("/dev/"));
  TENON_CHECK(!rule.unsafe && !config::IsUnsafePath(prefix));
  TENON_CHECK(!rule.permissions.empty() && rule.permissions.size() <= 3);
  TENON_CHECK(rule.mount_path.empty() || rule.mount_path.starts_with('/'));
  TENON_CHECK(!rule.path.is_literal() || rule.path.Matches(prefix));
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
    for (const config::DeviceRule& rule : resource.devices)
      if (const auto* path = std::get_if<config::PathRule>(&rule.source)) CheckPath(*path);
  }
  return 0;
}
