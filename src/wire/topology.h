#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wire/reader.h"
#include "wire/writer.h"

/// TopologyInfo, which v1beta1 and PodResources v1 have alike. In memory it is the plain list of
/// NUMA node ids.
namespace tenon::wire {

void ReadTopology(Reader& in, std::vector<int64_t>& numa_nodes);

/// Writes nothing when there are no NUMA nodes.
void PutTopology(std::string& out, FieldNumber field, const std::vector<int64_t>& numa_nodes);

}  // namespace tenon::wire
