#include "wire/pod_resources.h"

#include "wire/reader.h"
#include "wire/topology.h"
#include "wire/writer.h"

namespace tenon::wire {
namespace {

void ReadDevices(Reader& in, ContainerDevices& devices) {
  while (in.Next()) {
    switch (in.number()) {
      case 1:
        in.ReadText("resource_name", devices.resource_name);
        break;
      case 2:
        in.AppendText("device_ids", devices.device_ids);
        break;
      case 3:
        in.ReadMessage("TopologyInfo",
                       [&](Reader& nested) { ReadTopology(nested, devices.numa_nodes); });
        break;
      default:
        break;
    }
  }
}

void ReadContainer(Reader& in, ContainerResources& container) {
  while (in.Next()) {
    if (in.number() == 1) in.ReadText("name", container.name);
    if (in.number() == 2) {
      in.ReadMessage("ContainerDevices", [&](Reader& nested) {
        ReadDevices(nested, container.devices.emplace_back());
      });
    }
  }
}

void ReadPod(Reader& in, PodResources& pod) {
  while (in.Next()) {
    if (in.number() == 1) in.ReadText("name", pod.name);
    if (in.number() == 2) in.ReadText("namespace", pod.namespace_name);
    if (in.number() == 3) {
      in.ReadMessage("ContainerResources",
                     [&](Reader& nested) { ReadContainer(nested, pod.containers.emplace_back()); });
    }
  }
}

void ReadPods(Reader& in, std::vector<PodResources>& pods) {
  while (in.Next())
    if (in.number() == 1)
      in.ReadMessage("PodResources", [&](Reader& nested) { ReadPod(nested, pods.emplace_back()); });
}

std::string EncodeContainer(const ContainerResources& container) {
  std::string out;
  PutText(out, 1, container.name);
  for (const ContainerDevices& devices : container.devices) {
    std::string nested;
    PutText(nested, 1, devices.resource_name);
    AddTexts(nested, 2, devices.device_ids);
    PutTopology(nested, 3, devices.numa_nodes);
    AddBytes(out, 2, nested);
  }
  return out;
}

}  // namespace

std::string EncodePodResources(const std::vector<PodResources>& pods) {
  std::string out;
  for (const PodResources& pod : pods) {
    std::string nested;
    PutText(nested, 1, pod.name);
    PutText(nested, 2, pod.namespace_name);
    for (const ContainerResources& container : pod.containers)
      AddBytes(nested, 3, EncodeContainer(container));
    AddBytes(out, 1, nested);
  }
  return out;
}

Result<std::vector<PodResources>> DecodePodResources(std::string_view bytes) {
  return Decode(bytes, "ListPodResourcesResponse", ReadPods);
}

}  // namespace tenon::wire
