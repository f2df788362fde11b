#include "cdi/spec_files.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>

#include "base/errno_error.h"
#include "base/strings.h"
#include "host/atomic_file.h"
#include "host/host.h"

namespace tenon::cdi {
namespace {

constexpr std::string_view kPrefix = "tenon-";
constexpr std::string_view kSuffix = ".json";
constexpr size_t kMaxBytes = size_t{64} << 20;

/// A vendor, being a DNS name, has no "_": the first one ends it.
std::string FileName(std::string kind) {
  std::replace(kind.begin(), kind.end(), '/', '_');
  return std::string(kPrefix) + kind + std::string(kSuffix);
}

std::vector<std::string> NamesIn(const std::string& directory) {
  std::vector<std::string> names;
  std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(directory.c_str()), &::closedir);
  if (!entries) return names;
  // One thread reads this stream.
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  while (const dirent* entry = ::readdir(entries.get()))
    names.emplace_back(entry->d_name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::string SpecFiles::PathOf(const std::string& kind) const {
  return base::JoinPath(directory_, FileName(kind));
}

std::optional<SpecFiles::Identity> SpecFiles::Look(const std::string& path) {
  struct stat file {};
  if (::lstat(path.c_str(), &file) != 0) return std::nullopt;
  return Identity{file.st_dev, file.st_ino,
                  file.st_mtim.tv_sec * int64_t{1'000'000'000} + file.st_mtim.tv_nsec};
}

std::vector<std::string> SpecFiles::Kinds() const {
  std::vector<std::string> kinds;
  for (const std::string& name : NamesIn(directory_)) {
    if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) continue;
    if (name.size() <= kPrefix.size() + kSuffix.size()) continue;
    std::string kind = name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
    const size_t end_of_vendor = kind.find('_');
    if (end_of_vendor == std::string::npos) continue;
    kind[end_of_vendor] = '/';
    // Somebody else's file may have such a name; what is in it decides.
    if (Read(kind)) kinds.push_back(std::move(kind));
  }
  return kinds;
}

Result<Spec> SpecFiles::Read(const std::string& kind) const {
  const std::string path = PathOf(kind);
  TENON_TRY(const auto machine, host::PosixHost::Open("/"));
  TENON_TRY(const std::string text, machine->Read(path, kMaxBytes));
  TENON_TRY(Spec spec, ParseSpec(text, path));
  if (spec.kind != kind)
    return Error(Code::kFailedPrecondition, path + " is of kind " + base::EscapeForLine(spec.kind));
  return spec;
}

Result<void> SpecFiles::Put(const Spec& spec) {
  if (spec.devices.empty()) return Remove(spec.kind);
  const std::string path = PathOf(spec.kind);
  auto last = written_.find(spec.kind);
  if (last != written_.end() && last->second.spec == spec && Look(path) == last->second.identity)
    return {};
  if (last == written_.end()) RemoveTemporary(spec.kind);
  // Runtimes, and `tenon kubelet`, read no file that others might have written.
  if (::mkdir(directory_.c_str(), 0755) != 0 && errno != EEXIST)
    return base::ErrnoError("make directory", directory_);
  written_.erase(spec.kind);
  TENON_TRY_VOID(host::WriteFileAtomically(path, FormatSpec(spec), 0644));
  if (auto identity = Look(path)) written_[spec.kind] = {spec, *identity};
  return {};
}

Result<void> SpecFiles::Remove(const std::string& kind) {
  written_.erase(kind);
  RemoveTemporary(kind);
  const std::string path = PathOf(kind);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT && errno != ENOTDIR)
    return base::ErrnoError("remove", path);
  return {};
}

void SpecFiles::RemoveTemporary(const std::string& kind) const {
  // As WriteFileAtomically() calls them.
  const std::string prefix = "." + FileName(kind) + ".";
  for (const std::string& name : NamesIn(directory_))
    if (name.starts_with(prefix)) ::unlink(base::JoinPath(directory_, name).c_str());
}

}  // namespace tenon::cdi
