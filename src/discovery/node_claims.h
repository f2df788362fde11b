#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "discovery/source.h"

namespace tenon::discovery {

/// Sees to it that no device node is offered twice: whoever claims it first has it.
class NodeClaims final {
 public:
  /// Claims the device nodes of `device` for it. If another device has one of them already,
  /// `device` becomes an unhealthy one that says of which resource that is. Device nodes that are
  /// declared shared, and mounts, belong to nobody; an unhealthy device claims nothing.
  /// Requires: `resource` and the device live as long as this.
  void Claim(const std::string& resource, FoundDevicePtr& device);

 private:
  struct Owner {
    std::string_view resource;
    std::string_view device;
    bool operator==(const Owner&) const = default;
  };

  /// By kind and number: a device node is the same under whatever name.
  std::unordered_map<uint64_t, Owner> owners_;
};

}  // namespace tenon::discovery
