#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

/// The codec of kubelet_internal_checkpoint, byte-compatible with the kubelet's own file.
/// docs/checkpoint.md has the format. Source: kubernetes pkg/kubelet/cm/devicemanager/checkpoint,
/// and go-spew's %#v dump for the checksum.
namespace tenon::checkpoint {

inline constexpr std::string_view kFileName = "kubelet_internal_checkpoint";  // types.go

/// JSON null and [] differ in the checksum, hence the optionals.
using Ids = std::optional<std::vector<std::string>>;

/// One container's devices of one resource.
struct Entry {
  std::string pod_uid;
  std::string container_name;
  std::string resource_name;
  /// NUMA node → ids; node -1 stands for devices without NUMA information.
  std::optional<std::map<int64_t, Ids>> device_ids;
  /// The encoded ContainerAllocateResponse, as the plugin sent it.
  std::optional<std::string> alloc_resp;
  bool operator==(const Entry&) const = default;
};

struct Checkpoint {
  std::optional<std::vector<Entry>> entries;
  /// Resource → healthy ids; only the keys matter when it is read back.
  std::optional<std::map<std::string, Ids>> registered_devices;
  bool operator==(const Checkpoint&) const = default;
};

/// The file's text: Go's JSON (key order, escapes, map keys sorted as strings) with the checksum.
std::string Encode(const Checkpoint& checkpoint);

/// Errors: kDataLoss, "file: checksum is X, the content's is Y", or what is wrong with the JSON
/// and where (`name` is the file in the message).
Result<Checkpoint> Decode(std::string_view text, std::string_view name);

/// What a file says, whether or not its checksum fits: for whoever looks into a broken file.
struct Inspection {
  Checkpoint checkpoint;
  int64_t stored_checksum = 0;
  uint32_t computed_checksum = 0;  ///< Of the content.
  bool intact() const { return stored_checksum == computed_checksum; }
};

/// Decode() without the verdict on the checksum. Errors: kDataLoss, as Decode() has them.
Result<Inspection> Inspect(std::string_view text, std::string_view name);

/// FNV-1a 32 over the dump that the kubelet hashes.
uint32_t Checksum(const Checkpoint& checkpoint);

/// One entry as it stands in the file.
std::string EncodeEntry(const Entry& entry);
/// One member of RegisteredDevices as it stands in the file, `"resource":["id"]`.
std::string EncodeRegistered(std::string_view resource, const Ids& ids);

}  // namespace tenon::checkpoint
