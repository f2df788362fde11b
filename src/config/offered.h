#pragma once

#include <map>
#include <string>

#include "config/strict_mapping.h"
#include "device/resource_name.h"

namespace tenon::config {

/// What the files read so far offer, and so no other rule may: it holds across files.
struct Offered {
  struct Path {
    Place place;
    bool shared = false;
  };
  std::map<ResourceName, Place> names;
  std::map<std::string, Path> paths;  ///< Literal ones.
};

}  // namespace tenon::config
