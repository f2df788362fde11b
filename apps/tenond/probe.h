#pragma once

#include <string>

#include "base/clock.h"

namespace tenon::tenond {

/// Asks the daemon behind the control socket for `path` ("/healthz", "/readyz") and prints one
/// line. Returns: the exit status, 0 when it says that all is well.
int Probe(const base::Clock& clock, const std::string& control, const std::string& path);

}  // namespace tenon::tenond
