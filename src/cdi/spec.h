#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

/// Container Device Interface: files in which vendors say what their devices need in a container,
/// for whoever makes the container. Source: CNCF container-device-interface, SPEC.md 1.0.
namespace tenon::cdi {

/// A device node for the container. What is not given is that of the host's device node.
struct DeviceNodeEdit {
  std::string path;         ///< In the container.
  std::string host_path;    ///< Never empty.
  std::string type;         ///< "b", "c", "u" (as "c") or empty.
  std::string permissions;  ///< Never empty; "rwm" unless the spec says otherwise.
  std::optional<int64_t> major;
  std::optional<int64_t> minor;
  std::optional<int64_t> file_mode;
  std::optional<int64_t> uid;
  std::optional<int64_t> gid;
  bool operator==(const DeviceNodeEdit&) const = default;
};

struct MountEdit {
  std::string host_path;
  std::string container_path;
  std::string type;  ///< Empty: a bind mount.
  std::vector<std::string> options;
  bool operator==(const MountEdit&) const = default;
};

/// A program that the runtime runs on the host, as root.
struct HookEdit {
  std::string name;  ///< "createContainer" and the like.
  std::string path;
  std::vector<std::string> args;
  std::vector<std::string> env;
  std::optional<int64_t> timeout;  ///< Seconds.
  bool operator==(const HookEdit&) const = default;
};

/// What a container gets.
struct ContainerEdits {
  std::vector<std::string> env;  ///< "NAME=VALUE".
  std::vector<DeviceNodeEdit> device_nodes;
  std::vector<MountEdit> mounts;
  std::vector<HookEdit> hooks;
  std::vector<int64_t> additional_gids;
  bool operator==(const ContainerEdits&) const = default;

  void Append(const ContainerEdits& more);
};

/// One file.
struct Spec {
  std::string kind;                               ///< "vendor.com/class".
  std::map<std::string, ContainerEdits> devices;  ///< By name; "all" is one like the others.
  ContainerEdits edits;                           ///< For each container with any of its devices.
  bool operator==(const Spec&) const = default;
};

/// Reads one spec, YAML or JSON. Strict: what cannot be honoured, as a cache class (intelRdt) or an
/// unknown key, is an error, since a container without it is not what the vendor promised.
/// Errors: kInvalidArgument with "name:line:column: why", the first one found.
Result<Spec> ParseSpec(std::string_view text, std::string_view name);

/// A spec as JSON, in the lowest version of CDI that has all of it, so that ParseSpec() gives the
/// same again. Requires: a valid kind, and at least one device.
std::string FormatSpec(const Spec& spec);

/// Whether `name` is a qualified one, "vendor.com/class=device".
bool IsQualifiedName(std::string_view name);

/// The name of the device with this DeviceId: the id, which "x_x" and "_x" enclose where it does
/// not begin or end with a letter or digit. Different ids have different names, as in no id an "x"
/// follows a single "_".
std::string DeviceName(std::string_view id);

}  // namespace tenon::cdi
