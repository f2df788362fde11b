#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "checkpoint/checkpoint.h"
#include "value/value.h"

namespace tenon::checkpoint {
namespace {

/// Some hundred thousand devices; far above what any kube node holds.
constexpr ParseLimits kLimits = {.bytes = size_t{64} << 20, .depth = 16, .values = 4'000'000};

void AppendUnicodeEscape(std::string& out, unsigned value) {
  fmt::format_to(std::back_inserter(out), "\\u{:04x}", value);
}

/// Whether Go's encoding/json writes this character as it is. Others than ASCII do not count.
bool IsPlain(char c) {
  auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x80 &&
         std::string_view("\"\\<>&").find(c) == std::string_view::npos;
}

/// An ASCII character that is not plain. Go has \b and \f since 1.22.
void AppendEscaped(std::string& out, char c) {
  constexpr std::string_view kShort = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetters = "\"\\bfnrt";
  if (size_t at = kShort.find(c); at != std::string_view::npos) {
    out.push_back('\\');
    out.push_back(kLetters[at]);
  } else {
    AppendUnicodeEscape(out, static_cast<unsigned char>(c));
  }
}

/// A string as Go's encoding/json writes it.
void AppendText(std::string& out, std::string_view text) {
  out.push_back('"');
  for (;;) {
    auto plain_end = std::find_if_not(text.begin(), text.end(), IsPlain);
    out.append(text.begin(), plain_end);
    text.remove_prefix(static_cast<size_t>(plain_end - text.begin()));
    if (text.empty()) break;
    size_t length = base::Utf8SequenceLength(text);
    std::string_view sequence = text.substr(0, std::max<size_t>(length, 1));
    if (length == 0) {
      AppendUnicodeEscape(out, 0xfffd);
    } else if (length == 1) {
      AppendEscaped(out, text[0]);
    } else if (sequence == "\u2028" || sequence == "\u2029") {
      AppendUnicodeEscape(out, sequence == "\u2028" ? 0x2028 : 0x2029);
    } else {
      out.append(sequence);
    }
    text.remove_prefix(sequence.size());
  }
  out.push_back('"');
}

/// `open`, whatever `append` appends for each item with commas between, `close`.
template <class Items, class AppendItem>
void AppendAll(std::string& out, char open, const Items& items, char close, AppendItem append) {
  out.push_back(open);
  bool first = true;
  for (const auto& item : items) {
    if (!first) out.push_back(',');
    first = false;
    append(item);
  }
  out.push_back(close);
}

void AppendIds(std::string& out, const Ids& ids) {
  if (!ids) {
    out.append("null");
    return;
  }
  AppendAll(out, '[', *ids, ']', [&](const std::string& id) { AppendText(out, id); });
}

void AppendIdList(std::string& out, std::string_view key, const Ids& ids) {
  AppendText(out, key);
  out.push_back(':');
  AppendIds(out, ids);
}

void AppendIdLists(std::string& out, const std::map<std::string, Ids>& lists) {
  AppendAll(out, '{', lists, '}',
            [&](const auto& list) { AppendIdList(out, list.first, list.second); });
}

void AppendEntry(std::string& out, const Entry& entry) {
  out.append("{\"PodUID\":");
  AppendText(out, entry.pod_uid);
  out.append(",\"ContainerName\":");
  AppendText(out, entry.container_name);
  out.append(",\"ResourceName\":");
  AppendText(out, entry.resource_name);
  out.append(",\"DeviceIDs\":");
  if (entry.device_ids) {
    std::map<std::string, Ids> by_text;  // "10" comes before "2": Go sorts keys as text.
    for (const auto& [numa_node, ids] : *entry.device_ids)
      by_text.emplace(std::to_string(numa_node), ids);
    AppendIdLists(out, by_text);
  } else {
    out.append("null");
  }
  out.append(",\"AllocResp\":");
  if (entry.alloc_resp) {
    AppendText(out, base::Base64Encode(*entry.alloc_resp));
  } else {
    out.append("null");
  }
  out.push_back('}');
}

/// Turns the JSON tree of one file into values.
class Decoder {
 public:
  explicit Decoder(std::string_view name) : name_(name) {}

  Result<Inspection> ReadFile(const Value& file) const {
    TENON_TRY(const Value* data, Field(file, "Data"));
    TENON_TRY(const Value* checksum, Field(file, "Checksum"));
    TENON_TRY(Checkpoint checkpoint, ReadContent(*data));
    std::optional<int64_t> stored = checksum->AsInt();
    if (!stored) return Unexpected(*checksum, "Checksum", "a whole number");
    const uint32_t computed = Checksum(checkpoint);
    return Inspection{std::move(checkpoint), *stored, computed};
  }

 private:
  Result<Checkpoint> ReadContent(const Value& data) const {
    TENON_TRY(const Value* entries, Field(data, "PodDeviceEntries"));
    TENON_TRY(const Value* registered, Field(data, "RegisteredDevices"));
    Checkpoint checkpoint;
    if (!entries->is_null()) {
      if (!entries->is_array()) return Unexpected(*entries, "PodDeviceEntries", "a list");
      checkpoint.entries.emplace();
      for (const Value& item : entries->items()) {
        TENON_TRY(Entry entry, ReadEntry(item));
        checkpoint.entries->push_back(std::move(entry));
      }
    }
    if (registered->is_null()) return checkpoint;
    if (!registered->is_object()) return Unexpected(*registered, "RegisteredDevices", "a mapping");
    checkpoint.registered_devices.emplace();
    for (const Value::Member& resource : registered->members()) {
      TENON_TRY(Ids ids, ReadIds(resource.value));
      checkpoint.registered_devices->insert_or_assign(resource.key, std::move(ids));
    }
    return checkpoint;
  }

