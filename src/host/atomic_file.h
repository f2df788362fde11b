#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/result.h"

namespace tenon::host {

/// Replaces `path` so that at any moment, also after kill -9 or a power cut, it holds either the
/// old or the new content: a temporary file ".NAME.XXXXXX" beside it, written, fsynced, renamed;
/// then the directory is fsynced, so that on return the new content is durable. On any error the
/// temporary file is removed and the old content stays, except that a directory that cannot be
/// fsynced already has the new one. Thread: any; blocks.
/// Errors: the system call and the path that failed.
Result<void> WriteFileAtomically(const std::string& path, std::string_view content, mode_t mode);

}  // namespace tenon::host
