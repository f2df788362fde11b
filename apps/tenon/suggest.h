#pragma once

#include <string>

#include "tenon/look_once.h"

namespace tenon::cli {

/// A configuration for the devices of a machine, as YAML with comments: every rule in it is valid
/// and was tried, so it finds what the comment above it says, and no device node is in two of them.
/// Returns: an empty text if there is no device that it knows a rule for.
std::string SuggestConfig(const Machine& machine);

}  // namespace tenon::cli
