#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "program/device_lines.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  auto told = tenon::program::ReadDeviceLines(text);
  if (!told) return 0;
  for (const auto& device : told->devices) {
    TENON_CHECK(!device.id.empty());
    for (const auto& path : device.paths)
      TENON_CHECK(path.path.front() == '/');
  }
  return 0;
}
