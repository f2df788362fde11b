#include "wire/messages.h"
#include "wire/reader.h"
#include "wire/writer.h"

namespace tenon::wire {
namespace {

constexpr FieldNumber kContainerResponses = 1;

void ReadMapEntry(Reader& in, std::string_view field, std::map<std::string, std::string>& map) {
  in.ReadMessage(field, [&](Reader& nested) {
    std::string key;
    std::string value;
    while (nested.Next()) {
      if (nested.number() == 1) nested.ReadText("key", key);
      if (nested.number() == 2) nested.ReadText("value", value);
    }
    map.insert_or_assign(std::move(key), std::move(value));
  });
}

void ReadMount(Reader& in, Mount& mount) {
  while (in.Next()) {
    if (in.number() == 1) in.ReadText("container_path", mount.container_path);
    if (in.number() == 2) in.ReadText("host_path", mount.host_path);
    if (in.number() == 3) in.ReadBool(mount.read_only);
  }
}

void ReadDeviceSpec(Reader& in, DeviceNode& device_node) {
  while (in.Next()) {
    if (in.number() == 1) in.ReadText("container_path", device_node.container_path);
    if (in.number() == 2) in.ReadText("host_path", device_node.host_path);
    if (in.number() == 3) in.ReadText("permissions", device_node.permissions);
  }
}

void ReadCdiDevice(Reader& in, std::string& name) {
  while (in.Next())
    if (in.number() == 1) in.ReadText("name", name);
}

void ReadContainerAllocation(Reader& in, ContainerAllocation& allocation) {
  while (in.Next()) {
    switch (in.number()) {
      case 1:
        ReadMapEntry(in, "ContainerAllocateResponse.envs", allocation.env);
        break;
      case 2:
        in.ReadMessage(
            "Mount", [&](Reader& nested) { ReadMount(nested, allocation.mounts.emplace_back()); });
        break;
      case 3:
        in.ReadMessage("DeviceSpec", [&](Reader& nested) {
          ReadDeviceSpec(nested, allocation.device_nodes.emplace_back());
        });
        break;
      case 4:
        ReadMapEntry(in, "ContainerAllocateResponse.annotations", allocation.annotations);
        break;
      case 5:
        in.ReadMessage("CDIDevice", [&](Reader& nested) {
          ReadCdiDevice(nested, allocation.cdi_devices.emplace_back());
        });
        break;
      default:
        break;
    }
  }
}

void ReadAllocateResponse(Reader& in, std::vector<std::string>& containers) {
  while (in.Next()) {
    if (in.number() != kContainerResponses) continue;
    in.ReadMessage("ContainerAllocateResponse", [&](Reader& nested) {
      ContainerAllocation checked;
      ReadContainerAllocation(nested, checked);
    });
    if (auto bytes = in.Bytes()) containers.emplace_back(*bytes);
  }
}

}  // namespace

std::string EncodeContainerAllocation(const ContainerAllocation& allocation) {
  std::string out;
  AddMap(out, 1, allocation.env);
  for (const Mount& mount : allocation.mounts) {
    std::string nested;
    PutText(nested, 1, mount.container_path);
    PutText(nested, 2, mount.host_path);
    PutBool(nested, 3, mount.read_only);
    AddBytes(out, 2, nested);
  }
  for (const DeviceNode& device_node : allocation.device_nodes) {
    std::string nested;
    PutText(nested, 1, device_node.container_path);
    PutText(nested, 2, device_node.host_path);
    PutText(nested, 3, device_node.permissions);
    AddBytes(out, 3, nested);
  }
  AddMap(out, 4, allocation.annotations);
  for (const std::string& name : allocation.cdi_devices) {
    std::string nested;
    PutText(nested, 1, name);
    AddBytes(out, 5, nested);
  }
  return out;
}

Result<ContainerAllocation> DecodeContainerAllocation(std::string_view bytes) {
  return Decode(bytes, "ContainerAllocateResponse", ReadContainerAllocation);
}

std::string EncodeAllocateResponse(const std::vector<ContainerAllocation>& containers) {
  std::string out;
  for (const ContainerAllocation& container : containers)
    AddBytes(out, kContainerResponses, EncodeContainerAllocation(container));
  return out;
}

Result<std::vector<std::string>> SplitAllocateResponse(std::string_view bytes) {
  return Decode(bytes, "AllocateResponse", ReadAllocateResponse);
}

}  // namespace tenon::wire
