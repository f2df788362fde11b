#include <charconv>

#include "checkpoint/checkpoint.h"

namespace tenon::checkpoint {
namespace {

/// FNV-1a of what is added, in the notation of go-spew's %#v. The text is never held as a whole:
/// it is several times the size of the file.
class DumpHash {
 public:
  void Add(std::string_view text) {
    for (char c : text)
      AddCharacter(static_cast<unsigned char>(c));
  }

  void AddNumber(int64_t number) {
    char digits[20];  // NOLINT(modernize-avoid-c-arrays): std::to_chars fills it.
    auto [end, error] = std::to_chars(std::begin(digits), std::end(digits), number);
    Add({std::begin(digits), end});
  }

  /// A byte as a number; checkpoints are mostly these.
  void AddByte(unsigned char byte) {
    if (byte >= 100) AddCharacter(static_cast<unsigned char>('0' + byte / 100));
    if (byte >= 10) AddCharacter(static_cast<unsigned char>('0' + byte / 10 % 10));
    AddCharacter(static_cast<unsigned char>('0' + byte % 10));
  }

  /// "[a b]" with `open` and `close` around whatever `add` adds for each item.
  template <class Items, class AddItem>
  void AddAll(std::string_view open, const Items& items, AddItem add) {
    Add(open);
    std::string_view separator;
    for (const auto& item : items) {
      Add(separator);
      separator = " ";
      add(item);
    }
    Add("]");
  }

  uint32_t value() const { return hash_; }

 private:
  void AddCharacter(unsigned char c) { hash_ = (hash_ ^ c) * 0x01000193U; }

  uint32_t hash_ = 0x811C9DC5;
};

constexpr std::string_view kNil = "<nil>";

void AddIds(DumpHash& hash, const Ids& ids) {
  if (!ids) return hash.Add(kNil);
  hash.AddAll("[", *ids, [&](const std::string& id) { hash.Add(id); });
}

void AddBytes(DumpHash& hash, const std::optional<std::string>& bytes) {
  if (!bytes) return hash.Add(kNil);
  hash.AddAll("[", *bytes, [&](char c) { hash.AddByte(static_cast<unsigned char>(c)); });
}

void AddEntry(DumpHash& hash, const Entry& entry) {
  hash.Add("{PodUID:(string)");
  hash.Add(entry.pod_uid);
  hash.Add(" ContainerName:(string)");
  hash.Add(entry.container_name);
  hash.Add(" ResourceName:(string)");
  hash.Add(entry.resource_name);
  hash.Add(" DeviceIDs:(checkpoint.DevicesPerNUMA)");
  if (entry.device_ids) {
    hash.AddAll("map[", *entry.device_ids, [&](const auto& numa_node) {
      hash.AddNumber(numa_node.first);
      hash.Add(":");
      AddIds(hash, numa_node.second);
    });
  } else {
    hash.Add(kNil);
  }
  hash.Add(" AllocResp:([]uint8)");
  AddBytes(hash, entry.alloc_resp);
  hash.Add("}");
}

}  // namespace

uint32_t Checksum(const Checkpoint& checkpoint) {
  DumpHash hash;
  hash.Add("(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)");
  if (checkpoint.entries) {
    hash.AddAll("[", *checkpoint.entries, [&](const Entry& entry) { AddEntry(hash, entry); });
  } else {
    hash.Add(kNil);
  }
  hash.Add(" RegisteredDevices:(map[string][]string)");
  if (checkpoint.registered_devices) {
    hash.AddAll("map[", *checkpoint.registered_devices, [&](const auto& resource) {
      hash.Add(resource.first);
      hash.Add(":");
      AddIds(hash, resource.second);
    });
  } else {
    hash.Add(kNil);
  }
  hash.Add("}");
  return hash.value();
}

}  // namespace tenon::checkpoint
