#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace tenon::cli {

/// All of a file, or of standard input for "-". `max_mib`: 1 is what the control sockets take.
/// Errors: kInvalidArgument beyond it; else the system call and the path.
Result<std::string> ReadInput(const std::string& path, size_t max_mib = 1);

}  // namespace tenon::cli
