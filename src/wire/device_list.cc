#include <algorithm>
#include <protozero/types.hpp>
#include <protozero/varint.hpp>

#include "wire/messages.h"
#include "wire/reader.h"
#include "wire/topology.h"
#include "wire/writer.h"

namespace tenon::wire {
namespace {

constexpr FieldNumber kDevices = 1;

std::string_view HealthText(const Device& device) {
  return device.healthy() ? api::kHealthy : api::kUnhealthy;
}

size_t TopologySize(const Device& device) {
  size_t size = 0;
  for (int numa_node : device.numa_nodes)
    size += BytesFieldSize(IntFieldSize(numa_node));
  return size;
}

size_t DeviceSize(const Device& device) {
  size_t size = BytesFieldSize(HealthText(device).size());
  if (!device.id.value.empty()) size += BytesFieldSize(device.id.value.size());
  if (!device.numa_nodes.empty()) size += BytesFieldSize(TopologySize(device));
  return size;
}

/// Writes into room that was measured before: one pass, no growing, no moving.
class Cursor {
 public:
  explicit Cursor(char* at) : at_(at) {}

  void AddLength(FieldNumber field, size_t size) {
    AddVarint(field << 3 | static_cast<uint32_t>(protozero::pbf_wire_type::length_delimited));
    AddVarint(size);
  }
  void PutText(FieldNumber field, std::string_view text) {
    if (text.empty()) return;
    AddLength(field, text.size());
    at_ = std::copy(text.begin(), text.end(), at_);
  }
  void PutInt(FieldNumber field, int64_t value) {
    if (value == 0) return;
    AddVarint(field << 3 | static_cast<uint32_t>(protozero::pbf_wire_type::varint));
    AddVarint(static_cast<uint64_t>(value));
  }

 private:
  void AddVarint(uint64_t value) { at_ += protozero::add_varint_to_buffer(at_, value); }
  char* at_;
};

void WriteDevice(Cursor& out, const Device& device) {
  out.PutText(1, device.id.value);
  out.PutText(2, HealthText(device));
  if (device.numa_nodes.empty()) return;
  out.AddLength(3, TopologySize(device));
  for (int numa_node : device.numa_nodes) {
    out.AddLength(1, IntFieldSize(numa_node));
    out.PutInt(1, numa_node);
  }
}

void ReadDevice(Reader& in, api::ListedDevice& device) {
  while (in.Next()) {
    switch (in.number()) {
      case 1:
        in.ReadText("ID", device.id);
        break;
      case 2:
        in.ReadText("health", device.health);
        break;
      case 3:
        in.ReadMessage("TopologyInfo", [&](Reader& nested) {
          device.has_topology = true;
          ReadTopology(nested, device.numa_nodes);
        });
        break;
      default:
        break;
    }
  }
}

void ReadDeviceList(Reader& in, std::vector<api::ListedDevice>& devices) {
  while (in.Next())
    if (in.number() == kDevices)
      in.ReadMessage("Device", [&](Reader& nested) { ReadDevice(nested, devices.emplace_back()); });
}

}  // namespace

std::string EncodeDeviceList(const std::vector<Device>& devices) {
  std::string out(DeviceListSize(devices), '\0');
  Cursor cursor(out.data());
  for (const Device& device : devices) {
    cursor.AddLength(kDevices, DeviceSize(device));
    WriteDevice(cursor, device);
  }
  return out;
}

size_t DeviceListSize(const std::vector<Device>& devices) {
  size_t size = 0;
  for (const Device& device : devices)
    size += BytesFieldSize(DeviceSize(device));
  return size;
}

Result<std::vector<api::ListedDevice>> DecodeDeviceList(std::string_view bytes) {
  return Decode(bytes, "ListAndWatchResponse", ReadDeviceList);
}

}  // namespace tenon::wire
