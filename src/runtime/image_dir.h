#pragma once

#include <string>

#include "base/result.h"

namespace tenon::runtime {

/// The root file system of an image: the directory `image` below `image_dir`, or `image` itself if
/// it is an absolute path. Names are those of image references, "busybox:1.36" or
/// "example.com/tools/probe"; they cannot lead out of `image_dir`.
/// Errors: kInvalidArgument for a name that is none, kNotFound naming the directory that is
/// missing.
Result<std::string> FindImage(const std::string& image_dir, const std::string& image);

}  // namespace tenon::runtime
