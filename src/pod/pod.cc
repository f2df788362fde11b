#include "pod/pod.h"

#include <sys/random.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "device/resource_name.h"

namespace tenon::pod {

std::string_view RestartPolicyName(RestartPolicy policy) {
  constexpr std::array<std::string_view, 3> kNames = {"Always", "OnFailure", "Never"};
  return kNames.at(static_cast<size_t>(policy));
}

std::map<std::string, int64_t> ExtendedLimits(const Container& container) {
  std::map<std::string, int64_t> out;
  for (const auto& [name, quantity] : container.limits) {
    if (ResourceName::Parse(name)) out.emplace(name, quantity.whole());
  }
  return out;
}

std::string ExpandVariables(std::string_view text, const std::vector<EnvVar>& env) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    if (rest.starts_with("$$")) {
      out += '$';
      at += 2;
      continue;
    }
    const size_t close = rest.starts_with("$(") ? rest.find(')') : std::string_view::npos;
    if (close == std::string_view::npos) {
      out += rest[0];
      ++at;
      continue;
    }
    const std::string_view name = rest.substr(2, close - 2);
    const auto found =
        std::find_if(env.rbegin(), env.rend(), [name](const EnvVar& v) { return v.name == name; });
    out += found != env.rend() ? std::string_view{found->value} : rest.substr(0, close + 1);
    at += close + 1;
  }
  return out;
}

std::string RandomUid() {
  std::array<unsigned char, 16> bytes{};
  TENON_CHECK(getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0F) | 0x40);
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3F) | 0x80);
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    out += kHex[bytes[i] >> 4];
    out += kHex[bytes[i] & 0x0F];
  }
  return out;
}

}  // namespace tenon::pod
