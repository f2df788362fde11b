#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "tenon/control_client.h"
#include "value/value.h"

namespace tenon::cli {

/// One pod of a `tenon kubelet`.
struct PodKey {
  std::string namespace_name = "default";
  std::string name;
  std::string Path() const { return "/api/v1/pods/" + namespace_name + "/" + name; }
};
PodKey KeyOf(const Value& pod);

/// Whether all its containers have ended, or it was refused.
bool IsTerminal(const Value& pod);

/// "default/first: Failed: UnexpectedAdmissionError: Allocate failed due to …".
std::string PhaseLine(const Value& pod);

/// Submits a manifest. Returns: its pods, each admitted or refused.
Result<std::vector<Value>> CreatePods(ControlClient& client, const std::string& manifest);
Result<Value> GetPod(ControlClient& client, const PodKey& key);
/// Waits until its devices are free. `grace_seconds` below zero leaves it to the pod.
Result<void> DeletePod(ControlClient& client, const PodKey& key, int grace_seconds);
/// Waits until IsTerminal(). Returns: the pod as it is then.
Result<Value> WaitForEnd(ControlClient& client, const PodKey& key);

/// Prints what a container writes until there is no more (at once, or when the pod has ended if it
/// is to `follow`) or until nobody reads it any longer, as FlushOutput() then says.
Result<void> PrintLog(ControlClient& client, const PodKey& key, const std::string& container,
                      bool follow);

}  // namespace tenon::cli
