#include "device/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace tenon {
namespace {

bool IsPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == ':' || c == '-';
}

/// FNV-1a, 64 bit: stable across releases and machines, which std::hash is not.
uint64_t Fnv1a(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

/// `id`, or its beginning and a hash of `whole`, what it was made of, when it is too long.
DeviceId Shortened(std::string id, std::string_view whole) {
  if (id.size() > kMaxDeviceIdBytes) {
    std::string hash = fmt::format("-{:016x}", Fnv1a(whole));
    id.resize(kMaxDeviceIdBytes - hash.size());
    id.append(hash);
  }
  return {std::move(id)};
}

}  // namespace

void SortById(std::vector<Device>& devices) {
  std::ranges::sort(devices, {}, &Device::id);
}

const Device* FindDevice(const std::vector<Device>& devices, std::string_view id) {
  auto found = std::ranges::lower_bound(
      devices, id, {}, [](const Device& d) { return std::string_view{d.id.value}; });
  return found != devices.end() && found->id.value == id ? &*found : nullptr;
}

DeviceId MakeDeviceId(std::string_view text) {
  std::string id;
  for (char c : text) {
    if (IsPlain(c)) {
      id.push_back(c);
    } else if (c == '_') {
      id.append("__");
    } else {
      id.append(fmt::format("_{:02X}", static_cast<unsigned char>(c)));
    }
  }
  return Shortened(std::move(id), text);
}

DeviceId JoinDeviceIds(const std::vector<DeviceId>& ids) {
  std::string id;
  for (const DeviceId& one : ids)
    id.append(id.empty() ? "" : "_2B").append(one.value);
  const std::string whole = id;
  return Shortened(std::move(id), whole);
}

}  // namespace tenon
