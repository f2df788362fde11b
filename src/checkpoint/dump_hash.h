#pragma once

#include <cstdint>
#include <string_view>

#include "checkpoint/checkpoint.h"

namespace tenon::checkpoint {

/// FNV-1a of what is added, in the notation of go-spew's %#v. The text is never held as a whole:
/// it is several times the size of the file.
class DumpHash final {
 public:
  DumpHash() = default;
  /// Goes on where another one was.
  explicit DumpHash(uint32_t value) : hash_(value) {}

  void Add(std::string_view text) {
    for (char c : text)
      AddCharacter(static_cast<unsigned char>(c));
  }
  void AddNumber(int64_t number);
  void AddIds(const Ids& ids);
  void AddEntry(const Entry& entry);

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
  void AddBytes(const std::string& bytes);
  void AddCharacter(unsigned char c) { hash_ = (hash_ ^ c) * 0x01000193U; }

  uint32_t hash_ = 0x811C9DC5;
};

/// What stands before the list of entries, between it and the resources, and for no list.
inline constexpr std::string_view kDumpOfEntries =
    "(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)";
inline constexpr std::string_view kDumpOfResources = " RegisteredDevices:(map[string][]string)";
inline constexpr std::string_view kDumpOfNull = "<nil>";

}  // namespace tenon::checkpoint
