#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/glob.h"
#include "discovery/trust.h"
#include "host/host.h"

namespace tenon::discovery {

/// What a walk along a glob came across.
struct GlobMatches {
  std::vector<std::string> paths;     ///< In natural order; that something is there is not said.
  std::set<std::string> directories;  ///< Real paths of all that were passed or listed.
  std::set<std::string> listed;       ///< Those of them that were listed.
  std::map<std::string, std::string> unreadable;  ///< Directories and why they were not listed.
};

/// The paths that `glob` stands for. A directory that is missing has no match; one that cannot be
/// listed, or that lies outside of what `trust` covers (a symlink may lead anywhere), is told.
GlobMatches WalkGlob(host::Host& host, const base::Glob& glob, const Trust& trust);

}  // namespace tenon::discovery
