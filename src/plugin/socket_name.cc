#include "plugin/socket_name.h"

#include <dirent.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <memory>

#include "base/errno_error.h"
#include "base/strings.h"
#include "loop/unix_socket.h"

namespace tenon::plugin {
namespace {

constexpr std::string_view kTokenCharacters = "0123456789abcdefghijklmnopqrstuvwxyz";
constexpr size_t kTokenLength = 7;
constexpr std::string_view kSuffix = ".sock";

uint32_t Fnv1a(std::string_view text) {
  uint32_t hash = 2166136261U;
  for (unsigned char c : text)
    hash = (hash ^ c) * 16777619U;
  return hash;
}

std::string NamePrefix(const ResourceName& resource) {
  std::array<char, 9> hex{};
  std::snprintf(hex.data(), hex.size(), "%08x", Fnv1a(resource.text()));
  return std::string("tenon-") + hex.data() + "-";
}

/// Whether this is a socket and a connection to it is refused. One that would wait for a place in
/// the listener's queue counts as answered.
bool NobodyListens(const std::string& path) {
  struct stat now {};
  if (::lstat(path.c_str(), &now) != 0 || !S_ISSOCK(now.st_mode)) return false;
  auto connection = loop::ConnectUnix(path);
  return !connection && connection.error().os_errno() == ECONNREFUSED;
}

}  // namespace

Result<std::string> NewProcessToken() {
  uint64_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != static_cast<ssize_t>(sizeof random))
    return base::ErrnoError("getrandom", "");
  std::string token;
  for (size_t i = 0; i < kTokenLength; ++i, random /= kTokenCharacters.size())
    token += kTokenCharacters[random % kTokenCharacters.size()];
  return token;
}

std::string SocketName(const ResourceName& resource, std::string_view process_token) {
  return NamePrefix(resource) + std::string(process_token) + std::string(kSuffix);
}

namespace {

/// The paths of all sockets of a resource.
std::vector<std::string> SocketPaths(const std::string& directory, const ResourceName& resource) {
  std::vector<std::string> paths;
  std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(directory.c_str()), &::closedir);
  if (!entries) return paths;
  const std::string prefix = NamePrefix(resource);
  // One thread reads this stream.
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (name.starts_with(prefix) && name.ends_with(kSuffix))
      paths.push_back(base::JoinPath(directory, name));
  }
  return paths;
}

}  // namespace

std::vector<std::string> RemoveStaleSockets(const std::string& directory,
                                            const ResourceName& resource) {
  std::vector<std::string> removed;
  for (const std::string& path : SocketPaths(directory, resource))
    if (NobodyListens(path) && ::unlink(path.c_str()) == 0)
      removed.push_back(path.substr(path.rfind('/') + 1));
  return removed;
}

bool IsServed(const std::string& directory, const ResourceName& resource) {
  const std::vector<std::string> paths = SocketPaths(directory, resource);
  return std::any_of(paths.begin(), paths.end(),
                     [](const std::string& path) { return !NobodyListens(path); });
}

}  // namespace tenon::plugin
