// Reads anything as a message of the kernel; what is accepted has an action and an absolute path.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "host/uevent.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  auto event = tenon::host::ParseUevent({reinterpret_cast<const char*>(bytes), size});
  if (!event) return 0;
  TENON_CHECK(!event->action.empty() && event->path.starts_with('/'));
  TENON_CHECK(event->subsystem.find('\0') == std::string::npos);
  return 0;
}
