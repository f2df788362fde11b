#pragma once

#include <string>

#include "base/result.h"

namespace tenon::cli {

/// All of a file, or of standard input for "-". Errors: kInvalidArgument beyond 1 MiB, what the
/// control sockets take at most; else the system call and the path.
Result<std::string> ReadInput(const std::string& path);

}  // namespace tenon::cli
