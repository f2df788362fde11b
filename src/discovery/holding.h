#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "discovery/source.h"

namespace tenon::discovery {

/// Devices that one container holds, by the kubelet's books or because we just gave them to it.
struct Holding {
  std::string resource;
  std::set<std::string> ids;  ///< Of devices, not of replicas.
  /// Of the device nodes that it was given, "c 188:0"; of one that was not there when the books
  /// were read, its path, as the number comes with it again.
  std::set<std::string> numbers;
  std::string holder;  ///< For a person: "pod default/x", or whatever is known.
  bool operator==(const Holding&) const = default;
};

/// Who holds what, and what that means for what is offered. Thread: loop only.
class Holdings final {
 public:
  /// Returns: whether they are others than before.
  bool Set(std::vector<Holding> all);
  /// Replaces what is known of the same devices.
  void Add(Holding holding);

  /// Says who has this device node under another id than this one; empty: nobody.
  std::string WhoHoldsOtherwise(const std::string& resource, std::string_view id,
                                const std::string& number, const std::string& real_path) const;
  /// Makes `device` an unhealthy one if a container has one of its device nodes under another id:
  /// the kubelet, which counts ids, would give it away a second time. Returns: whether it did.
  bool MarkIfHeldOtherwise(const std::string& resource, FoundDevicePtr& device) const;

  /// The devices of a resource that containers hold and that are not among `found`, as unhealthy
  /// ones; but not those whose device nodes are found under another id. Requires: `found` is
  /// sorted by id.
  Snapshot VanishedWhileHeld(const std::string& resource, const Snapshot& found) const;

 private:
  void Index();

  std::vector<Holding> all_;
  /// For each number, or path, of a device node those of all_ that have it.
  std::unordered_map<std::string, std::vector<size_t>> by_number_;
};

/// The device with this id, or null. Requires: `sorted` is sorted by id.
const FoundDevice* FindById(const Snapshot& sorted, std::string_view id);

}  // namespace tenon::discovery
