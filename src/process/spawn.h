#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "base/unique_fd.h"
#include "process/child.h"

namespace tenon::process {

/// A program that runs, and our ends of its pipes, which do not block. Those of output that goes
/// to a file are not there.
struct Spawned {
  pid_t pid = -1;  ///< Also the number of its process group.
  base::UniqueFd pidfd;
  base::UniqueFd input, output, errors;
};

/// Starts argv[0]. Waits until the kernel has read the program, so that what exec says is known.
/// Errors: kInvalidArgument for a relative path or a zero byte; else what exec said.
Result<Spawned> Spawn(const ChildOptions& options);

}  // namespace tenon::process
