#pragma once

/// TENON_CHECK(condition): aborts with the place and the condition when it does not hold.
/// Always on. For bugs of our own only, never for input.
#define TENON_CHECK(condition)           \
  (static_cast<bool>(condition) ? void() \
                                : ::tenon::base::CheckFailed(__FILE__, __LINE__, #condition))

namespace tenon::base {
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);
}  // namespace tenon::base
