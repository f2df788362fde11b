#include "discovery/trust.h"

#include <algorithm>
#include <array>

namespace tenon::discovery {
namespace {

bool IsPrefix(std::string_view prefix, std::string_view path) {
  while (prefix.ends_with('/'))
    prefix.remove_suffix(1);
  return path.starts_with(prefix) && (path.size() == prefix.size() || path[prefix.size()] == '/');
}

/// Whether whoever opens it has the machine: its memory, its kernel's memory, its I/O ports.
/// Source: Linux Documentation/admin-guide/devices.txt, character major 1, minors 1, 2 and 4.
bool IsMemory(std::string_view real_path, const host::FileStat& file) {
  constexpr std::array<std::string_view, 3> kPaths = {"/dev/mem", "/dev/kmem", "/dev/port"};
  bool by_number = file.kind == host::FileKind::kCharacterDevice && file.major == 1 &&
                   (file.minor == 1 || file.minor == 2 || file.minor == 4);
  return by_number || std::ranges::find(kPaths, real_path) != kPaths.end();
}

}  // namespace

bool Trust::Covers(std::string_view real_path) const {
  return IsPrefix("/dev", real_path) ||
         std::ranges::any_of(allowed_prefixes,
                             [&](const auto& prefix) { return IsPrefix(prefix, real_path); });
}

Result<void> Trust::Check(std::string_view real_path, const host::FileStat& file) const {
  auto refuse = [](std::string text) { return Error(Code::kPermissionDenied, std::move(text)); };
  if (!Covers(real_path))
    return refuse("leads to " + std::string(real_path) + ", outside of what rules may reach");
  if (unsafe) return {};
  if (IsMemory(real_path, file))
    return refuse("is the memory or the ports of the machine, which only an unsafe rule may offer");
  if (file.kind == host::FileKind::kBlockDevice)
    return refuse("is a block device, which only an unsafe rule may offer");
  return {};
}

}  // namespace tenon::discovery
