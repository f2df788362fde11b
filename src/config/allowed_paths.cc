#include "config/allowed_paths.h"

#include <algorithm>
#include <array>

#include "base/strings.h"

namespace tenon::config {
namespace {

constexpr std::string_view kDev = "/dev";
constexpr std::array<std::string_view, 3> kUnsafePaths = {"/dev/mem", "/dev/kmem", "/dev/port"};

bool IsPrefix(std::string_view prefix, std::string_view path) {
  return path.starts_with(prefix) && (path.size() == prefix.size() || path[prefix.size()] == '/');
}

}  // namespace

bool IsUnsafePath(std::string_view path) {
  return std::ranges::find(kUnsafePaths, path) != kUnsafePaths.end();
}

Result<AllowedPaths> AllowedPaths::Parse(const std::vector<std::string>& prefixes) {
  AllowedPaths allowed;
  for (const std::string& prefix : prefixes) {
    auto refuse = [&prefix](std::string_view why) {
      return Error(Code::kInvalidArgument,
                   "--allow-path " + base::EscapeForLine(prefix) + ": " + std::string(why));
    };
    if (!prefix.starts_with('/')) return refuse("not an absolute path; begin it with \"/\"");
    std::string normal;
    for (std::string_view component : base::Split(prefix, '/')) {
      if (component == "..") return refuse("contains \"..\"; write the path without it");
      if (!component.empty() && component != ".") normal.append("/").append(component);
    }
    allowed.prefixes_.push_back(std::move(normal));
  }
  return allowed;
}

bool AllowedPaths::Covers(std::string_view path) const {
  return IsPrefix(kDev, path) ||
         std::ranges::any_of(prefixes_, [path](const auto& p) { return IsPrefix(p, path); });
}

bool AllowedPaths::CoversByName(std::string_view path) const {
  return std::ranges::any_of(
      prefixes_, [path](const auto& p) { return !p.empty() && p != kDev && IsPrefix(p, path); });
}

}  // namespace tenon::config
