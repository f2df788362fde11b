#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cdi/spec.h"
#include "host/host.h"

namespace tenon::cdi {

/// Where specs are looked for unless told otherwise. Source: SPEC.md, "CDI JSON Specification".
inline constexpr const char* kDirectories[] = {"/etc/cdi", "/var/run/cdi"};

/// What a container gets of the devices `names`, in their order: for the first device of each spec
/// also what the spec says for all of them.
///
/// Specs are the .json and .yaml files of `directories` on `machine`, read anew at each call, since
/// vendors write them as devices come and go. A later directory overrides an earlier one; two
/// files of one directory that have the same device contradict each other, and it cannot be used.
/// Hooks run as root, so a file that is not root's (or ours), or that others may write to, is not
/// read, nor is any in such a directory; a file with mistakes is not read either.
/// Errors: kInvalidArgument, a name is no qualified CDI name; kNotFound, no spec that was read has
/// it, with what was not read and why; kFailedPrecondition, two files have it.
Result<ContainerEdits> ResolveDevices(const std::vector<std::string>& names, host::Host& machine,
                                      const std::vector<std::string>& directories);

}  // namespace tenon::cdi
