#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.h"

namespace tenon::checkpoint {

/// A checkpoint that is written again and again while little of it changes.
///
/// Each entry is encoded once, when it comes, and the checksum goes on from the last entry that has
/// not changed: one more entry costs itself, however many there are. The entries stand in the
/// order in which they came, so those that go cost the hash of those behind them. What is hashed
/// at each Encode() is the resources, which the dump has after the entries.
///
/// Encode() equals checkpoint::Encode() of the same content. Thread: one at a time.
class KeptText final {
 public:
  /// Names an entry; never used twice.
  using Number = uint64_t;

  Number Add(Entry entry);
  /// Requires: `number` is there.
  void Remove(Number number);

  void SetRegistered(const std::string& resource, std::vector<std::string> ids);
  void RemoveRegistered(const std::string& resource);

  /// The file's text. No entry is written as null, no resource as an empty mapping, as a kubelet
  /// does.
  std::string Encode();

 private:
  struct KeptEntry {
    Entry entry;
    std::string json;
    uint32_t hash = 0;  ///< Of the dump up to here and with this entry.
  };
  struct Resource {
    Ids ids;
    std::string json;
  };

  uint32_t HashEntries();
  uint32_t HashResources(uint32_t entries_hash) const;

  std::map<Number, KeptEntry> entries_;
  std::map<std::string, Resource> resources_;
  Number last_ = 0;
  Number hashed_ = 0;  ///< Entries up to this one have their hash.
  size_t json_bytes_ = 0;
};

}  // namespace tenon::checkpoint
