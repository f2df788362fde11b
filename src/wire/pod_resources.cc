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

void ReadAllocatable(Reader& in, std::vector<ContainerDevices>& devices) {
  while (in.Next()) {
    if (in.number() != 1) continue;
    in.ReadMessage("ContainerDevices",
                   [&](Reader& nested) { ReadDevices(nested, devices.emplace_back()); });
  }
}

void ReadPodName(Reader& in, PodName& pod) {
  while (in.Next()) {
    if (in.number() == 1) in.ReadText("pod_name", pod.name);
    if (in.number() == 2) in.ReadText("pod_namespace", pod.namespace_name);
  }
}

std::string EncodeDevices(const ContainerDevices& devices) {
  std::string out;
  PutText(out, 1, devices.resource_name);
  AddTexts(out, 2, devices.device_ids);
  PutTopology(out, 3, devices.numa_nodes);
  return out;
}

std::string EncodeContainer(const ContainerResources& container) {
  std::string out;
  PutText(out, 1, container.name);
  for (const ContainerDevices& devices : container.devices)
    AddBytes(out, 2, EncodeDevices(devices));
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

std::string EncodeGetPodResourcesRequest(const PodName& pod) {
  std::string out;
  PutText(out, 1, pod.name);
  PutText(out, 2, pod.namespace_name);
  return out;
}

Result<PodName> DecodeGetPodResourcesRequest(std::string_view bytes) {
  return Decode(bytes, "GetPodResourcesRequest", ReadPodName);
}

std::string EncodeAllocatableResources(const std::vector<ContainerDevices>& devices) {
  std::string out;
  for (const ContainerDevices& each : devices)
    AddBytes(out, 1, EncodeDevices(each));
  return out;
}

Result<std::vector<ContainerDevices>> DecodeAllocatableResources(std::string_view bytes) {
  return Decode(bytes, "AllocatableResourcesResponse", ReadAllocatable);
}

}  // namespace tenon::wire
