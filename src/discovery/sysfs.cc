#include "discovery/sysfs.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/strings.h"

namespace tenon::discovery {
namespace {

constexpr size_t kMostBytes = 4096;  // A page, as of sysfs.
constexpr int kMostDepth = 12;
constexpr int kMostDirectories = 1024;

bool IsDigits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool IsHex(std::string_view text, size_t digits) {
  return text.size() == digits && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::string_view BaseName(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

class NodeWalk {
 public:
  NodeWalk(host::Host& host, const std::function<bool(std::string_view)>& is_another)
      : host_(host), is_another_(is_another) {}

  void Descend(const std::string& directory, int depth) {
    if (++directories_ > kMostDirectories || depth > kMostDepth) return;
    auto names = host_.List(directory);
    if (!names) return;
    std::ranges::sort(*names, base::NaturalLess);
    if (std::ranges::find(*names, "dev") != names->end()) {
      if (std::string path = DevicePath(host_, directory); !path.empty())
        nodes.push_back({directory, LinkName(host_, directory, "subsystem"), std::move(path)});
    }
    for (const std::string& name : *names) {
      const std::string entry = base::JoinPath(directory, name);
      if (is_another_(name)) continue;
      // Links are relations to other devices; "power" and the like have no nodes in them.
      auto file = host_.StatLink(entry);
      if (file && file->kind == host::FileKind::kDirectory) Descend(entry, depth + 1);
    }
  }
  std::vector<SysfsNode> nodes;

 private:
  host::Host& host_;
  const std::function<bool(std::string_view)>& is_another_;
  int directories_ = 0;
};

}  // namespace

std::string ReadAttribute(host::Host& host, const std::string& directory, std::string_view name) {
  auto text = host.Read(base::JoinPath(directory, name), kMostBytes);
  if (!text) return {};
  constexpr std::string_view kSpace(" \t\r\n\0", 5);
  const size_t first = text->find_first_not_of(kSpace);
  if (first == std::string::npos) return {};
  return text->substr(first, text->find_last_not_of(kSpace) - first + 1);
}

std::string LinkName(host::Host& host, const std::string& directory, std::string_view link) {
  auto target = host.RealPath(base::JoinPath(directory, link));
  return target ? std::string(BaseName(*target)) : std::string();
}

std::string DevicePath(host::Host& host, const std::string& directory) {
  constexpr std::string_view kName = "DEVNAME=";
  const std::string uevent = ReadAttribute(host, directory, "uevent");
  for (std::string_view line : base::Split(uevent, '\n')) {
    if (!line.starts_with(kName)) continue;
    line.remove_prefix(kName.size());
    if (line.starts_with("/dev/")) line.remove_prefix(5);
    for (std::string_view component : base::Split(line, '/'))
      if (component.empty() || component == "." || component == "..") return {};
    return "/dev/" + std::string(line);
  }
  return {};
}

std::vector<int> NumaNodes(host::Host& host, std::string directory) {
  while (directory.starts_with("/sys/devices/")) {
    const std::string text = ReadAttribute(host, directory, "numa_node");
    auto node = base::ParseInt64(text);
    if (node && *node >= 0 && *node < 1024) return {static_cast<int>(*node)};
    directory.resize(directory.rfind('/'));
  }
  return {};
}

std::vector<SysfsNode> NodesBelow(host::Host& host, const std::string& directory,
                                  const std::function<bool(std::string_view name)>& is_another) {
  NodeWalk walk(host, is_another);
  walk.Descend(directory, 0);
  return std::move(walk.nodes);
}

void WatchAlso(host::Host& host, const std::string& directory, std::set<std::string>& directories) {
  if (auto real_path = host.TracePath(directory, directories)) directories.insert(*real_path);
}

bool IsPciAddress(std::string_view name) {
  return name.size() >= 12 && name.size() <= 16 &&
         IsHex(name.substr(0, name.size() - 8), name.size() - 8) && name[name.size() - 8] == ':' &&
         IsHex(name.substr(name.size() - 7, 2), 2) && name[name.size() - 5] == ':' &&
         IsHex(name.substr(name.size() - 4, 2), 2) && name[name.size() - 2] == '.' &&
         name.back() >= '0' && name.back() <= '7';
}

bool IsUsbPort(std::string_view name) {
  const size_t dash = name.find('-');
  if (dash == std::string_view::npos || !IsDigits(name.substr(0, dash))) return false;
  return std::ranges::all_of(base::Split(name.substr(dash + 1), '.'), IsDigits);
}

bool WildcardMatches(std::string_view pattern, std::string_view text) {
  // Greedy with one place to go back to: linear memory, at most pattern × text steps.
  size_t p = 0;
  size_t t = 0;
  std::optional<std::pair<size_t, size_t>> star;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = {++p, t};
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star) {
      p = star->first;
      t = ++star->second;
    } else {
      return false;
    }
  }
  return std::ranges::all_of(pattern.substr(p), [](char c) { return c == '*'; });
}

}  // namespace tenon::discovery
