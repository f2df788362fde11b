#pragma once

#include <set>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace tenon::host {

struct WalkedFile {
  base::UniqueFd fd;
  std::string real_path;  ///< Without symlinks, "." or "..", as seen from the root.
};

/// Resolves `path` below `root_fd` piece by piece, as openat2(RESOLVE_IN_ROOT) does in the kernel.
///
/// No piece is ever opened with its symlink followed and ".." only goes back to a directory that
/// is already open, so a rename during the walk cannot lead out of the root. At most 40 symlinks,
/// as in the kernel. `flags` are for the last piece; with O_NOFOLLOW its symlink stays.
/// Adds the real path of each directory that a name was looked up in to `directories`, if given.
/// Requires: `path` is absolute. Returns: an errno as the error's os_errno().
Result<WalkedFile> WalkInRoot(int root_fd, const std::string& path, int flags,
                              std::set<std::string>* directories = nullptr);

}  // namespace tenon::host
