#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "pod/pod.h"

namespace tenon::pod {

/// What a manifest file holds: its pods, or all that is wrong with it.
struct Manifest {
  std::vector<Pod> pods;              ///< Empty if there are problems.
  std::vector<std::string> problems;  ///< "file:line:column: spec.containers[0].image: …".
};

/// Reads v1 Pod manifests, YAML (several documents) or JSON. `name` is the file in messages.
///
/// Strict: what this cut cannot honour is a problem, never ignored, and all problems are told at
/// once. docs/pods.md has the fields. `new_uid` names pods without metadata.uid. Thread: any.
Manifest ParseManifest(std::string_view text, std::string_view name,
                       const std::function<std::string()>& new_uid);

}  // namespace tenon::pod
