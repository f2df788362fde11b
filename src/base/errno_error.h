#pragma once

#include <string_view>

#include "base/result.h"

namespace tenon::base {

/// The one funnel from errno: "open /dev/x: Permission denied", with the code that says what a
/// caller can do about it. `call` is the system call or what was attempted, `object` the path or
/// descriptor it was attempted on (may be empty).
Error ErrnoError(std::string_view call, std::string_view object, int os_errno);

/// The same with the present errno.
Error ErrnoError(std::string_view call, std::string_view object);

/// The system's text for an errno, "Permission denied".
std::string ErrnoText(int os_errno);

}  // namespace tenon::base
