#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"

/// Which files a configuration stands in. docs/config.md tells its users.
namespace tenon::config {

/// In one directory.
inline constexpr size_t kMaxFiles = 256;

/// The files that a path of the command line stands for, in their order: itself, or those in a
/// directory whose names end in .yaml, .yml or .json, in byte order. Hidden ones do not count,
/// among them what a ConfigMap's files lead to, and neither do directories below. A path that does
/// not exist stands for itself. Errors: kNotFound for a directory without such files, naming it;
/// kInvalidArgument for one with too many; what the system says.
Result<std::vector<std::string>> FilesAt(const std::string& path);

/// All of a regular file, or of a symlink to one. Errors name the path.
Result<std::string> ReadFile(const std::string& path);

}  // namespace tenon::config
