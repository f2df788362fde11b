// Reads anything as a CDI spec, as YAML and as JSON. What is accepted holds what the readers of a
// spec rely on.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "cdi/spec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  for (const char* name : {"fuzz.yaml", "fuzz.json"}) {
    const auto spec = tenon::cdi::ParseSpec(text, name);
    if (!spec) continue;
    TENON_CHECK(!spec->devices.empty());
    const auto again = tenon::cdi::ParseSpec(tenon::cdi::FormatSpec(*spec), "again.json");
    TENON_CHECK(again && *again == *spec);
    for (const auto& [device, edits] : spec->devices) {
      TENON_CHECK(tenon::cdi::IsQualifiedName(spec->kind + "=" + device));
      for (const auto& node : edits.device_nodes) {
        TENON_CHECK(node.path.starts_with('/') && node.host_path.starts_with('/'));
        TENON_CHECK(!node.permissions.empty());
      }
    }
  }
  return 0;
}
