#include "discovery/glob_walk.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/errno_error.h"
#include "base/result.h"
#include "base/strings.h"

namespace tenon::discovery {
namespace {

class Walk {
 public:
  Walk(host::Host& host, const base::Glob& glob, const Trust& trust)
      : host_(host), components_(glob.components()), trust_(trust) {}

  void Descend(const std::string& directory, size_t depth);
  GlobMatches TakeMatches() { return std::move(matches_); }

 private:
  Result<std::vector<std::string>> List(const std::string& directory);

  host::Host& host_;
  const std::vector<base::GlobComponent>& components_;
  const Trust& trust_;
  GlobMatches matches_;
};

Result<std::vector<std::string>> Walk::List(const std::string& directory) {
  TENON_TRY(std::string real_path, host_.TracePath(directory, matches_.directories));
  if (!trust_.Covers(real_path)) {
    return Error(Code::kPermissionDenied,
                 "leads to " + real_path + ", outside of what rules may reach");
  }
  TENON_TRY(host::FileStat file, host_.StatLink(real_path));
  if (file.kind != host::FileKind::kDirectory) return base::ErrnoError("list", directory, ENOTDIR);
  matches_.directories.insert(real_path);
  matches_.listed.insert(real_path);
  return host_.List(real_path);
}

void Walk::Descend(const std::string& directory, size_t depth) {
  // A literal component needs no listing: whether it is there is seen further down.
  std::string path = directory;
  while (depth < components_.size() && components_[depth].is_literal())
    path = base::JoinPath(path, components_[depth++].LiteralName());
  if (depth == components_.size()) {
    matches_.paths.push_back(std::move(path));
    return;
  }
  auto names = List(path);
  if (!names) {
    int os_errno = names.error().os_errno();
    if (os_errno != ENOENT && os_errno != ENOTDIR)
      matches_.unreadable.emplace(path, names.error().message());
    return;
  }
  for (const std::string& name : *names)
    if (components_[depth].Matches(name)) Descend(base::JoinPath(path, name), depth + 1);
}

}  // namespace

GlobMatches WalkGlob(host::Host& host, const base::Glob& glob, const Trust& trust) {
  Walk walk(host, glob, trust);
  walk.Descend("/", 0);
  GlobMatches matches = walk.TakeMatches();
  std::ranges::sort(matches.paths, base::NaturalLess);
  return matches;
}

}  // namespace tenon::discovery
