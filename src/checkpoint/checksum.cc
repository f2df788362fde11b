#include <charconv>

#include "checkpoint/dump_hash.h"

namespace tenon::checkpoint {

void DumpHash::AddNumber(int64_t number) {
  char digits[20];  // NOLINT(modernize-avoid-c-arrays): std::to_chars fills it.
  auto [end, error] = std::to_chars(std::begin(digits), std::end(digits), number);
  Add({std::begin(digits), end});
}

void DumpHash::AddIds(const Ids& ids) {
  if (!ids) return Add(kDumpOfNull);
  AddAll("[", *ids, [&](const std::string& id) { Add(id); });
}

/// Each byte as a number: most of what is hashed is this.
void DumpHash::AddBytes(const std::string& bytes) {
  AddAll("[", bytes, [&](char c) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 100) AddCharacter(static_cast<unsigned char>('0' + byte / 100));
    if (byte >= 10) AddCharacter(static_cast<unsigned char>('0' + byte / 10 % 10));
    AddCharacter(static_cast<unsigned char>('0' + byte % 10));
  });
}

void DumpHash::AddEntry(const Entry& entry) {
  Add("{PodUID:(string)");
  Add(entry.pod_uid);
  Add(" ContainerName:(string)");
  Add(entry.container_name);
  Add(" ResourceName:(string)");
  Add(entry.resource_name);
  Add(" DeviceIDs:(checkpoint.DevicesPerNUMA)");
  if (entry.device_ids) {
    AddAll("map[", *entry.device_ids, [&](const auto& numa_node) {
      AddNumber(numa_node.first);
      Add(":");
      AddIds(numa_node.second);
    });
  } else {
    Add(kDumpOfNull);
  }
  Add(" AllocResp:([]uint8)");
  if (entry.alloc_resp) {
    AddBytes(*entry.alloc_resp);
  } else {
    Add(kDumpOfNull);
  }
  Add("}");
}

uint32_t Checksum(const Checkpoint& checkpoint) {
  DumpHash hash;
  hash.Add(kDumpOfEntries);
  if (checkpoint.entries) {
    hash.AddAll("[", *checkpoint.entries, [&](const Entry& entry) { hash.AddEntry(entry); });
  } else {
    hash.Add(kDumpOfNull);
  }
  hash.Add(kDumpOfResources);
  if (checkpoint.registered_devices) {
    hash.AddAll("map[", *checkpoint.registered_devices, [&](const auto& resource) {
      hash.Add(resource.first);
      hash.Add(":");
      hash.AddIds(resource.second);
    });
  } else {
    hash.Add(kDumpOfNull);
  }
  hash.Add("}");
  return hash.value();
}

}  // namespace tenon::checkpoint
