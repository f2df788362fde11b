#include "wire/topology.h"

namespace tenon::wire {

void ReadTopology(Reader& in, std::vector<int64_t>& numa_nodes) {
  while (in.Next()) {
    if (in.number() != 1) continue;
    in.ReadMessage("NUMANode", [&](Reader& nested) {
      int64_t& id = numa_nodes.emplace_back(0);
      while (nested.Next())
        if (nested.number() == 1) nested.ReadInt64(id);
    });
  }
}

void PutTopology(std::string& out, FieldNumber field, const std::vector<int64_t>& numa_nodes) {
  std::string topology;
  for (int64_t numa_node : numa_nodes) {
    AddLength(topology, 1, IntFieldSize(numa_node));
    PutInt(topology, 1, numa_node);
  }
  PutText(out, field, topology);
}

}  // namespace tenon::wire
