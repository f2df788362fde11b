#include "checkpoint/kept_text.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "checkpoint/dump_hash.h"

namespace tenon::checkpoint {

KeptText::Number KeptText::Add(Entry entry) {
  std::string json = EncodeEntry(entry);
  json_bytes_ += json.size() + 1;
  entries_.emplace_hint(entries_.end(), ++last_,
                        KeptEntry{.entry = std::move(entry), .json = std::move(json)});
  return last_;
}

void KeptText::Remove(Number number) {
  auto at = entries_.find(number);
  TENON_CHECK(at != entries_.end());
  json_bytes_ -= at->second.json.size() + 1;
  const Number before = at == entries_.begin() ? 0 : std::prev(at)->first;
  hashed_ = std::min(hashed_, before);
  entries_.erase(at);
}

void KeptText::SetRegistered(const std::string& resource, std::vector<std::string> ids) {
  RemoveRegistered(resource);
  Ids kept(std::move(ids));
  std::string json = EncodeRegistered(resource, kept);
  json_bytes_ += json.size() + 1;
  resources_[resource] = {.ids = std::move(kept), .json = std::move(json)};
}

void KeptText::RemoveRegistered(const std::string& resource) {
  auto at = resources_.find(resource);
  if (at == resources_.end()) return;
  json_bytes_ -= at->second.json.size() + 1;
  resources_.erase(at);
}

std::string KeptText::Encode() {
  const uint32_t checksum = HashResources(HashEntries());
  constexpr size_t kFrame = 128;  // All that is neither an entry nor a resource.
  std::string out;
  out.reserve(json_bytes_ + kFrame);
  const auto append_all = [&out](const auto& pieces) {
    std::string_view separator;
    for (const auto& [key, piece] : pieces) {
      out.append(separator).append(piece.json);
      separator = ",";
    }
  };
  out.append("{\"Data\":{\"PodDeviceEntries\":");
  if (entries_.empty()) {
    out.append("null");
  } else {
    out.push_back('[');
    append_all(entries_);
    out.push_back(']');
  }
  out.append(",\"RegisteredDevices\":{");
  append_all(resources_);
  return out.append("}},\"Checksum\":").append(std::to_string(checksum)).append("}");
}

uint32_t KeptText::HashEntries() {
  DumpHash hash;
  hash.Add(kDumpOfEntries);
  if (entries_.empty()) {
    hash.Add(kDumpOfNull);
    return hash.value();
  }
  auto next = entries_.upper_bound(hashed_);
  if (next == entries_.begin()) {
    hash.Add("[");
  } else {
    hash = DumpHash(std::prev(next)->second.hash);
  }
  for (; next != entries_.end(); ++next) {
    if (next != entries_.begin()) hash.Add(" ");
    hash.AddEntry(next->second.entry);
    next->second.hash = hash.value();
    hashed_ = next->first;
  }
  hash.Add("]");
  return hash.value();
}

uint32_t KeptText::HashResources(uint32_t entries_hash) const {
  DumpHash hash(entries_hash);
  hash.Add(kDumpOfResources);
  hash.AddAll("map[", resources_, [&](const auto& resource) {
    hash.Add(resource.first);
    hash.Add(":");
    hash.AddIds(resource.second.ids);
  });
  hash.Add("}");
  return hash.value();
}

}  // namespace tenon::checkpoint
