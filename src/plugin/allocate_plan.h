#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "device/allocation.h"
#include "device/device.h"
#include "device/plugin_api.h"
#include "device/resource_name.h"

namespace tenon::plugin {

/// What one device brings into a container.
struct DeviceParts {
  ContainerAllocation allocation;
  /// Variables of which the values of several devices are joined, without the resource at their
  /// end: {"PCIDEVICE", "0000:01:00.0"}.
  std::map<std::string, std::string> env_lists;
  /// Its device nodes and mounts reach the container by its CDI device and are not sent.
  bool only_by_cdi = false;
  /// Groups of the device nodes and mounts, which a container that is not root has to be in.
  std::set<uint32_t> groups;
};

/// Looks up a device when it is asked for and not before: paths are resolved and checked at
/// Allocate time. Errors name the path that is not what it was.
using ResolveFn = std::function<Result<DeviceParts>(const Device&)>;

/// Turns the ids that a kubelet asks for into what each container gets; all or nothing.
///
/// Device nodes and mounts that several devices share are given once; two that want one container
/// path for different things are an error. The environment tells the container what it has, see
/// EnvironmentPrefix(); docs/container.md is the page for users.
/// Errors: kInvalidArgument (an id twice), kNotFound (an id that is not offered),
/// kFailedPrecondition (an unhealthy one, with the reason; devices that exclude each other), or
/// that of `resolve`; each names the id.
Result<std::vector<ContainerAllocation>> PlanAllocation(
    const ResourceName& resource, const DeviceSet& devices,
    const std::vector<api::AllocateRequest>& requests, const ResolveFn& resolve);

/// "TENON_EXAMPLE_COM_SERIAL" for example.com/serial: the start of the variables _IDS
/// (comma-separated ids), _PATHS (comma-separated container paths) and _GIDS (comma-separated
/// numbers), each left out if it were empty. Only [A-Z0-9_], so that every shell can read it.
std::string EnvironmentPrefix(const ResourceName& resource);

/// Appends to a comma-separated list; a comma in the path is written "%2C" and "%" "%25".
void AppendToPathList(std::string& list, std::string_view path);

/// The paths of such a list.
std::vector<std::string> SplitPathList(std::string_view list);

/// "device-nodes.example.com/serial": the annotation that has the list of the host's paths where
/// device nodes come by CDI only. The kubelet's checkpoint keeps it, so that a later process knows
/// what the container was given, whatever is in the spec by then.
std::string NodesAnnotation(std::string_view resource);

/// "PCIDEVICE_EXAMPLE_COM_SERIAL": the variable of a list for this resource, as other plugins call
/// it. Source: sriov-network-device-plugin and KubeVirt, which read them.
std::string ListVariable(const std::string& name, const ResourceName& resource);

}  // namespace tenon::plugin