  Result<Entry> ReadEntry(const Value& item) const {
    Entry entry;
    TENON_TRY(entry.pod_uid, ReadText(item, "PodUID"));
    TENON_TRY(entry.container_name, ReadText(item, "ContainerName"));
    TENON_TRY(entry.resource_name, ReadText(item, "ResourceName"));
    TENON_TRY(const Value* device_ids, Field(item, "DeviceIDs"));
    if (!device_ids->is_null()) {
      TENON_TRY(entry.device_ids, ReadDeviceIds(*device_ids));
    }
    TENON_TRY(const Value* response, Field(item, "AllocResp"));
    if (!response->is_null()) {
      TENON_TRY(std::string text, ReadText(item, "AllocResp"));
      entry.alloc_resp = base::Base64Decode(text);
      if (!entry.alloc_resp) return Unexpected(*response, "AllocResp", "base64");
    }
    return entry;
  }

  Result<std::map<int64_t, Ids>> ReadDeviceIds(const Value& value) const {
    if (value.is_array()) {
      return ErrorAt(value.mark(),
                     "DeviceIDs is a flat list: the file was written by kubelet 1.19 or older");
    }
    if (!value.is_object()) return Unexpected(value, "DeviceIDs", "a mapping");
    std::map<int64_t, Ids> lists;
    for (const Value::Member& member : value.members()) {
      std::optional<int64_t> numa_node = base::ParseInt64(member.key);
      if (!numa_node) {
        return ErrorAt(member.key_mark, fmt::format("DeviceIDs has the key \"{}\", a NUMA node's "
                                                    "number is expected",
                                                    base::EscapeForLine(member.key)));
      }
      TENON_TRY(Ids ids, ReadIds(member.value));
      lists.insert_or_assign(*numa_node, std::move(ids));
    }
    return lists;
  }

  Result<Ids> ReadIds(const Value& value) const {
    if (value.is_null()) return Ids();
    if (!value.is_array()) return Unexpected(value, "the list of device ids", "a list");
    std::vector<std::string> ids;
    for (const Value& id : value.items()) {
      if (id.kind() != Value::Kind::kString) return Unexpected(id, "a device id", "text");
      ids.push_back(id.text());
    }
    return Ids(std::move(ids));
  }

  Result<std::string> ReadText(const Value& object, std::string_view key) const {
    TENON_TRY(const Value* value, Field(object, key));
    if (value->kind() != Value::Kind::kString) return Unexpected(*value, key, "text");
    return value->text();
  }

  /// The last member with this key counts, as for Go.
  Result<const Value*> Field(const Value& object, std::string_view key) const {
    if (!object.is_object())
      return Unexpected(object, fmt::format("what holds {}", key), "a mapping");
    const auto& members = object.members();
    auto found = std::find_if(members.rbegin(), members.rend(),
                              [&](const Value::Member& member) { return member.key == key; });
    if (found == members.rend()) return ErrorAt(object.mark(), fmt::format("{} is missing", key));
    return &found->value;
  }

  Error Unexpected(const Value& value, std::string_view what, std::string_view expected) const {
    return ErrorAt(value.mark(),
                   fmt::format("{} is {}, {} is expected", what, value.KindName(), expected));
  }

  Error ErrorAt(Mark mark, std::string_view why) const {
    return {Code::kDataLoss, fmt::format("{}: {}", PlaceText(name_, mark), why)};
  }

  std::string_view name_;
};

}  // namespace

std::string EncodeEntry(const Entry& entry) {
  std::string out;
  AppendEntry(out, entry);
  return out;
}

std::string EncodeRegistered(std::string_view resource, const Ids& ids) {
  std::string out;
  AppendIdList(out, resource, ids);
  return out;
}

std::string Encode(const Checkpoint& checkpoint) {
  std::string out = "{\"Data\":{\"PodDeviceEntries\":";
  if (checkpoint.entries) {
    AppendAll(out, '[', *checkpoint.entries, ']',
              [&](const Entry& entry) { AppendEntry(out, entry); });
  } else {
    out.append("null");
  }
  out.append(",\"RegisteredDevices\":");
  if (checkpoint.registered_devices) {
    AppendIdLists(out, *checkpoint.registered_devices);
  } else {
    out.append("null");
  }
  return out.append("},\"Checksum\":").append(std::to_string(Checksum(checkpoint))).append("}");
}

Result<Inspection> Inspect(std::string_view text, std::string_view name) {
  Result<Value> file = ParseJson(text, name, kLimits);
  if (!file) return Error(Code::kDataLoss, file.error().message());
  return Decoder(name).ReadFile(*file);
}

Result<Checkpoint> Decode(std::string_view text, std::string_view name) {
  TENON_TRY(Inspection found, Inspect(text, name));
  if (found.intact()) return std::move(found.checkpoint);
  return Error(Code::kDataLoss, fmt::format("{}: checksum is {}, the content's is {}", name,
                                            found.stored_checksum, found.computed_checksum));
}

}  // namespace tenon::checkpoint
