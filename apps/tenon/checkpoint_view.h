#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "device/allocation.h"
#include "value/value.h"

namespace tenon::cli {

/// A checkpoint as people look at it: its entries with the plugins' answers decoded, and what a
/// kubelet that starts from it would make of it.
struct CheckpointReport {
  struct Entry {
    std::string pod_uid;
    std::string container;
    std::string resource;
    std::vector<std::string> ids;                   ///< Sorted, each once.
    std::vector<std::string> places;                ///< "d0 (NUMA 0,1)", one for each id.
    std::optional<ContainerAllocation> allocation;  ///< nullopt: none, or bytes that are none.
  };
  struct Resource {
    std::string name;
    size_t healthy = 0;
    size_t held = 0;
    bool registered = false;
  };
  std::vector<Entry> entries;
  std::vector<Resource> resources;
  int64_t stored_checksum = 0;
  uint32_t computed_checksum = 0;
  std::vector<std::string> errors;  ///< Why a kubelet refuses it, or a part of it.
  std::vector<std::string> notes;   ///< What is legal and deserves a look.

  bool valid() const { return errors.empty(); }
};

CheckpointReport ExamineCheckpoint(const checkpoint::Inspection& file);

std::string RenderCheckpoint(const CheckpointReport& report);
Value ToValue(const CheckpointReport& report);

}  // namespace tenon::cli
