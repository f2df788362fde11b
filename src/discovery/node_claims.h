#pragma once

#include <map>
#include <string>
#include <utility>

#include "discovery/source.h"

namespace tenon::discovery {

/// Sees to it that no device node is offered twice: whoever claims it first has it.
class NodeClaims final {
 public:
  /// Claims the device nodes of `device` for it. If another device has one of them already,
  /// `device` becomes unhealthy and says of which resource that is. Device nodes that are declared
  /// shared, and mounts, belong to nobody; an unhealthy device claims nothing.
  void Claim(const std::string& resource, FoundDevice& device);

 private:
  /// By number: a device node is the same under whatever name.
  std::map<std::string, std::pair<std::string, std::string>> owners_;
};

}  // namespace tenon::discovery
