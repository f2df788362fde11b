#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tenon::manager {

enum class ContainerKind {
  kInit,     ///< Ends before the next one starts: what follows may take over its devices.
  kSidecar,  ///< An init container with restartPolicy Always: keeps its devices.
  kApp,
};

/// What admission has to know of one container.
struct ContainerRequest {
  std::string name;
  ContainerKind kind = ContainerKind::kApp;
  /// All limits of the container, cpu and memory included; those that are no extended resource
  /// are not looked at. Quantities are whole and not negative.
  std::map<std::string, int64_t> limits;
  /// The container runs already, as the runtime says when we start again: it keeps what it has,
  /// whatever became of its devices.
  bool running = false;
};

/// What admission has to know of a pod.
struct PodRequest {
  std::string uid;
  std::string name;
  std::string namespace_name;
  /// In the order of the spec: init containers and sidecars, then app containers.
  std::vector<ContainerRequest> containers;
};

/// What the scheduler counts a pod for, per resource of its limits: the larger of what its app
/// containers and sidecars hold together and of what any init container holds beside the sidecars
/// started before it. Source: kubernetes component-helpers/resource/helpers.go, PodRequests.
std::map<std::string, int64_t> TotalRequests(const PodRequest& pod);

}  // namespace tenon::manager
