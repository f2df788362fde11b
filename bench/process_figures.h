#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/clock.h"

namespace tenon::bench {

/// What /proc tells of a process, all its threads together. A process that is gone has zeros.

int64_t ResidentKiB(pid_t pid);
int64_t ThreadCount(pid_t pid);
/// How often its threads were put on a processor: what an idle process costs in wake-ups.
int64_t ContextSwitches(pid_t pid);
base::Duration CpuTime(pid_t pid);
/// The files of the libraries that it has mapped.
int64_t LibraryBytes(pid_t pid);

}  // namespace tenon::bench
