#include "host/uevent.h"

#include <utility>

namespace tenon::host {

std::optional<Uevent> ParseUevent(std::string_view bytes) {
  const size_t at = bytes.find('@');
  const size_t end = bytes.find('\0');
  if (end == std::string_view::npos || at == 0 || at >= end) return std::nullopt;
  Uevent event{.action = std::string(bytes.substr(0, at)),
               .path = std::string(bytes.substr(at + 1, end - at - 1))};
  if (!event.path.starts_with('/')) return std::nullopt;
  constexpr std::string_view kSubsystem = "SUBSYSTEM=";
  for (size_t start = end + 1; start < bytes.size();) {
    const std::string_view text = bytes.substr(start, bytes.find('\0', start) - start);
    if (text.starts_with(kSubsystem)) event.subsystem = text.substr(kSubsystem.size());
    start += text.size() + 1;
  }
  return event;
}

}  // namespace tenon::host
