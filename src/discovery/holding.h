#pragma once

#include <set>
#include <string>
#include <vector>

#include "discovery/source.h"

namespace tenon::discovery {

/// Devices that one container holds, by the kubelet's books or because we just gave them to it.
struct Holding {
  std::string resource;
  std::set<std::string> ids;      ///< Of devices, not of replicas.
  std::set<std::string> numbers;  ///< Of the device nodes that it was given, "c 188:0".
  std::string holder;             ///< For a person: "pod default/x", or whatever is known.
  bool operator==(const Holding&) const = default;
};

/// Makes `device` unhealthy if a container has one of its device nodes under another id: the
/// kubelet, which counts ids, would give it away a second time. Returns: whether it did.
bool MarkIfHeldOtherwise(const std::string& resource, const std::vector<Holding>& holdings,
                         FoundDevice& device);

/// The devices of a resource that containers hold and that are not among `found`, as
/// unhealthy ones; but not those whose device nodes are found under another id.
std::vector<FoundDevice> VanishedWhileHeld(const std::string& resource,
                                           const std::vector<Holding>& holdings,
                                           const std::vector<FoundDevice>& found);

}  // namespace tenon::discovery
